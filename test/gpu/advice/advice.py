#!/usr/bin/env python3
"""Compares the savings that `hotpin report` predicts for a change with those that the change
brought.

    advice.py HOTPIN [FOLDER] [RUNS]

It needs a GPU.  It builds pairs.cu into FOLDER (NVCC and ARCH may be set), runs each pair RUNS
times and takes the medians.  A pair is right if

* the advice for it is among those that save nearly as much as the first, and its `at least` is no
  more than the time of the program after the change;
* the change saved at least half of a bound, and an estimate was right within 15 %;
* the program after the change no longer gets this advice, or for a small part of the saving.
"""
import argparse
import csv
import io
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import runs  # noqa: E402

NOISE = 0.03 # of the time before
ESTIMATE = 0.15 # by which an estimate may be wrong
STILL = 0.25 # of the saving: two streams overlap only a part

# The start of the advice's text, by the name of the pair.
ADVICE = {
    "pin": "pin the host memory of copies",
    "keep": "keep data on the device",
    "port": "port function, drop copies",
    "port_buffers": "port function, drop copies",
    "port_chain": "port all code between copies",
    "upload_once": "upload unchanged data once",
    "upload_async": "upload unchanged data once",
    "allocate_once": "allocate outside the loop",
    "allocate_pinned": "pin memory outside the loop",
    "batch": "combine small copies",
    "batch_rows": "combine small copies",
    "host_copy": "use memcpy() on the host",
    "overlap": "overlap copies and kernels",
    "synchronize_less": "wait for the GPU less often",
    "synchronize_steps": "wait for the GPU less often",
    "decide": "wait for the GPU less often",
}
# Pairs whose advice needs a hash of each copy.
HASHED = ("upload_once", "upload_async")
# Pairs that run under hotpin: with --observe, it does not know which memory is pageable.
NOT_OBSERVED = ("upload_async",)
# The change saves less than the bound, because the device needs some of the time anyway.
LEAST_OF_BOUND = {"overlap": 0.3}
# The launches behind a wait become faster too, which the advice says that it leaves out.
MOST_OF_BOUND = {"synchronize_less": 1.4}


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hotpin", type=runs.program)
    parser.add_argument("folder", nargs="?", default=".")
    parser.add_argument("runs", nargs="?", default=5, type=int)
    return parser.parse_args()


def build(folder):
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, "pairs")
    subprocess.run([os.environ.get("NVCC", "nvcc"), "-O2", "-g", "-lineinfo",
                    "-arch=" + os.environ.get("ARCH", "native"), "-o", program,
                    os.path.join(HERE, "pairs.cu")], check=True)
    return program


def table(arguments, name, profile):
    """Returns the rows of a table."""
    return list(csv.DictReader(io.StringIO(subprocess.run(
        [arguments.hotpin, "report", "--csv", name, profile], check=True, capture_output=True, text=True).stdout)))


def run(arguments, program, name, when, flags, environment):
    """Of the run with the median wall time without start-up, returns the profile, that time
    (ms), and the output."""
    walls, output = [], None
    for turn in range(arguments.runs):
        profile = os.path.join(arguments.folder, f"{name}-{when}-{turn}.json")
        output = subprocess.run([arguments.hotpin, "run", *flags, "-o", profile, program, name, when],
                                check=True, capture_output=True, text=True,
                                env={**os.environ, **environment}).stdout
        summary = table(arguments, "summary", profile)[0]
        # The start of CUDA varies between runs by more than some pairs save.
        walls.append(((int(summary["wall_ns"]) - int(summary["startup_ns"])) / 1e6, profile))
    walls.sort()
    return walls[len(walls) // 2][1], statistics.median(wall for wall, _ in walls), output


def entries(arguments, profile):
    """Returns (what, kind of figure, ms saved), largest first."""
    return [(row["what"], "about" if row["basis"] == "estimate" else "at most", int(row["saves_ns"]) / 1e6)
            for row in table(arguments, "advice", profile)]


def judge(name, advice, still_advised, wall_before, wall_after):
    """Returns what is wrong; prints a row."""
    wanted = ADVICE[name]
    mine = [entry for entry in advice if entry[0] == wanted]
    if not mine:
        print(f"{name:17} {wall_before:8.1f} {wall_after:8.1f}  no such advice; first: {advice[:1]}")
        return [f"{name}: no such advice"]
    _, kind, saves = mine[0]
    saved = wall_before - wall_after
    print(f"{name:17} {wall_before:8.1f} {wall_after:8.1f} {kind:8} {saves:8.1f} {saved:8.1f} "
          f"{saved / saves:6.2f}  {advice.index(mine[0]) + 1} of {len(advice)}")
    wrong, noise = [], NOISE * wall_before
    if saves < 0.8 * advice[0][2]:
        wrong.append(f"{name}: ranked behind {advice[0]}")
    if kind == "at most" and saved > MOST_OF_BOUND.get(name, 1) * saves + noise:
        wrong.append(f"{name}: saved more than the bound")
    if kind == "at most" and saved < LEAST_OF_BOUND.get(name, 0.5) * saves - noise:
        wrong.append(f"{name}: saved much less than the bound")
    if kind == "about" and abs(saved - saves) > ESTIMATE * saves + noise:
        wrong.append(f"{name}: saved another time than estimated")
    still = sum(ms for what, _, ms in still_advised if what == wanted)
    if still > STILL * saves:
        wrong.append(f"{name}: still advised, {still:.1f} ms")
    return wrong


def main():
    arguments = read_arguments()
    program = build(arguments.folder)
    wrong = []
    print(f"{'pair':17} {'before':>8} {'after':>8} {'figure':8} {'advised':>8} {'saved':>8} {'ratio':>6}  rank"
          "  (ms, medians, without start-up)")
    for name in ADVICE:
        hashed = {"HOTPIN_HASH": "1"} if name in HASHED else {}
        observe = [] if name in NOT_OBSERVED else ["--observe"]
        before, wall_before, first = run(arguments, program, name, "before", observe, hashed)
        flags = [] if name == "pin" else observe
        after, wall_after, second = run(arguments, program, name, "after", flags, hashed)
        advice, still_advised = entries(arguments, before), entries(arguments, after)
        if hashed:
            # Hashing takes time that belongs to neither.  These runs replace the profiles.
            _, wall_before, _ = run(arguments, program, name, "before", observe, {})
            _, wall_after, _ = run(arguments, program, name, "after", flags, {})
        wrong += judge(name, advice, still_advised, wall_before, wall_after)
        if first != second:
            wrong.append(f"{name}: prints {second!r} after the change, {first!r} before")
    profile, wall, _ = run(arguments, program, "done", "before", ["--observe"], {})
    text = subprocess.run([arguments.hotpin, "report", profile], check=True, capture_output=True, text=True).stdout
    is_done = "This port is done" in text
    print(f"{'done':17} {wall:8.1f}  {'is told so' if is_done else 'is not told so'}")
    if not is_done or "port this" in text:
        wrong.append("done: is not told so")
    for line in wrong:
        print(line)
    sys.exit(bool(wrong))


main()
