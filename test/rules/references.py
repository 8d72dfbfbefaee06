#!/usr/bin/env python3
"""Checks that pages name only existing files, functions, options and anchors.

    references.py ROOT

A rename that misses a README.md or a page of doc/ fails here.  So does a page or
a code comment that cites a missing anchor of doc/measurements.md.
"""
import os
import re
import sys

root = sys.argv[1]
os.chdir(root)
wrong = []


def read(path):
    with open(path, encoding="utf-8", errors="replace") as page:
        return page.read()


tree = [os.path.relpath(os.path.join(folder, name), ".")
        for top in ("src", "include", "tools", "test", "doc")
        for folder, _, names in os.walk(top) for name in names]
everything = "\n".join(read(path) for path in tree
                       if path.endswith((".c", ".h", ".S", ".def", ".cu", ".py", ".cc")))
# Functions of others, which the pages may mention.
THEIRS = {"malloc", "free", "cudaMemcpy", "cudaMalloc", "cudaFree", "munmap", "fork", "dlopen",
          "memcpy", "calloc", "madvise", "dlsym", "main"}
THEIR_FILES = ("cuda.h", "cudaTypedefs.h", "dlfcn.h")

for page in ["README.md", "src/README.md", "test/README.md", "test/standin/README.md"] + sorted(
        os.path.join("doc", name) for name in os.listdir("doc") if name.endswith(".md")):
    text = read(page)
    for name in sorted(set(re.findall(r"\b([a-z_][a-zA-Z0-9_]+)\(\)", text)) - THEIRS):
        if not re.search(r"\b%s\b" % name, everything):
            wrong.append("%s names %s(), which is nowhere" % (page, name))
    for name in sorted(set(re.findall(r"\bHOTPIN_[A-Z_]+\b", text))):
        if '"%s"' % name not in everything:
            wrong.append("%s names %s, which nobody reads" % (page, name))
    # A file is named by its path from the top or from src/, with its folder's name, or by its own
    # name.
    for name in sorted(set(re.findall(
            r"[\w./-]*\w\.(?:c|h|S|def|py|sh|map|cu|txt|json|svg|md|html)\b", text))):
        adjacent = os.path.join(os.path.dirname(page), name)
        found = os.path.exists(name) or os.path.exists(adjacent) or any(p.endswith("/" + name) for p in tree)
        # In an example, a profile or a script without a folder belongs to the reader.
        readers = "/" not in name and name.endswith((".json", ".html", ".py", ".sh", ".txt"))
        readers |= name.startswith("build/")
        made = "<!-- file: %s -->" % name in text
        if not found and name not in THEIR_FILES and not readers and not made:
            wrong.append("%s names %s, which is not there" % (page, name))
MEASUREMENTS = "doc/measurements.md"
anchors = re.findall(r'<a id="([\w-]+)">', read(MEASUREMENTS))
wrong += ["%s has the anchor %s twice" % (MEASUREMENTS, name)
          for name in sorted(set(anchors)) if anchors.count(name) > 1]
for path in tree + ["README.md", "CHANGELOG.md"]:
    for name in re.findall(r"measurements\.md#([\w-]+)", read(path)):
        if name not in anchors and name != "NAME":
            wrong.append("%s cites %s#%s, which is not there" % (path, MEASUREMENTS, name))
# If a page shows rows of another page's table, they must be equal.
for page in tree:
    if page.startswith("doc/") and page.endswith(".md"):
        for source, shown in re.findall(r"<!-- (\S+\.md) -->\n(.*?)<!-- end -->", read(page), re.S):
            rows = read(source).splitlines()
            wrong += ["%s has no longer the line that %s shows: %s" % (source, page, row)
                      for row in shown.splitlines() if row not in rows]
print("\n".join(wrong))
sys.exit(bool(wrong))
