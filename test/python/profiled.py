"""Copies by the driver API with ctypes, from places of several kinds, for python.py.

    profiled.py [briefly]

It runs under hotpin, in the tested interpreter.  It ends when its profile, which is written while it
runs, has samples of busy(), or earlier if asked for.
"""

import ctypes
import os
import sys
import threading

CUDA = ctypes.CDLL("libcuda.so.1")
NATIVE = ctypes.CDLL(os.environ["NATIVE"]) if "NATIVE" in os.environ else None
HOST = ctypes.create_string_buffer(1 << 16)


def check(status):
    assert status == 0, status


def upload(device):
    check(CUDA.cuMemcpyHtoD_v2(device, HOST, ctypes.c_size_t(len(HOST))))


def batches(device):
    for _ in range(2):
        upload(device)  # twice
        yield


class Model:
    def step(self, device):
        list(batches(device))

    def pause(self):
        check(CUDA.cuCtxSynchronize())  # before the pause
        sum(range(100000))
        check(CUDA.cuCtxSynchronize())  # after the pause


def is_looked_at():
    """True if hotpin samples threads; it does not under a seccomp filter."""
    with open("/proc/self/status", encoding="ascii") as file:
        return "Seccomp:\t0\n" in file.read()


def busy(path):
    text = ""
    while '"function": "busy"' not in text:
        for _ in range(100):
            sum(range(1000))
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                text = file.read()


def in_thread(context, device):
    check(CUDA.cuCtxSetCurrent(context))
    upload(device)  # in a thread


def in_native_thread(context, device):
    check(NATIVE.native_copy(CUDA.cuCtxSetCurrent, CUDA.cuMemcpyHtoD_v2, context, device, HOST,
                             ctypes.c_size_t(len(HOST)), 5))


def main():
    context, device = ctypes.c_void_p(), ctypes.c_uint64()
    check(CUDA.cuInit(0))
    check(CUDA.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
    check(CUDA.cuMemAlloc_v2(ctypes.byref(device), ctypes.c_size_t(len(HOST))))
    Model().step(device)
    Model().pause()
    thread = threading.Thread(target=in_thread, args=(context, device))
    thread.start()
    thread.join()
    if "NATIVE" in os.environ:
        in_native_thread(context, device)
    exec("upload(device)", {"upload": upload, "device": device})
    upload(device)  # at last
    if len(sys.argv) == 1 and is_looked_at():
        busy(os.environ["HOTPIN_OUT"])


main()  # begin
