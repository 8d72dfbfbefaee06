"""Runs `hazards` without the library and with it, and compares all that the two runs saw.

    hazards.py LIBRARY HAZARDS [RUNS [TEST...]]

Each test is a row of the table in hazards.c.  Exit status 0: every test passed both ways, or was
skipped both ways, with the same observations.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import time

VERDICT = re.compile(r"row (\d\d) (\w+): (.*)")


def start(program, names, library, settings, seconds):
    """The lines that a process printed, and how it ended."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("PRELOAD_SO", "LD_PRELOAD")}
    environment.update(setting.split("=", 1) for setting in settings)
    if library:
        environment["LD_PRELOAD"] = library
    try:
        done = subprocess.run([program, "--run", *names], env=environment, text=True,
                              errors="replace", capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace").splitlines(), "hangs"
    said = [f"# stderr: {line}" for line in done.stderr.splitlines()]
    return done.stdout.splitlines() + said, f"status {done.returncode}"


def take(lines, results):
    """Splits what was printed by test; returns what came after the last verdict."""
    gathered = []
    for line in lines:
        verdict = VERDICT.fullmatch(line)
        if verdict:
            results[f"row{verdict[1]}_{verdict[2]}"] = (verdict[3], gathered)
            gathered = []
        else:
            gathered.append(line)
    return gathered


def run_all(program, tests, library):
    """What each test said: its verdict and its other lines."""
    results = {}
    together = [name for name, settings in tests.items() if not settings]
    while together:
        lines, end = start(program, together, library, [], 200)
        rest = take(lines, results)
        left = [name for name in together if name not in results]
        if len(left) == len(together) or (left and end != "status 3"):
            results[left[0]] = (f"FAILED, {end}", rest)
            left = left[1:]
        together = left

    def run_alone(name):
        mine = {}
        lines, end = start(program, [name], library, tests[name], 60)
        rest = take(lines, mine)
        return name, mine.get(name, (f"FAILED, {end}", rest))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results.update(pool.map(run_alone, [name for name in tests if tests[name]]))
    return results


def observations(lines):
    return [line for line in lines if line.startswith("# see ")]


def compare(tests, plain, ours):
    """Prints a line a test; returns how many differ or failed, and how many were skipped."""
    wrong = skipped = 0
    for name in sorted(tests):
        words, said = ours[name]
        other_words, other_said = plain[name]
        seen, other_seen = observations(said), observations(other_said)
        same = words == other_words and seen == other_seen
        good = same and (words == "ok" or words.startswith("skipped"))
        wrong += not good
        skipped += words.startswith("skipped")
        print(f"row {name[3:5]} {name[6:]}: {words if same else 'DIFFERS'}")
        if good:
            continue
        if words != other_words:
            print(f"    without: {other_words}; with: {words}")
        for here, there in zip(other_seen, seen):
            if here != there:
                print(f"    without: {here[2:]}; with: {there[2:]}")
        for side, lines in (("without", other_said), ("with", said)):
            for line in [line for line in lines if not line.startswith("# see ")][:12]:
                print(f"    {side}: {line}")
    return wrong, skipped


def main():
    library, program = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    runs, wanted = int(sys.argv[3]) if len(sys.argv) > 3 else 1, sys.argv[4:]
    listed = subprocess.run([program, "--list"], text=True, capture_output=True, check=True)
    tests = {}
    for line in listed.stdout.splitlines():
        name, *settings = line.split("\t")
        if not wanted or name in wanted:
            tests[name] = settings
    bad = 0
    for run in range(runs):
        begun = time.monotonic()
        plain = run_all(program, tests, None)
        middle = time.monotonic()
        ours = run_all(program, tests, library)
        ended = time.monotonic()
        wrong, skipped = compare(tests, plain, ours)
        bad += wrong
        print(f"hazards: {len(tests)} tests, {wrong} FAILED, {skipped} skipped; "
              f"{middle - begun:.1f} s without, {ended - middle:.1f} s with")
    return bad != 0


sys.exit(main())
