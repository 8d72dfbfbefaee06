#!/usr/bin/env python3
"""What doc/porting.md quotes is what hotpin prints of the profiles beside it.

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
with open(os.path.join(root, "doc", "porting.md"), encoding="utf-8") as page:
    quotations = re.findall(r"<!-- hotpin (.*?) -->\n(.*?)<!-- end -->", page.read(), re.S)
wrong = 0
profiles = os.path.join(root, "doc", "porting")
for command, quoted in quotations:
    words = [name for word in command.split()
             for name in sorted(glob.glob(word, root_dir=profiles)) or [word]]
    done = subprocess.run([os.path.abspath(hotpin)] + words, capture_output=True, text=True,
                          cwd=profiles)
    printed = iter(done.stdout.splitlines())
    for line in quoted.splitlines():
        if line and line[4:] not in printed:
            print("hotpin %s: has no such line, or not there: %s" % (command, line[4:]))
            wrong += 1
            break
if not quotations:
    print("doc/porting.md quotes nothing")
sys.exit(wrong > 0 or not quotations)
