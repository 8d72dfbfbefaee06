#!/usr/bin/env python3
"""Tests that reports name functions which the compiler inlined, in a program with debug information.

    test_inlined.py HOTPIN LIBRARY PROGRAM FOLDER-OF-THE-STAND-IN
"""
import os
import re
import shutil
import sys

import made
import tap
from tap import check, write

LIBRARY, PROGRAM, STANDIN = (os.path.abspath(path) for path in sys.argv[2:5])
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inlined.cc")
COMMANDS = (["report", "--all"], ["annotate"], ["html"], ["trace"], ["report", "--csv", "sites"],
            ["report", "--folded"])


def line_of(text):
    """The number of the only line of the source that has the text."""
    with open(SOURCE, encoding="utf-8") as file:
        found = [number for number, line in enumerate(file, 1) if text in line]
    assert len(found) == 1, text
    return found[0]


def profiled(program):
    """A profile of a run, and a sample of its blend() two of three times, as the kernel may not permit samples."""
    offset = tap.on_stand_in(STANDIN, [tap.HOTPIN, "run", "--library", LIBRARY, "--profile", "-o", "run.json", program],
                             check=True).stdout
    run = tap.loaded("run.json")
    module = next(i for i, module in enumerate(run["modules"]) if module["path"] == program)
    run["wall_ns"], run["sampling"] = 4 * made.SECOND, made.sampled()["sampling"]
    run["samples"] = [{"frames": [made.frame(module, int(offset))], "first_thread": 398, "other_threads": 0}]
    write("run.json", run)


def shown():
    return [tap.run(*command, "run.json").stdout for command in COMMANDS]


def main():
    program = os.path.join(tap.FOLDER.name, "inlined")
    shutil.copy(PROGRAM, program)
    profiled(program)
    report = tap.run("report", "--all", "run.json", COLUMNS=160).stdout
    blend, call = line_of("note_place();"), line_of("= blend(")
    check("the function to port", re.search(
        rf"port this function .*\n +at  diffuse at inlined\.cc:{call}\n", report), report)
    check("host code by the innermost function, and its caller", re.search(
        rf"^ +100\.0 % +2\.00 s +2\.00 s +398  blend at inlined\.cc:{blend} +diffuse at inlined\.cc:{call}$", report, re.M), report)
    check("a copy by the inlined function that makes it, and its caller", re.search(
        rf"H2D \w+ +upload at inlined\.cc:{line_of('cuMemcpyHtoD')} +main at inlined\.cc:{line_of('upload(memory)')}$",
        report, re.M), report)
    check("folded stacks", tap.run("report", "--folded", "run.json").stdout == "main;diffuse;blend 398\n")
    check("tables", sorted(row["function"] for row in tap.table("sites", "run.json")) == ["main", "upload"])
    check("the icicle", re.findall(r'title="([^":]*): ', tap.run("html", "run.json").stdout)[:4] ==
          ["all samples", "main", "diffuse", "blend"])
    check("source lines", re.search(rf"^.* 2\.00 s +{blend}  ", tap.run("annotate", "run.json").stdout, re.M))
    before = shown()
    done = tap.run("resolve", "run.json")
    check("names are stored", done.returncode == 0, done.stderr)
    os.remove(program)
    for command, old, new in zip(COMMANDS, before, shown()):
        check(f"without the program: {command[0]} {command[-1]}", old == new, new)
    tap.end()


main()
