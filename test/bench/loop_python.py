#!/usr/bin/env python3
"""loop_python.py - loop.c with allocations of Python programs, by the driver API alone.

    loop_python.py numpy|bytearray malloc|pinned SIZE...

The metrics are those of loop.h.  pinned: one buffer from cuMemHostAlloc(), wrapped as the same type
and written as often.  A new bytearray is cleared, a new numpy array is not.
"""

import ctypes
import statistics
import sys
import time

TURNS = 15
WARM_UP = 3
SKIPPED = 77
UNITS = {"K": 10, "M": 20, "G": 30}


def skip(reason):
    print("skipped:", reason, file=sys.stderr)
    sys.exit(SKIPPED)


class Driver:
    """Device 0's primary context, current in this thread."""

    def __init__(self):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            skip(error)
        result = self.library.cuInit(0)
        if result != 0:
            skip("cuInit: error %d" % result)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)
        self.up = self.library.cuMemcpyHtoD_v2
        self.down = self.library.cuMemcpyDtoH_v2
        self.up.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]
        self.down.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t]

    def call(self, name, *arguments):
        result = self.library[name](*arguments)
        if result != 0:
            sys.exit("%s: error %d" % (name, result))

    def device_memory(self, size):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def pinned(self, size):
        address = ctypes.c_void_p()
        self.call("cuMemHostAlloc", ctypes.byref(address), ctypes.c_size_t(size), 0)
        return (ctypes.c_char * size).from_address(address.value)


class Bytearray:
    """take() makes an object; place() returns the address of its bytes."""

    @staticmethod
    def take(size, kept):
        if kept is None:
            return bytearray(size)
        ctypes.memset(kept, 0, size)
        return memoryview(kept).cast("B")

    @staticmethod
    def place(thing):
        return ctypes.addressof(ctypes.c_char.from_buffer(thing))

    @staticmethod
    def write(thing, data):
        thing[:] = data

    @staticmethod
    def same(thing, data):
        return thing == data


class Numpy:
    def __init__(self):
        try:
            import numpy
        except ImportError as error:
            skip(error)
        self.numpy = numpy

    def take(self, size, kept):
        if kept is None:
            return self.numpy.empty(size // 4, self.numpy.float32)
        return self.numpy.frombuffer(kept, self.numpy.float32)

    def place(self, thing):
        return thing.ctypes.data

    def write(self, thing, data):
        thing[:] = self.numpy.frombuffer(data, self.numpy.float32)

    def same(self, thing, data):
        words = self.numpy.uint32
        return bool((thing.view(words) == self.numpy.frombuffer(data, words)).all())


def measure(driver, kind, hand_tuned, text):
    size = int(text[:-1]) << UNITS[text[-1]]
    data = bytearray((b"%014d hotpin\n" % 7919) * (size // 22 + 1))[:size]
    kept = driver.pinned(size) if hand_tuned else None
    device = driver.device_memory(size)
    spent = {"copy": [], "loop": [], "fetch": [], "back": []}
    for turn in range(TURNS):
        data[0:8] = b"%08d" % turn
        begin = time.perf_counter()
        thing = kind.take(size, kept)
        kind.write(thing, data)
        place = kind.place(thing)
        before = time.perf_counter()
        result = driver.up(device, place, size)
        spent["copy"].append(time.perf_counter() - before)
        del thing
        spent["loop"].append(time.perf_counter() - begin)
        begin = time.perf_counter()
        thing = kind.take(size, kept)
        place = kind.place(thing)
        before = time.perf_counter()
        result = result or driver.down(place, device, size)
        spent["fetch"].append(time.perf_counter() - before)
        same = kind.same(thing, data)
        del thing
        spent["back"].append(time.perf_counter() - begin)
        if result != 0 or not same:
            sys.exit("wrong bytes: %s, turn %d, error %d" % (text, turn, result))
    for what, seconds in spent.items():
        print("%s_%s %.9g" % (what, text, statistics.median(seconds[WARM_UP:])))


def main():
    kinds = {"numpy": Numpy, "bytearray": Bytearray}
    if len(sys.argv) < 4 or sys.argv[1] not in kinds or sys.argv[2] not in ("malloc", "pinned"):
        print("usage: loop_python.py numpy|bytearray malloc|pinned SIZE...", file=sys.stderr)
        return 2
    kind = kinds[sys.argv[1]]()
    driver = Driver()
    for text in sys.argv[3:]:
        measure(driver, kind, sys.argv[2] == "pinned", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
