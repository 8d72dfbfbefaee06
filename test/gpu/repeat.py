"""Runs a program many times without the library and with it, and compares all that it says.

    repeat.py [-j SHARDS] [-s SECONDS] [-b BUDGET] [-k PATTERN] [-r TURNS]
              LIBRARY PROGRAM N [ARGUMENT...]

N runs each of HOTPIN_ASYNC=h2d and HOTPIN_ASYNC=all, a tenth of that plain, SHARDS at a time, of
SECONDS at most; none is begun after BUDGET seconds.  What the first plain
run wrote to its standard output, and its status, are what every other run must show; lines of
remarks ("# ...") are left out, observations ("# see ...") are not.  A program that lists tests
(--list, as `defer` and `hazards` do) is run by its tests, those whose name the PATTERN matches:
the ones that want a process of their own, and all others in one; each process runs its tests TURNS
times.

Exit status: 0 all runs were the same, 1 some were not.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import time

MODES = {"plain": None, "h2d": "h2d", "all": "all"}


class Unit:
    """What is one process: a name, its arguments, its environment."""

    def __init__(self, name, arguments, settings=()):
        self.name, self.arguments = name, arguments
        self.settings = dict(setting.split("=", 1) for setting in settings)


def units_of(program, pattern, turns):
    listed = subprocess.run([program, "--list"], text=True, capture_output=True, check=False)
    if listed.returncode != 0:
        sys.exit(f"{program} lists no tests: say its arguments")
    together, units = [], []
    for line in listed.stdout.splitlines():
        name, *settings = line.split("\t")
        if not re.search(pattern, name):
            continue
        if settings:
            units.append(Unit(name, ["--run", *[name] * turns], settings))
        else:
            together.append(name)
    if together:
        units.insert(0, Unit(f"{len(together)} tests together", ["--run", *together * turns]))
    return units


def run(options, unit, mode):
    """Its standard output and status, in words to compare; and its standard error."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("PRELOAD_SO", "LD_PRELOAD", "HOTPIN_ASYNC")}
    environment.update(unit.settings)
    if MODES[mode] is not None:
        environment.update(LD_PRELOAD=options.library, HOTPIN_ASYNC=MODES[mode])
    try:
        done = subprocess.run([options.program, *unit.arguments], env=environment,
                              capture_output=True, timeout=options.seconds, check=False)
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace") + "\nhangs", ""
    said = done.stdout.decode(errors="replace")
    kept = [line for line in said.splitlines()
            if not line.startswith("#") or line.startswith("# see ")]
    return "\n".join([*kept, f"status {done.returncode}"]), done.stderr.decode(errors="replace")


def first_difference(wanted, got):
    left, right = wanted.splitlines(), got.splitlines()
    for number, line in enumerate(left):
        if number >= len(right) or right[number] != line:
            return f"{line!r}, now {right[number] if number < len(right) else 'nothing'!r}"
    return f"nothing more, now {right[len(left)]!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-j", dest="shards", type=int, default=4)
    parser.add_argument("-s", dest="seconds", type=float, default=120)
    parser.add_argument("-b", dest="budget", type=float, default=float("inf"))
    parser.add_argument("-k", dest="pattern", default="")
    parser.add_argument("-r", dest="turns", type=int, default=1)
    parser.add_argument("library", type=os.path.abspath)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("runs", type=int)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.arguments:
        units = [Unit(" ".join(options.arguments), options.arguments)]
    else:
        units = units_of(options.program, options.pattern, options.turns)
    begun = time.monotonic()
    jobs = [(unit, mode) for turn in range(options.runs) for mode in MODES for unit in units
            if mode != "plain" or turn % 10 == 0]
    wrong, ran, passed = collections.Counter(), collections.Counter(), collections.Counter()
    examples = {}

    def run_in_time(job):
        return run(options, *job) if time.monotonic() - begun < options.budget else None

    with concurrent.futures.ThreadPoolExecutor(options.shards) as pool:
        wanted = dict(zip(units, pool.map(lambda unit: run(options, unit, "plain")[0], units)))
        for (unit, mode), answer in zip(jobs, pool.map(run_in_time, jobs)):
            if answer is None:
                continue
            ran[mode] += 1
            passed[mode] += answer[0].count(": ok")
            if answer[0] != wanted[unit]:
                wrong[unit, mode] += 1
                examples.setdefault((unit, mode), answer)
    for (unit, mode), count in sorted(wrong.items(), key=lambda item: item[0][0].name):
        said, remarks = examples[unit, mode]
        print(f"{unit.name}: {mode}: {count} of {options.runs} runs DIFFER: "
              f"{first_difference(wanted[unit], said)}")
        for line in remarks.splitlines()[:6]:
            print(f"    stderr: {line}")
    for unit in units:
        for line in wanted[unit].splitlines():
            if ": FAILED" in line or ": not ok" in line:
                print(f"{unit.name}: natively: {line}")
    done = ", ".join(f"{ran[mode]} {mode} ({passed[mode]} tests ok)" for mode in MODES)
    print(f"repeat: {len(units)} programs, {done} of {options.runs} runs each, "
          f"{sum(wrong.values())} DIFFER; {time.monotonic() - begun:.0f} s")
    return bool(wrong)


sys.exit(main())
