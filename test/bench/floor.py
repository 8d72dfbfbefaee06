#!/usr/bin/env python3
"""floor.py - separates CUPTI's part of the cost of profiling, and measures the effect of its
settings.

    floor.py [--build DIR] [--repeat N] [--seconds N] [--launches N] [--copies N] [--json FILE]
             [WORD...]

It runs `launch` (empty kernels, small copies) plainly, under hotpin without a profile, with CUPTI
alone (floor.c) in many settings, and under hotpin with a profile, in turn.  It prints medians: us
for each operation, and the excess over a run without a profile.  One figure is for operations in a
row, which are no faster than the device, another for the host's calls alone.  A WORD selects the
settings whose name contains it.

Exit status: 0; 1 a program failed; 77 nothing could run here.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77

# By name: the value of FLOOR, None for no floor.c, and the environment of hotpin.
SETTINGS = {
    "plain": (None, None),
    "hotpin": (None, {}),
    "cupti": ("", {}),
    "cupti, without hotpin": ("", None),
    "cupti, kernels alone": ("kinds=10", {}),
    "cupti, copies alone": ("kinds=1", {}),
    "cupti, kernels one by one": ("kinds=3+1+22+2", {}),
    "cupti, with calls": ("api=1", {}),
    "cupti, buffers of 256K": ("buffer=256K", {}),
    "cupti, buffers of 8M": ("buffer=8M", {}),
    "cupti, clears buffers": ("zeroed=0", {}),
    "cupti, never flushed": ("flush=0", {}),
    "cupti, flushed each 50 ms": ("flush=50", {}),
    "cupti, flushes itself": ("flush=0,period=100", {}),
    "cupti, a buffer for all": ("perthread=0", {}),
    "cupti, device 512K": ("device=512K", {}),
    "cupti, device 16M": ("device=16M", {}),
    "cupti, device 32M, 16 made": ("device=32M,prealloc=16", {}),
    "cupti, device, not pinned": ("pinned=0", {}),
    "cupti, device, pinned": ("pinned=1", {}),
    "cupti, semaphores 1M": ("semaphores=1048576", {}),
    "cupti, no latency stamps": ("latency=0", {}),
    "cupti, hardware events": ("hw=1", {}),
    "summary": (None, {"HOTPIN_PROFILE": "summary"}),
    "summary, no cupti": (None, {"HOTPIN_PROFILE": "summary", "HOTPIN_CUPTI": "off"}),
    "trace": (None, {"HOTPIN_PROFILE": "trace"}),
}


def one(options, words, hotpin, mode, count):
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("LD_PRELOAD", "FLOOR", "CUDA_INJECTION64_PATH")
        and not name.startswith("HOTPIN")
    }
    if hotpin is not None:
        environment.update(hotpin, LD_PRELOAD=options.lib)
    if words is not None:
        environment.update(FLOOR=words, CUDA_INJECTION64_PATH=options.floor)
    done = subprocess.run([options.program, mode, str(count)], env=environment, text=True,
                          capture_output=True, timeout=60)
    if done.returncode == SKIPPED:
        sys.exit(SKIPPED)
    if done.returncode != 0 or (words is not None and "floor: " not in done.stderr):
        lines = done.stderr.strip().splitlines() or ["status %d" % done.returncode]
        return None, lines[-1] if done.returncode != 0 else "the driver did not load floor.c's"
    return {name: float(figure) * 1e6
            for name, figure in map(str.split, done.stdout.splitlines())}, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=600, help="begin nothing after that")
    parser.add_argument("--launches", type=int, default=100000)
    parser.add_argument("--copies", type=int, default=30000)
    parser.add_argument("--json")
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    options.program = os.path.join(build, "test", "bench", "bench_launch")
    options.floor = os.path.join(build, "test", "bench", "libbench_floor.so")
    options.lib = os.path.join(build, "src", "libhotpin.so")
    names = [name for name in SETTINGS if name in ("plain", "hotpin") or not options.words or
             any(word in name for word in options.words)]
    seen, wrong, deadline = {}, {}, time.monotonic() + options.seconds
    for number in range(options.repeat):
        turn = number * len(names) // options.repeat
        for name in names[turn:] + names[:turn]:
            for mode, count in (("kernels", options.launches), ("copies", options.copies)):
                if time.monotonic() > deadline:
                    continue
                took, why = one(options, *SETTINGS[name], mode, count)
                if took is None:
                    wrong[name, mode] = why
                for figure in took or ():
                    seen.setdefault((name, figure), []).append(took[figure])
    middle = {key: statistics.median(figures) for key, figures in seen.items()}
    figures = ("launch", "launch_call", "copy", "copy_call")
    print("%-28s %s   us an operation, %d rounds" %
          ("", " ".join("%11s %8s" % (figure, "more") for figure in figures), options.repeat))
    for name in names:
        cells = []
        for figure in figures:
            took, base = middle.get((name, figure)), middle.get(("hotpin", figure))
            cells += ["%11.3f" % took if took else "%11s" % "-",
                      "%+8.3f" % (took - base) if took and base else "%8s" % "-"]
        said = {wrong[name, mode] for mode in ("kernels", "copies") if (name, mode) in wrong}
        print("%-28s %s   %s" % (name, " ".join(cells), "; ".join(sorted(said))))
    if options.json:
        with open(options.json, "w") as out:
            json.dump({"%s, %s" % key: figures for key, figures in seen.items()}, out, indent=1)
    refused = ("plain", "hotpin", "cupti", "summary", "trace")
    return 1 if any(name in refused for name, _ in wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
