#!/usr/bin/env python3
"""facts.py - measures the times of doc/measurements.md that the design relies on.

    facts.py [--turns N] BUILD [LABEL...]

Prints `LABEL METRIC FIGURE`: the median of the turns, and the smallest and largest one.  Each turn
runs every command of COMMANDS once, as a process of its own.
"""
import argparse
import os
import statistics
import subprocess
import sys

SMALL = ["64", "16K", "32K", "64K", "128K", "256K"]
PIECES = ["4K", "16K", "32K", "64K", "128K"]
STATIC = ["64K", "256K", "1M", "4M", "16M", "64M", "256M"]


def staged(threads):
    return {"HOTPIN_ROUTE": "stage", "HOTPIN_THREADS": str(threads)}


def commands():
    """Returns the commands by label; an environment of None: without hotpin."""
    found = {
        "calls": (["facts", "calls"], None),
        "register": (["facts", "register"], None),
        "pageable": (["facts", "uploads", "malloc"] + SMALL, None),
        "pinned": (["facts", "uploads", "pinned"] + SMALL, None),
        "deferred": (["facts", "uploads", "malloc"] + SMALL, {"HOTPIN_HEAP_MIN": "1G"}),
        "hot": (["facts", "uploads", "malloc"] + SMALL, {}),
        "fork": (["facts", "fork", "malloc"], None),
        "fork-pinned": (["facts", "fork", "pinned"], None),
        "fork-hotpin": (["facts", "fork", "malloc"], {}),
        "static": (["repeat", "static", "0"] + STATIC, None),
        "pieces": (["repeat", "static", "0"] + PIECES, None),
        "pieces-staged": (["repeat", "static", "0"] + PIECES, staged(0)),
        "untouched": (["first", "malloc", "untouched", "64M"], None),
        "single": (["copies", "malloc", "1M", "4M", "16M", "64M", "256M"], None),
        "async": (["async", "malloc", "64K", "256K", "1M"], None),
        "async-hotpin": (["async", "malloc", "64K", "256K", "1M"], {}),
    }
    for route in ("pass", "direct", "defer"):
        found["pair-" + route] = (["repeat", "malloc", "0", "1M", "64K"], {"HOTPIN_ROUTE": route})
    for threads in (0, 2, 4, 8):
        found["static-%d" % threads] = (["repeat", "static", "0"] + STATIC, staged(threads))
    for threads in (4, 8):
        found["untouched-%d" % threads] = (found["untouched"][0], staged(threads))
        found["single-%d" % threads] = (found["single"][0], staged(threads))
    return found


def run(build, command, environment):
    """Returns the figures of one process by metric."""
    names = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("HOTPIN")}
    if environment is not None:
        names.update(environment, LD_PRELOAD=os.path.join(build, "src", "libhotpin.so"))
    program = os.path.join(build, "test", "bench", "bench_" + command[0])
    done = subprocess.run([program] + command[1:], env=names, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("facts.py: %s: status %d: %s" % (" ".join(command), done.returncode, done.stderr))
    return {name: float(figure) for name, figure in map(str.split, done.stdout.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("labels", nargs="*", metavar="LABEL")
    options = parser.parse_args()
    every = commands()
    samples = {}
    for _ in range(options.turns):
        for label in options.labels or every:
            for metric, figure in run(options.build, *every[label]).items():
                samples.setdefault((label, metric), []).append(figure)
    for (label, metric), figures in samples.items():
        print("%-14s %-20s %.4g  %.4g %.4g"
              % (label, metric, statistics.median(figures), min(figures), max(figures)))


if __name__ == "__main__":
    main()
