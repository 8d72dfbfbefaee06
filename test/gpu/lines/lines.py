#!/usr/bin/env python3
"""lines.py - measures the share of copies whose call site has a Python line, for each script.

    lines.py [-o FOLDER] [-p PYTHON] [-l LEAST] HOTPIN SCRIPT [ARGUMENT...] [, SCRIPT [ARGUMENT...]]...

Each script runs under `HOTPIN run -o FOLDER/SCRIPT.json`, which profiles it.  The output shows for
each script its copies, how many of them have a line, how many only have a line of the main thread,
and the sites without a line.  A script that exits with 77 is skipped.  Exit status: 0 each script
has lines for LEAST per cent of its copies (99), 1 a script has fewer, 2 a script failed or left no
profile.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
LIMIT_SECONDS = 120


def copies_of(site):
    return sum(row["count"] for row in site["rows"] if row["direction"] in ("h2d", "d2h"))


def name_of(site, modules):
    """Returns the native frames of a site: module and offset."""
    names = []
    for frame in site["frames"][:4]:
        module = frame.get("module")
        file = modules[module].get("path") or "?" if module is not None else "?"
        names.append("%s+%#x" % (os.path.basename(file), frame.get("offset") or 0))
    return " < ".join(names) or "no frames"


def shares(profile):
    """Returns all copies, copies with a line, copies with only a line of the main thread, the sites
    without either, and the lines, most copies first."""
    total, known, seen, without, lines = 0, 0, 0, collections.Counter(), collections.Counter()
    for site in profile["sites"]:
        count = copies_of(site)
        total += count
        python = site.get("python") or []
        if python:
            known += count
            lines["%s:%d %s" % (python[0]["file"], python[0]["line"], python[0]["function"])] += count
        elif site.get("main_thread"):
            seen += count
            for place in site["main_thread"]["places"]:
                frame = place["python"][0]
                lines["main thread then at %s:%d %s (%d of %d looks)" % (
                    frame["file"], frame["line"], frame["function"], place["looks"],
                    site["main_thread"]["looks"])] += count
        elif count:
            without[name_of(site, profile["modules"])] += count
    return total, known, seen, without.most_common(), lines.most_common()


def run(options, folder, command):
    """Returns the profile of a script, or the reason why there is none."""
    name = os.path.splitext(os.path.basename(command[0]))[0]
    out = os.path.join(folder, name + ".json")
    environment = dict(os.environ, HOTPIN_PROFILE="summary")
    whole = [options.hotpin, "run", "-o", out, options.python, *command]
    try:
        done = subprocess.run(whole, env=environment, capture_output=True, text=True,
                              timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return name, None, "ran for more than %d s" % LIMIT_SECONDS
    if done.returncode == SKIPPED:
        return name, None, "skipped"
    with open(os.path.join(folder, name + ".err"), "w") as errors:
        errors.write(done.stdout + done.stderr)
    if done.returncode != 0:
        return name, None, "status %d: %s" % (done.returncode, done.stderr[-600:])
    try:
        with open(out) as file:
            return name, json.load(file), None
    except (OSError, ValueError) as error:
        return name, None, str(error)


def groups(words):
    """Splits the arguments at single commas."""
    commands = [[]]
    for word in words:
        if word == ",":
            commands.append([])
        else:
            commands[-1].append(word)
    return [command for command in commands if command]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", help="folder for the profiles")
    parser.add_argument("-p", "--python", default=sys.executable)
    parser.add_argument("-l", "--least", type=float, default=99.0)
    parser.add_argument("hotpin")
    parser.add_argument("scripts", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    folder = options.out or tempfile.mkdtemp(prefix="lines-")
    os.makedirs(folder, exist_ok=True)
    status = 0
    print("%-20s %8s %10s %8s  %s" % ("script", "copies", "with line", "share", "main thread's line"))
    for command in groups(options.scripts):
        name, profile, reason = run(options, folder, command)
        if profile is None:
            print("%-20s %s" % (name, reason), flush=True)
            status = status if reason == "skipped" else 2
            continue
        total, known, seen, without, lines = shares(profile)
        share, more = (100.0 * n / total if total else 0.0 for n in (known, seen))
        print("%-20s %8d %10d %6.2f %%  %.2f %%" % (name, total, known, share, more), flush=True)
        for line, count in lines[:3]:
            print("    %8d  %s" % (count, line))
        for line, count in without[:3]:
            print("    %8d  no line: %s" % (count, line))
        if share + more < options.least:
            status = max(status, 1)
    return status


if __name__ == "__main__":
    sys.exit(main())
