#!/usr/bin/env python3
"""What doc/porting.md quotes is what hotpin prints of the profiles beside it; and what README.md
quotes of test/gpu/stages/compare.txt is in that file, which is printed of them, too.

    walkthrough.py HOTPIN ROOT

Each quotation stands between a line that names the command and `<!-- end -->`; lines may be left
out of it, but they keep their order.
"""
import glob
import os
import re
import subprocess
import sys

hotpin, root = sys.argv[1:]


def read(*path):
    with open(os.path.join(root, *path), encoding="utf-8") as page:
        return page.read()


QUOTED = r"<!-- hotpin (.*?) -->\n(.*?)<!-- end -->"
THREE = "compare stage1-?.json stage2-?.json stage3-?.json"
quotations = re.findall(QUOTED, read("doc", "porting.md"), re.S)
if not quotations:
    print("doc/porting.md quotes nothing")
RECORDED = "test/gpu/stages/compare.txt"
front = [(THREE, lines) for what, lines in re.findall(QUOTED, read("README.md"), re.S)
         if what == "compare, " + RECORDED]
if not front:
    print("README.md quotes nothing of " + RECORDED)
wrong = not quotations or not front
# The file is quoted whole.
quotations += front
quotations.append((THREE, re.sub("^(?=.)", "    ", read(RECORDED), flags=re.M)))
profiles = os.path.join(root, "doc", "porting")
for command, quoted in quotations:
    words = [name for word in command.split()
             for name in sorted(glob.glob(word, root_dir=profiles)) or [word]]
    done = subprocess.run([os.path.abspath(hotpin)] + words, capture_output=True, text=True,
                          cwd=profiles, env={**os.environ, "COLUMNS": "80", "LC_ALL": "C"})
    printed = iter(done.stdout.splitlines())
    for line in quoted.splitlines():
        if line and line[4:] not in printed:
            print("hotpin %s: has no such line, or not there: %s" % (command, line[4:]))
            wrong += 1
            break
sys.exit(wrong > 0)
