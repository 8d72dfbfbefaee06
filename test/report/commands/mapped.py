"""Uploads from a file that it maps, as numpy.memmap does, for test_mapped.py.

    mapped.py FILE
"""
import ctypes
import mmap
import sys

CUDA = ctypes.CDLL("libcuda.so.1")


def upload(device, data):
    return CUDA.cuMemcpyHtoD_v2(device, data, ctypes.c_size_t(len(data)))


def main():
    context, device = ctypes.c_void_p(), ctypes.c_uint64()
    with open(sys.argv[1], "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    data = (ctypes.c_char * len(mapped)).from_buffer(mapped)
    results = [CUDA.cuInit(0), CUDA.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), CUDA.cuCtxSetCurrent(context),
               CUDA.cuMemAlloc_v2(ctypes.byref(device), ctypes.c_size_t(len(data))), upload(device, data)]
    sys.exit(any(results))


main()
