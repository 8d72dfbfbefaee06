#!/usr/bin/env python3
"""What README.md shows of `hotpin compare` is what it printed.  readme.py README"""
import os
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    readme = file.read()
shown = re.search(r"<!-- hotpin compare, (\S+) -->\n(.*?)<!-- end -->", readme,
                  re.S)
if not shown:
    print("# README.md shows nothing of ours")
    sys.exit(77)
path = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), shown.group(1))
with open(path, encoding="utf-8") as file:
    printed = file.read().splitlines()
missing = [line for line in shown.group(2).splitlines() if line and line[4:] not in printed]
for line in missing:
    print(f"{shown.group(1)} has no line: {line[4:]}")
sys.exit(bool(missing))
