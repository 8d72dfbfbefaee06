"""Runs `launchers` under hotpin, and compares the profile with the program's own figures.

    launchers.py HOTPIN LAUNCHERS

Exit status 0: every figure agrees, and the split of wall time sums to 100 %.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import runs


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hotpin", type=runs.program)
    parser.add_argument("launchers", type=runs.program)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "profile.json")
        run = subprocess.run([arguments.hotpin, "run", "--profile", "-o", path, "--",
                              arguments.launchers], capture_output=True, text=True, check=True)
        sys.stderr.write(run.stderr)
        truth = json.loads(run.stdout)
        profile = json.load(open(path))

    wrong = 0

    def compare(what, seen, true):
        nonlocal wrong
        wrong += seen != true
        print(f"{what}: {seen}, truly {true}{'' if seen == true else '  WRONG'}")

    views = ["hotpin"] + (["cupti"] if profile["backend"]["kind"] == "cupti" else [])
    for view in views:
        for direction in ("h2d", "d2h", "d2d"):
            rows = [row for row in profile["transfers"]
                    if row["view"] == view and row["direction"] == direction]
            sums = [sum(row["count"] for row in rows), sum(row["bytes"] for row in rows)]
            compare(f"{view} {direction} copies, bytes", sums, truth[direction])
    compare("launches", profile["host"]["launches"], truth["kernels"])
    if "cupti" in views:
        compare("kernels", profile["kernel_runs"]["count"], truth["kernels"])
        compare("memsets", profile["memsets"]["count"], truth["memsets"])
        places, rest = profile["launches"] or [], profile["launches_rest"] or {"kernels": None}
        if rest["kernels"] is not None:
            compare("kernels by place of launch, and of no place",
                    [sum(place["kernels"] for place in places) + rest["kernels"], rest["kernels"]],
                    [truth["kernels"], 0])
        split = profile["split"]
        compare("split, ns", sum(split[name] for name in split if name.endswith("_ns")),
                profile["wall_ns"])
    return wrong != 0


sys.exit(main())
