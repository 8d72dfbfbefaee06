#!/usr/bin/env python3
"""Writes first inputs for the fuzz targets: FOLDER/reader, FOLDER/symbolizer and FOLDER/doctor.

    seeds.py FOLDER
"""
import glob
import json
import os
import struct
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(TOP, "report", "commands"))
# pylint: disable=wrong-import-position
import made
import program


def put(target, name, data):
    os.makedirs(os.path.join(FOLDER, target), exist_ok=True)
    with open(os.path.join(FOLDER, target, name), "wb") as file:
        file.write(data)


def profiles():
    for name in ("full", "first", "second", "third", "sampled", "unsampled", "lossy", "without_device", "hostile"):
        yield name, getattr(made, name)()
    names = [{"module": 0, "offset": offset, "function": "solve", "file": path, "line": 7}
             for offset, path in ((0x101f, "/usr/include/stdio.h"), (0x10ff, "/nowhere/../solve.cu"))]
    yield "named", {**made.sampled(), "names": names}
    yield "looped", made.looped(3)
    yield "rank", made.rank(0, 2)


def compiled(*flags):
    """Returns a program with line tables; None without a compiler."""
    with tempfile.TemporaryDirectory() as folder:
        source, output = os.path.join(folder, "a.c"), os.path.join(folder, "a.out")
        with open(source, "w", encoding="utf-8") as file:
            file.write("int f(int x) { return x + 1; }\nint main(void) { return f(-1); }\n")
        try:
            subprocess.run(["cc", "-g", "-Os", *flags, "-o", output, source], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        with open(output, "rb") as file:
            return file.read()


def programs():
    symbols = {"main": 0x1000, "_Z4stepPf": 0x1100}
    link = b"program\0" + struct.pack("<I", 7)
    yield "lines", program.elf(symbols, {0x1010: [("_ZL1gv", "/src/b.c:2"), ("main", "/src/a.c:3")]})
    yield "link", program.elf(symbols, more={".gnu_debuglink": link})
    yield "path", program.elf(symbols, more={".gnu_debuglink": b"../../etc/passwd\0"})
    yield "alternative", program.elf(symbols, {}, {".gnu_debugaltlink": b"/etc/passwd\0" + bytes(20)})
    for name, flags in (("program", ()), ("library", ("-shared", "-fPIC")), ("static", ("-nostdlib", "-static", "-e", "main")),
                        ("stripped", ("-s",)), ("rpath", ("-Wl,-rpath,/opt/lib", "-lm", "-Wl,--no-as-needed"))):
        data = compiled(*flags)
        if data is not None:
            yield name, data


def main():
    for name, profile in profiles():
        put("reader", name, json.dumps(profile, separators=(",", ":")).encode())
    for path in glob.glob(os.path.join(TOP, "report", "*.json")):
        with open(path, "rb") as file:
            put("reader", os.path.basename(path), file.read())
    for name, data in programs():
        put("symbolizer", name, data)
        put("doctor", name, data)
    for number, line in enumerate((b"#!/bin/sh\n", b"#!/usr/bin/env -S python3 -u\r\n", b"#! /usr/bin/env\tperl", b"#!", b"#!nothing")):
        put("doctor", f"script{number}", line)


main()
