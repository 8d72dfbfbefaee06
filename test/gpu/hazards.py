"""Runs `hazards` without the library and with it, and compares the observations of both runs.

    hazards.py [-r TURNS] [-b SECONDS] LIBRARY HAZARDS [RUNS [TEST...]]

Each test is a row of the table in hazards.c.  Tests with an environment of their own are processes
of their own, one after the other.  With the library, each process runs its tests TURNS times, which
shows rare differences.  A line is printed for each test as soon as it has run both ways.  After
SECONDS no further run is begun.  Tests that need control of the stand-in skip themselves on a
device.  Exit status 0: every test passed both ways, or was skipped both ways, with the same
observations.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import time

import runs

VERDICT = re.compile(r"row (\d\d) (\w+): (.*)")
SHARE = re.compile(r"# (\d+ of \d+ .*)") # differs from run to run; told
# Seconds for one test, and for one turn of a process.
SILENT, MOST = 60, 200


def run_these(program, tests, library, settings, turns, tell):
    """Runs the tests in this order; tells the verdict and the other lines of each when it is over.
    Returns the seconds.
    """
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("PRELOAD_SO", "LD_PRELOAD")}
    environment.update(setting.split("=", 1) for setting in settings)
    if library:
        environment["LD_PRELOAD"] = library
    begun, left, lines = time.monotonic(), tests * turns, []

    def hear(line):
        verdict = VERDICT.fullmatch(line)
        if verdict is None:
            lines.append(line)
        else:
            tell(left.pop(0), verdict[3], lines[:])
            lines.clear()

    while left:
        before = len(left)
        done = runs.run([program, "--run", *left], environment, SILENT, MOST * turns, hear)
        # Status 3: the next test needs a new process.
        if left and (done.status != 3 or len(left) == before):
            end = "hangs" if done.status is None else f"status {done.status}"
            lines += [f"# stderr: {line}" for line in done.remarks()]
            tell(left.pop(0), f"FAILED, {end}", lines[:])
        lines.clear()
    return time.monotonic() - begun


def observations(lines):
    return [line for line in lines if line.startswith("# see ")]


def compare(name, plain, ours):
    """Returns a line for this test with its differences, and whether it passed."""
    words, said = ours
    other_words, other_said = plain
    seen, other_seen = observations(said), observations(other_said)
    same = words == other_words and seen == other_seen
    good = same and (words == "ok" or words.startswith("skipped"))
    text = [f"row {name[3:5]} {name[6:]}: {words if same else 'DIFFERS'}"]
    text += [f"    {share[1]}" for share in map(SHARE.fullmatch, said) if share]
    if good:
        return text, good
    if words != other_words:
        text.append(f"    without: {other_words}; with: {words}")
    for here, there in zip(other_seen, seen):
        if here != there:
            text.append(f"    without: {here[2:]}; with: {there[2:]}")
    for side, lines in (("without", other_said), ("with", said)):
        for line in [line for line in lines if not line.startswith("# see ")][:12]:
            text.append(f"    {side}: {line}")
    return text, good


def both_ways(options, names, settings):
    """Returns how many tests failed and were skipped, and the seconds of both runs."""
    plain, turns, wrong, skipped = {}, collections.Counter(), set(), set()

    def note(name, *answer):
        plain[name] = answer

    def tell(name, *answer):
        turns[name] += 1
        text, good = compare(name, plain[name], answer)
        if name not in wrong and (not good or turns[name] == options.turns):
            print("\n".join(text), flush=True)
        if not good:
            wrong.add(name)
        elif answer[0] != "ok":
            skipped.add(name)

    without = run_these(options.program, names, None, settings, 1, note)
    with_it = run_these(options.program, names, options.library, settings, options.turns, tell)
    return len(wrong), len(skipped), without, with_it


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-r", dest="turns", type=int, default=1)
    parser.add_argument("-b", dest="budget", type=float, default=float("inf"))
    parser.add_argument("library", type=os.path.abspath)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("runs", type=int, nargs="?", default=1)
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    listed = subprocess.run([options.program, "--list"], text=True, capture_output=True, check=True)
    together, alone = [], []
    for line in listed.stdout.splitlines():
        name, *settings = line.split("\t")
        if options.tests and name not in options.tests:
            continue
        if settings:
            alone.append(([name], settings))
        else:
            together.append(name)
    bad, begun = 0, time.monotonic()
    for number in range(options.runs):
        if number > 0 and time.monotonic() - begun > options.budget:
            print(f"hazards: no time for {options.runs - number} of {options.runs} runs")
            break
        sums = [both_ways(options, together, [])]
        sums += [both_ways(options, *job) for job in alone]
        wrong, skipped, without, with_it = map(sum, zip(*sums))
        bad += wrong
        print(f"hazards: {len(together) + len(alone)} tests, {wrong} FAILED, {skipped} skipped; "
              f"{without:.1f} s without, {with_it:.1f} s with", flush=True)
    return bad != 0


sys.exit(main())
