#!/usr/bin/env python3
"""Tests that no text of a file, of a variable or of a name controls the terminal.

    test_escapes.py HOTPIN LIBRARY
"""
import os
import re
import shutil
import subprocess
import sys

import made
import tap
from tap import check, write

# A title by ESC, a color by C1 as UTF-8 and as a byte, and what else a terminal obeys.
ATTACK = "\x1b]0;title\x07\u009b31m\udc9b31m\x7f\x08\r\u202e"
FOLDER, LIBRARY = tap.FOLDER.name, os.path.abspath(sys.argv[2])
PROFILE = f"{ATTACK}.json"
READERS = ("report", "compare", "annotate", "html", "trace", "resolve")


def clean(what, *command, shown=True, **variables):
    """The output has no control character.  If `shown`, it has the text in another form."""
    done = subprocess.run([tap.HOTPIN, *command], env={**os.environ, "LC_ALL": "C.UTF-8", **variables}, cwd=FOLDER,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="surrogateescape",
                          check=False)
    # The loader complains about a library that it cannot preload.
    text = done.stdout + ("" if "LD_PRELOAD" in variables else done.stderr)
    check(f"{what!a}: {command[0]!a}", done.returncode >= 0 and tap.no_control(text.replace("\n", "")) and
          not re.search("[\udc80-\udcff]", text) and ("title" in text) >= shown, ascii(text))


def program(name, content):
    write(name, content if isinstance(content, bytes) else content.encode(errors="surrogateescape"))
    os.chmod(os.path.join(FOLDER, name), 0o755)
    return f"./{name}"


def scripts():
    for line in (f"#!/bin/{ATTACK}sh", f"#!/bin/sh {ATTACK}", f"#!/usr/bin/env {ATTACK}"):
        clean(line[:11], "doctor", program("script", line.replace("\r", "") + "\n"))
    clean("#!", "run", "--library", LIBRARY, program("script", f"#!/no/{ATTACK}\n"))


def programs():
    """ELF files with such texts, of the length of the old ones."""
    with open(shutil.which("true"), "rb") as file:
        content = file.read()
    loader = re.search(rb"/lib[^\0]*/ld-[^\0]*", content)
    if loader is None:
        print("# true has no loader here")
        return
    for what, old, new in (("PT_INTERP", loader[0], b"/\x1b]0;title\xc2\x9b"),
                           ("DT_NEEDED", b"libc.so.6", b"\x1btitle\xc2\x9b.")):
        name = program(what, content.replace(old + b"\0", new.ljust(len(old), b"~")[:len(old)] + b"\0"))
        clean(what, "doctor", name, shown=what == "PT_INTERP")
    clean("PT_INTERP", "run", "--library", LIBRARY, "./PT_INTERP")


def names():
    os.mkdir(os.path.join(FOLDER, ATTACK))
    shutil.copy(shutil.which("true"), os.path.join(FOLDER, ATTACK, "program"))
    write(PROFILE, made.first())
    for command in (*READERS, "run", "bench", "doctor", "env", ATTACK):
        clean("a command or an option", command, f"--no{ATTACK}")
    for command in READERS:
        clean("no file", command, f"no{ATTACK}", *[PROFILE] * (command == "compare"))
        clean("a file", command, PROFILE, *[PROFILE] * (command == "compare"), shown=False)
        clean("a folder", command, ATTACK, *[PROFILE] * (command == "compare"))
    for command in ("run", "bench", "doctor"):
        clean("no program", command, f"no{ATTACK}")
        clean("a program", command, f"{ATTACK}/program", shown=command != "run")
    for command in ("html", "trace"):
        clean("-o", command, "-o", f"no/{ATTACK}", PROFILE)
    clean("-o", "report", "--folded", "-o", f"no/{ATTACK}", PROFILE)
    clean("-o", "run", "-o", f"no/{ATTACK}", "true")
    clean("-o", "bench", "-o", f"no/{ATTACK}", "true")
    clean("--csv", "report", "--csv", ATTACK, PROFILE)
    clean("--source", "annotate", "--source", ATTACK, PROFILE, shown=False)
    for option in ("--profile", "--observe", "--library"):
        clean(option, "run", f"{option}={ATTACK}", "true")
    clean("arguments", "env", ATTACK)


def variables():
    for name in ("STAGE", "OUT", "LOG_FILE", "ONLY", "PIN", "CAPTURE", f"NONE{ATTACK}"):
        there = {f"HOTPIN_{name}": f"/no/{ATTACK}"}
        clean(f"HOTPIN_{name[:8]}", "doctor", shown=name not in ("STAGE", "LOG_FILE"), **there)
        clean(f"HOTPIN_{name[:8]}", "env", **there)
    for name in ("LD_PRELOAD", "CUDA_PATH", "CUDA_HOME", "NVTX_INJECTION64_PATH", "COLUMNS", "TERM", "HOSTNAME"):
        clean(name, "doctor", shown=False, **{name: ATTACK})
    clean("a sanitizer", "doctor", LD_PRELOAD=f"libasan{ATTACK}")
    clean("HOTPIN_OUT", "run", "--library", LIBRARY, "true", HOTPIN_OUT=f"/no/{ATTACK}")


def machine():
    """Files of /sys and /proc."""
    root = os.path.join(FOLDER, "root")
    for path in ("sys/kernel/mm/transparent_hugepage/enabled", "proc/sys/kernel/osrelease",
                 "proc/driver/nvidia/version", "proc/self/status"):
        os.makedirs(os.path.join(root, os.path.dirname(path)))
        write(os.path.join(root, path), f"microsoft {ATTACK}\n".encode(errors="surrogateescape"))
        clean(path, "doctor", shown=path.endswith("osrelease"), _HOTPIN_ROOT=root)
        shutil.rmtree(root)


def main():
    for part in (scripts, programs, names, variables, machine):
        part()
    tap.end()


main()
