#!/usr/bin/env python3
"""Checks the links of the manual, and the form of its pages.

    links.py ROOT               the pages of a source tree
    links.py --installed DOC    links of the pages that `meson install` put into DOC

A link must lead to an existing file and to an anchor in it: a heading as GitHub names it, or an
`<a id=..>`.  Each page of doc/ states its readers at the top, and doc/README.md links it.  A row of
README.md's table of gains may only have figures of the page that the row links.
"""
import glob
import os
import re
import sys

installed = sys.argv[1] == "--installed"
root = os.path.abspath(sys.argv[-1])
wrong = []
os.chdir(root)


def read(path):
    with open(path, encoding="utf-8") as page:
        return page.read()


def prose(text):
    """Returns the text without code, in which brackets have other meanings."""
    text = re.sub(r"^```.*?^```$|^    .*$", "", text, flags=re.S | re.M) if "```" in text else \
        re.sub(r"^    .*$", "", text, flags=re.M)
    return re.sub(r"`[^`]*`", lambda code: re.sub(r"[\[\]()]", "", code[0]), text)


def anchors(path):
    """Returns anchors of headings as GitHub makes them, and explicit ones."""
    text, found = read(path), set()
    for heading in re.findall(r"^#+ +(.*)$", text, re.M):
        heading = re.sub(r"<[^>]*>|\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = sum(other == name or other.startswith(name + "-") and other[len(name) + 1:].isdigit()
                    for other in found)
        found.add(name if count == 0 else "%s-%d" % (name, count))
    return found | set(re.findall(r'<a id="([\w-]+)">', text))


def links(page):
    """Returns (target file, anchor or None) of each link within the tree."""
    text = prose(read(page))
    for target in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'<(?:img src|a href)="([^"]+)"', text):
        if not re.match(r"\w+:", target):
            file, _, anchor = target.partition("#")
            yield os.path.normpath(os.path.join(os.path.dirname(page), file) if file else page), anchor


pages = ["README.md"] + sorted(glob.glob("doc/*.md"))
if not installed:
    pages += ["CHANGELOG.md", "src/README.md", "test/README.md", "test/standin/README.md"]
for page in pages:
    for file, anchor in links(page):
        if not os.path.exists(file):
            wrong.append("%s links %s, which is not there" % (page, file))
        elif anchor and anchor not in anchors(file):
            wrong.append("%s links %s#%s, which is not there" % (page, file, anchor))
if not installed:
    indexed = {file for file, _ in links("doc/README.md")}
    for page in sorted(glob.glob("doc/*.md")):
        if page not in indexed | {"doc/README.md"}:
            wrong.append("doc/README.md does not link " + page)
        if not re.match(r"# .+\n\nFor ", read(page)):
            wrong.append("%s does not say at its head whom it is for: `For ..`" % page)
    table = re.findall(r"^\| (.*\]\(.*) \|$", read("README.md"), re.M)
    gains = [row.split(" | ") for row in table if "hotpin" not in row.split(" | ")[1]]
    for what, *figures in (row for row in gains if len(row) == 5):
        source = re.search(r"\]\(([^)#]+)", what)[1]
        for figure in figures[:2]:
            if not re.search(r"(?<![\d.])%s(?![\d.])" % re.escape(figure), read(source)):
                wrong.append("README.md: %s is not in %s" % (figure, source))
    if not gains:
        wrong.append("README.md has no table of gains")
print("\n".join(wrong))
sys.exit(bool(wrong))
