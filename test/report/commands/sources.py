"""A profile of a program whose source lines are known, and the source."""
import os

import made
import program
import tap
from tap import write

FOLDER = tap.FOLDER.name
BINARY = os.path.join(FOLDER, "heat")
HEAT = os.path.join(FOLDER, "src", "heat.c")
FAR = "/build/far/solver/io.c"
SYSTEM = "/usr/include/c++/12/bits/stl_vector.h"
UPLOAD, MAIN, RUNTIME, MEMCPY = 0x1000, 0x2000, 0x3000, 0x9000
# The compiler inlined cool(float*) into main.
LINES = {
    UPLOAD + 0x10: [f"{HEAT}:10"], UPLOAD + 0x20: [f"{HEAT}:12 (discriminator 3)"],
    MAIN + 0x10: [f"{FOLDER}/obj/../src/./heat.c:40"], MAIN + 0x20: [f"{FAR}:7"],
    MAIN + 0x30: [("_ZNSt6vectorIfE2atEm", f"{SYSTEM}:1045"), ("_ZL4coolPf", f"{HEAT}:42"),
                  ("main", f"{HEAT}:50")], MAIN + 0x40: [f"{SYSTEM}:99"],
    RUNTIME + 0x10: ["/dvs/cudart.c:1"],
}
SYMBOLS = {"upload": UPLOAD, "main": MAIN, "cudaMemcpy": RUNTIME}
SOURCE = "".join(f"line_{number};\n" for number in range(1, 61))


def site(direction, count, size, ns, *frames):
    return {"frames": list(frames),
            "rows": [{"direction": direction, "memory": "pageable", "count": count, "bytes": size,
                      "host_ns": ns, "sync_count": count, "sync_ns": ns}]}


def chain(count, *frames):
    return {"frames": list(frames), "first_thread": count, "other_threads": 0}


def profile(**more):
    """Copies at lines 10 and 12 of heat.c and at line 7 of io.c, host code at lines 40 and 42."""
    run = made.sampled()
    run["modules"] = [{"path": BINARY, "build_id": program.build_id(SYMBOLS)},
                      {"path": "/nowhere/libc.so.6", "build_id": None},
                      {"path": "/nowhere/libcuda.so.1", "build_id": None}]
    run["process"]["ended_utc"] = program.LATER
    frame = made.frame
    call = frame(0, MAIN + 0x11)
    run["sites"] = [
        site("h2d", 200, 24 * made.GB, 2900 * made.MILLI, frame(0, RUNTIME + 0x11),
             frame(0, UPLOAD + 0x11), call),
        site("d2h", 100, 16 * made.GB, 2000 * made.MILLI, frame(0, UPLOAD + 0x21), call),
        site("d2h", 5, 500, 100 * made.MILLI, frame(0, MAIN + 0x21)),
        site("d2h", 3, 300, 7 * made.MILLI, frame(0, 0x7777))]
    run["samples"] = [
        chain(199, frame(1, MEMCPY), call), chain(199, frame(0, MAIN + 0x40), call),
        chain(199, frame(0, MAIN + 0x10)),
        chain(199, frame(0, MAIN + 0x30)), chain(597, frame(2, 5), frame(0, UPLOAD + 0x11)),
        chain(1990, frame(1, MEMCPY))]
    run["buffers"], run["repeats"] = [], None
    run.update(more)
    return run


def binary(lines=None):
    """Writes the program, with these lines in place of LINES."""
    with open(BINARY, "wb") as file:
        file.write(program.elf(SYMBOLS, LINES if lines is None else lines))


def prepare():
    binary()
    os.makedirs(os.path.dirname(HEAT))
    with open(HEAT, "w", encoding="utf-8") as file:
        file.write(SOURCE)
    os.utime(HEAT, (1_000_000_000, 1_000_000_000))
    write("run.json", profile())
