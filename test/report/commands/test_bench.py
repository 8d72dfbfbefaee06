#!/usr/bin/env python3
"""Tests `hotpin bench`: the order of its runs, its output, and programs that fail.

    test_bench.py HOTPIN LIBRARY
"""
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
    return tap.text_of(tap.path("log")).splitlines()


def there():
    return sorted(name for name in os.listdir(tap.FOLDER.name) if name.endswith(".json"))


def plain():
    program("app", "echo warning $run >&2")
    done = tap.run("bench", "--stage", "one", "--library", LIBRARY, "./app", "-x", "a b")
    turn = [PLAIN, HOTPIN, OBSERVED]
    runs = [f"{way} -x a b" for way in [OBSERVED] + (turn + turn[::-1]) * 2 + turn]
    check("one to warm up, then in turns", log() == runs, log(), done.stderr)
    rows = re.findall(r"^  (plain|hotpin|observed) +(\S+ \S+) +(?:\S+ \S+ *){2}(.*)$", done.stdout, re.M)
    check("a row for each way", [row[0] for row in rows] == ["plain", "hotpin", "observed"] and
          rows[2][2].endswith(": the cost of a profile"), done.stdout)
    check("of its output only the first warning is seen", "out of it" not in done.stdout and
          done.stderr == "warning 1\n", done.stderr)
    files = [f"app-observed-{turn}.json" for turn in range(1, 6)]
    check("profiles stay", there() == files, there())
    stages = {tap.loaded(name)["stage"] for name in files}
    check("with their label", stages == {"one"}, stages)
    done = tap.run("bench", "-o", "x", "--library", LIBRARY, "./app", also={"HOTPIN_OUT": "y.json"})
    check("names by a prefix; no other profile", [name for name in there() if name[0] in "xy"] ==
          [name.replace("app", "x") for name in files], there(), done.stderr)


def judged():
    """The verdict does not depend on the machine if one way sleeps."""
    with_hotpin, profiled = '[ "$LD_PRELOAD" ]', '[ "$HOTPIN_OUT" ]'
    sleep = f"sleep {tap.SLOWNESS}"
    for name, does, status, verdict in (
            ("slower", f"{with_hotpin} && ! {profiled} && {sleep}", 3, r"SLOWER: {1} with hotpin, {0} plain \(.* as long\), slower in 5"),
            ("faster", f"{with_hotpin} || {sleep}", 0, r"FASTER: {1} with hotpin, {0} plain \(.* as fast\), faster in 5"),
            ("unclear", f"{with_hotpin} && ! {profiled} && [ $run -gt 8 ] && {sleep}; {with_hotpin} || [ $run -gt 8 ] || {sleep}",
             0, r"UNCLEAR: {1} with hotpin, {0} plain \(.*\), faster in [2-3]")):
        program("app", does + "; true")
        done = tap.run("bench", "--library", LIBRARY, "./app")
        medians = re.findall(r"^  (?:plain|hotpin) +(\S+ \S+) ", done.stdout, re.M)
        check(f"{name}: the figures of the table, and the status", done.returncode == status and
              re.search("^" + verdict.format(*medians) + " of 5 turns\\.", done.stdout, re.M), done.returncode, done.stdout)


def failing():
    program("bad", "[ $run != 3 ] || { echo oops >&2; exit 3; }")
    done = says("a run that fails", 4, r"^hotpin: ./bad \(hotpin\) failed with exit status 3: "
                "nothing is compared; check that it succeeds without hotpin", "bench", "--library", LIBRARY, "./bad")
    check("is the last, what it said is shown, and nothing is compared", len(log()) == 3 and
          "\noops\n" in done.stderr and done.stdout == "", log(), done.stdout)
    program("bad", "kill -SEGV $$")
    says("one that a signal ends", 4, r"\(observed\) was killed by signal 11 \(Segmentation fault\)",
         "bench", "--library", LIBRARY, "./bad")
    program("bad")
    write("env-observed-1.json", "an old one")
    says("one that leaves no profile, where there was an old one", 4,
         r"\(observed\) wrote no profile", "bench", "--library", LIBRARY, "env", "-u", "LD_PRELOAD",
         "./bad")
    says("one that is not there", 4, "cannot run ./none: there is no such program\nhotpin: nothing is compared\n$",
         "bench", "--library", LIBRARY, "./none")


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
    says("no program", 2, "no program to run; name one\nusage: hotpin bench", "bench", "-n", "5")
    for turns in ("0", "-1", "4", "five", "1001", "5x"):
        says(f"{turns} turns", 2, "-n: expected a number from 5 to 1000", "bench", "-n", turns, "true")
    for words in ("-o", "x%p", "true"), ("./x%p",):
        says(f"marks in the names: {words}", 2, "-o x%p: .*must not contain %", "bench", *words)
    before = log()
    says("profiles into no directory", 1, "cannot write /proc/none/x-observed-1.json: No such",
         "bench", "-o", "/proc/none/x", "./app")
    check("and no run", log() == before, log())


def main():
    plain()
    judged()
    failing()
    interrupted()
    refused()
    tap.end()


main()
