#!/usr/bin/env python3
"""Python's faulthandler beside ours: what it reports and how the process ends is what it was.

fetch.py: exits 0 if so.  Needs the stand-in driver on LD_LIBRARY_PATH, the library in LD_PRELOAD.
"""
import ctypes
import faulthandler
import os
import signal
import subprocess
import sys
import time

BYTES = 4 << 20


def ok(code):
    assert code == 0, code


def child():
    faulthandler.enable()
    cuda, libc = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(None)
    context, there, size = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_size_t(BYTES)
    ok(cuda.cuInit(0))
    ok(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
    ok(cuda.cuMemAlloc_v2(ctypes.byref(there), size))
    libc.malloc.restype = ctypes.c_void_p
    block = ctypes.c_void_p(libc.malloc(size))
    ctypes.memset(block, 1, BYTES)
    for _ in range(100):
        ok(cuda.cuMemcpyHtoD_v2(there, block, size))
    early = 0
    for i in range(6):
        ok(cuda.cuMemsetD8_v2(there, ctypes.c_ubyte(i), size))
        ok(cuda.cuMemcpyDtoH_v2(block, there, size))
        early += cuda.standin_pending(None) > 0
        time.sleep(0.003)
        assert ctypes.string_at(block, BYTES) == bytes([i]) * BYTES, i
    print("early" if early > 0 else "never early", flush=True)
    ctypes.string_at(0)


def main():
    for asked, expected in (("all", "early\n"), ("h2d", "never early\n")):
        ran = subprocess.run([sys.executable, os.path.abspath(__file__), "child"],
                             env=dict(os.environ, HOTPIN_ASYNC=asked), capture_output=True,
                             text=True, timeout=60)
        print(asked, ran.returncode, ran.stdout, ran.stderr, sep="\n")
        assert ran.returncode == -signal.SIGSEGV
        assert ran.stdout == expected
        assert "Fatal Python error: Segmentation fault" in ran.stderr
        assert "in child" in ran.stderr


if __name__ == "__main__":
    if sys.argv[1:] == ["child"]:
        child()
    else:
        main()
