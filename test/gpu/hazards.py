"""Runs `hazards` without the library and with it, and compares the observations of both runs.

    hazards.py [-j N] LIBRARY HAZARDS [RUNS [TEST...]]

Each test is a row of the table in hazards.c.  Tests with an environment of their own are processes
of their own, one after the other (or N at a time).  A line is printed for each test as soon as it
has run both ways.  Tests that need control of the stand-in skip themselves on a device.  Exit
status 0: every test passed both ways, or was skipped both ways, with the same observations.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time

import runs

VERDICT = re.compile(r"row (\d\d) (\w+): (.*)")
SHARE = re.compile(r"# (\d+ of \d+ .*)") # differs from run to run; told
# Seconds for one test, and for one process.
SILENT, MOST = 60, 200


def start(program, names, library, settings, told=None):
    """Returns the lines that a process printed, and how it ended."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("PRELOAD_SO", "LD_PRELOAD")}
    environment.update(setting.split("=", 1) for setting in settings)
    if library:
        environment["LD_PRELOAD"] = library
    done = runs.run([program, "--run", *names], environment, SILENT, MOST, told)
    said = [f"# stderr: {line}" for line in done.remarks()]
    return done.lines() + said, "hangs" if done.status is None else f"status {done.status}"


def take(lines, results):
    """Divides the output by test; returns the output after the last verdict."""
    gathered = []
    for line in lines:
        verdict = VERDICT.fullmatch(line)
        if verdict:
            results[f"row{verdict[1]}_{verdict[2]}"] = (verdict[3], gathered)
            gathered = []
        else:
            gathered.append(line)
    return gathered


def run_these(program, names, library, settings, told=None):
    """Returns the output of each test, its verdict and other lines; and the seconds."""
    results, begun, left = {}, time.monotonic(), names
    while left:
        heard, lines_heard = {}, []

        def hear(line):
            lines_heard.append(line)
            if VERDICT.fullmatch(line):
                take(lines_heard, heard)
                lines_heard.clear()
                told({**results, **heard})

        lines, end = start(program, left, library, settings, hear if told else None)
        rest = take(lines, results)
        still = [name for name in left if name not in results]
        if len(still) == len(left) or (still and end != "status 3"):
            results[still[0]] = (f"FAILED, {end}", rest)
            still = still[1:]
        left = still
    if told:
        told(results)
    return results, time.monotonic() - begun


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
    """Returns the tests that failed, those that were skipped, and the seconds of both runs."""
    plain, without = run_these(options.program, names, None, settings)
    wrong, shown = set(), set()

    def tell(ours):
        for name in ours.keys() - shown:
            text, good = compare(name, plain[name], ours[name])
            print("\n".join(text), flush=True)
            shown.add(name)
            if not good:
                wrong.add(name)

    ours, with_it = run_these(options.program, names, options.library, settings, tell)
    skipped = [name for name in names if ours[name][0].startswith("skipped")]
    return len(wrong), len(skipped), without, with_it


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-j", dest="shards", type=int, default=1)
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
    bad = 0
    for _ in range(options.runs):
        sums = [both_ways(options, together, [])]
        with concurrent.futures.ThreadPoolExecutor(options.shards) as pool:
            sums += pool.map(lambda job: both_ways(options, *job), alone)
        wrong, skipped, without, with_it = map(sum, zip(*sums))
        bad += wrong
        print(f"hazards: {len(together) + len(alone)} tests, {wrong} FAILED, {skipped} skipped; "
              f"{without:.1f} s without, {with_it:.1f} s with", flush=True)
    return bad != 0


sys.exit(main())
