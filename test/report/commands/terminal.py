#!/usr/bin/env python3
"""Draws doc/terminal.svg, a terminal that shows a report, or checks that hotpin still prints this
report.

    terminal.py HOTPIN              status 1 if the picture is out of date
    terminal.py HOTPIN --write      draws it

The report is that of a profile in doc/porting, recorded on an H200.
"""
import os
import re
import subprocess
import sys
from xml.sax.saxutils import escape

HOTPIN = os.path.abspath(sys.argv[1])
DOC = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3, "doc")
PICTURE = os.path.join(DOC, "terminal.svg")
PROFILE = "stage2-2.json"
COLUMNS, ADVANCE, LINE, FONT, PAD = 80, 7.8, 18, 13, 14
STYLE = """
text { font: %dpx ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d4d8dd; white-space: pre }
.page { fill: #16191d }
.dim { fill: #8b949e }
.head { font-weight: 700 }
.bar { fill: #f0883e }
""" % FONT


def printed():
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "COLUMNS": str(COLUMNS)}
    return subprocess.run([HOTPIN, "report", PROFILE], cwd=os.path.join(DOC, "porting"),
                          env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


def spans(line):
    """Yields (column, text, class) of each part of a line."""
    column, kind = 0, "head" if line.startswith(("     Next", "$ ")) else ""
    for part in re.split(r"(█+)", line):
        if part:
            yield column, part, "bar" if part[0] == "█" else kind
            column += len(part)


def picture(lines):
    width, height = 2 * PAD + COLUMNS * ADVANCE, 2 * PAD + LINE * len(lines)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 %g %g" role="img">' % (width, height),
           "<title>hotpin report of a half-ported program</title>", "<style>%s</style>" % STYLE,
           '<rect class="page" width="%g" height="%g" rx="8"/>' % (width, height)]
    for row, line in enumerate(lines):
        bottom = PAD + LINE * row + FONT
        for column, text, kind in spans(line):
            x = PAD + ADVANCE * column
            if kind == "bar":
                out.append('<rect class="bar" x="%.1f" y="%d" width="%.1f" height="%d"/>'
                           % (x, bottom - FONT + 3, ADVANCE * len(text), FONT - 2))
                continue
            left = len(text) - len(text.lstrip(" "))
            text = text.strip(" ")
            # The length is fixed, so that columns are aligned in any font.
            if text:
                out.append('<text%s x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>'
                           % (' class="%s"' % kind if kind else "", x + ADVANCE * left, bottom,
                              ADVANCE * len(text), escape(text)))
    return "\n".join(out + ["</svg>", ""])


wanted = picture(["$ hotpin report " + PROFILE] + printed())
if "--write" in sys.argv:
    with open(PICTURE, "w", encoding="utf-8") as file:
        file.write(wanted)
    sys.exit()
with open(PICTURE, encoding="utf-8") as file:
    told = file.read() == wanted
if not told:
    print("doc/terminal.svg is not what hotpin prints; test/report/commands/terminal.py HOTPIN --write mends it")
sys.exit(not told)
