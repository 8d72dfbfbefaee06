#!/usr/bin/env python3
"""Tests that host memory of a mapped file is named by the file and the line that uploads it.

    test_mapped.py HOTPIN LIBRARY PROGRAM FOLDER-OF-THE-STAND-IN
"""
import os
import re
import sys

import tap
from tap import check

LIBRARY, PROGRAM, STANDIN = (os.path.abspath(path) for path in sys.argv[2:5])
HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "mapped.py")


def line_of(path, text):
    with open(path, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def profiled(*program):
    tap.on_stand_in(STANDIN, [tap.HOTPIN, "run", "--library", LIBRARY, "--profile", "-o", "run.json", *program], check=True)
    return {(buffer["kind"], buffer.get("file")): buffer["h2d"]["count"] for buffer in tap.loaded("run.json")["buffers"]
            if buffer["h2d"]["count"] > 0}


def shown(place, file, count):
    """Each form of the report names the file and the place."""
    report = tap.run("report", "--all", "run.json", COLUMNS=160).stdout
    check(f"{file} in the report", re.search(rf"  {place} \(file {file}\)\n", report), report)
    check(f"{file} on the page", re.search(rf"{place}[^\n]* \(file {file}\)", tap.run("html", "run.json").stdout))
    rows = tap.table("buffers", "run.json")
    check(f"{file} in the table", [row["h2d_count"] for row in rows if (row["kind"], row["mapped_file"]) == ("file", file)] ==
          [str(count)], rows)


def main():
    os.makedirs(os.path.join(tap.FOLDER.name, "private"))
    for name in ("private/weights.bin", "other.bin"):
        tap.write(name, bytes(1 << 20))
    found = profiled(PROGRAM, "private/weights.bin", "other.bin")
    check("a program", found == {("file", "weights.bin"): 4, ("file", "other.bin"): 1, ("other", None): 2}, found)
    source = os.path.join(HERE, "mapped.c")
    shown(rf"upload at mapped\.c:{line_of(source, 'cuMemcpyHtoD')}", "weights.bin", 4)
    check("no folder of it", "private/" not in tap.text_of(os.path.join(tap.FOLDER.name, "run.json")))
    found = profiled(sys.executable, SCRIPT, "private/weights.bin")
    check("a script", found == {("file", "weights.bin"): 1}, found)
    if (3, 11) <= sys.version_info[:2] <= (3, 14):
        shown(rf"upload at mapped\.py:{line_of(SCRIPT, 'cuMemcpyHtoD')}", "weights.bin", 1)
    tap.end()


main()
