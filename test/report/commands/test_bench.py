#!/usr/bin/env python3
"""Tests `hotpin bench`: the order of its runs, its output, and programs that fail.

    test_bench.py HOTPIN LIBRARY
"""
import json
import os
import re
import signal
import subprocess
import sys

import tap
from tap import check, says, write

LIBRARY = os.path.realpath(sys.argv[2])
PLAIN, OBSERVED, HOTPIN = "0 - unset", f"unset {LIBRARY} 0", f"unset {LIBRARY} unset"


def program(name, does=":"):
    """Writes a script that logs its start, then `does` something with the number of its run."""
    # Other shells end by _exit(), without a profile.
    write(name, "#!/bin/bash\n"
          'echo "${HOTPIN-unset} ${LD_PRELOAD:--} ${HOTPIN_PIN-unset} $*" >>log\n'
          "run=$(($(wc -l <log)))\necho out of it\n" f"{does}\n")
    os.chmod(os.path.join(tap.FOLDER.name, name), 0o755)
    write("log", "")


def log():
    with open(os.path.join(tap.FOLDER.name, "log"), encoding="utf-8") as file:
        return file.read().splitlines()


def there():
    return sorted(name for name in os.listdir(tap.FOLDER.name) if name.endswith(".json"))


def plain():
    program("app", "echo warning $run >&2")
    done = tap.run("bench", "-n", "2", "--stage", "one", "--library", LIBRARY, "./app", "-x", "a b")
    runs = [f"{way} -x a b" for way in [HOTPIN] + [PLAIN, OBSERVED, HOTPIN] * 2]
    check("one to warm up, then in turns", log() == runs, log(), done.stderr)
    # Which one is faster depends on the machine.
    check("it ends as the comparison does", done.returncode in (0, 3) and "\nChanges are against" in
          done.stdout, done.returncode, done.stdout, done.stderr)
    rows = re.findall(r"^  (plain|observed|hotpin) +(\S+ \S+ +){3}\d+\.\d %(.*)$", done.stdout, re.M)
    check("a row for each way", [row[0] for row in rows] == ["plain", "observed", "hotpin"] and
          not rows[0][2] and all("plain" in row[2] for row in rows[1:]), done.stdout)
    check("in plain English", not re.search("as (long|fast) than", done.stdout), done.stdout)
    check("of its output only the first warning is seen", "out of it" not in done.stdout and
          done.stderr == "warning 1\n", done.stderr)
    files = [f"app-{way}-{turn}.json" for way in ("hotpin", "observed") for turn in (1, 2)]
    check("profiles stay", there() == files, there())
    stages = []
    for name in files:
        with open(os.path.join(tap.FOLDER.name, name), encoding="utf-8") as file:
            stages.append(json.load(file)["stage"])
    check("with labels of their own", stages == ["one, hotpin"] * 2 + ["one, observed"] * 2, stages)
    program("app")
    done = tap.run("bench", "-n", "1", "-o", "x", "--library", LIBRARY, "./app")
    # The comparison below the table assumes a noise, which the two times may be within.
    table = done.stdout.partition("\nprofiles: ")[0]
    check("names by a prefix; of one run no spread is known", "x-hotpin-1.json" in there() and
          re.search(r"^  plain .* -$", table, re.M) and "within the noise" not in table,
          there(), done.stdout)


def failing():
    program("bad", "[ $run != 3 ] || { echo oops >&2; exit 3; }")
    done = says("a run that fails", 4, r"^hotpin: ./bad \(observed\) failed with exit status 3: "
                "nothing is compared; check that it succeeds without hotpin", "bench", "-n", "2", "--library", LIBRARY, "./bad")
    check("is the last, what it said is shown, and nothing is compared", len(log()) == 3 and
          "\noops\n" in done.stderr and done.stdout == "", log(), done.stdout)
    program("bad", "kill -SEGV $$")
    says("one that a signal ends", 4, r"\(hotpin\) was killed by signal 11 \(Segmentation fault\)",
         "bench", "--library", LIBRARY, "./bad")
    program("bad")
    write("env-hotpin-1.json", "an old one")
    says("one that leaves no profile, where there was an old one", 4,
         r"\(hotpin\) wrote no profile", "bench", "--library", LIBRARY, "env", "-u", "LD_PRELOAD",
         "./bad")
    says("one that is not there", 4, "cannot run ./none: there is no such program", "bench",
         "--library", LIBRARY, "./none")


def interrupted():
    """Only hotpin gets the signal: it ends after its program, and by that signal."""
    program("app", "trap 'echo told >>log; kill $!; exit 0' TERM\nsleep 1000 &\necho >up\nwait $!")
    os.mkfifo(os.path.join(tap.FOLDER.name, "up"))
    bench = subprocess.Popen([tap.HOTPIN, "bench", "--library", LIBRARY, "./app"],
                             cwd=tap.FOLDER.name, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    with open(os.path.join(tap.FOLDER.name, "up"), encoding="utf-8") as up:
        up.read()
    bench.terminate()
    status = bench.wait(timeout=60 * tap.SLOWNESS)
    check("a signal reaches the program, whose end is awaited", status == -signal.SIGTERM and
          log()[1:] == ["told"], status, log())


def refused():
    says("no program", 2, "no program to run; name one\nusage: hotpin bench", "bench", "-n", "2")
    for turns in ("0", "-1", "two", "1001", "5x"):
        says(f"{turns} turns", 2, "-n: expected a number from 1 to 1000", "bench", "-n", turns, "true")
    for words in ("-o", "x%p", "true"), ("./x%p",):
        says(f"marks in the names: {words}", 2, "-o x%p: .*must not contain %", "bench", *words)
    before = log()
    says("profiles into no directory", 1, "cannot write /proc/none/x-observed-1.json: No such",
         "bench", "-o", "/proc/none/x", "./app")
    check("and no run", log() == before, log())


def main():
    plain()
    failing()
    interrupted()
    refused()
    tap.end()


main()
