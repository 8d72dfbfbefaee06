#!/usr/bin/env python3
"""Runs frames.py in every CPython from 3.10 on that is installed.

    python.py PROBE EMBED

Interpreters are those of PATH and of ~/.pyenv; TEST_PYTHONS, paths with colons between them, adds
some.  TAP.
"""

import concurrent.futures
import glob
import os
import re
import subprocess
import sys
from pathlib import Path

ASK = """
import sys, sysconfig
print(*sys.version_info[:2], hasattr(sys, "gettotalrefcount"), sys.executable, sep="\\n")
print(sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME"), sep="/")
"""


def candidates():
    yield sys.executable
    yield from filter(None, os.environ.get("TEST_PYTHONS", "").split(":"))
    folders = os.environ.get("PATH", "").split(":") + glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin"))
    for folder in folders:
        for path in sorted(glob.glob(glob.escape(folder) + "/python3*")):
            if re.fullmatch(r"python3(\.\d+)?(t|d|-dbg)?", os.path.basename(path)):
                yield path


def interpreters():
    """{(version, is it a debug build): (program, library)}"""
    found, seen = {}, set()
    for path in candidates():
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        asked = subprocess.run([path, "-c", ASK], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            major, minor, debug, program, library = asked.stdout.split("\n")[:5]
            if int(minor) >= 10:
                found.setdefault((f"{major}.{minor}", debug == "True"), (program, library))
    return found


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def embedded(embed, library):
    status, out, errors = run([embed, library])
    return [] if (status, out) == (0, "<string> inner 3\n<string> <module> 5\n") else [out, errors]


def frames(program, probe):
    status, out, errors = run([program, str(Path(__file__).with_name("frames.py")), probe])
    plan = re.match(r"1\.\.(\d+)\n", out)
    passed = len(re.findall(r"(?m)^ok ", out))
    return [] if status == 0 and plan and passed == int(plan.group(1)) else [out, errors]


def main():
    probe, embed = sys.argv[1:3]
    tests = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (version, debug), (program, library) in sorted(interpreters().items()):
            name = version + (" debug" if debug else "")
            tests.append((name, pool.submit(frames, program, probe)))
            if os.path.exists(library) and ".so" in library:
                tests.append((name + " embedded", pool.submit(embedded, embed, library)))
    print(f"1..{len(tests)}")
    for number, (name, result) in enumerate(tests, 1):
        wrong = result.result()
        print("not ok" if wrong else "ok", number, "-", name)
        for text in wrong:
            print("\n".join("# " + line for line in text.splitlines()))


main()
