#!/usr/bin/env python3
"""Writes the style sheet of a page as a C string, and the policy that allows it alone.

embed.py OUTPUT STYLE.css
"""
import base64
import hashlib
import json
import sys


def main():
    output, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        style = file.read()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    lines = "\n".join("\t" + json.dumps(line, ensure_ascii=False) for line in style.splitlines(keepends=True))
    with open(output, "w", encoding="utf-8") as file:
        file.write('#include "show/page/page.h"\n\n'
                   f"const char page_style[] =\n{lines};\n"
                   f"const char page_policy[] =\n\t\"default-src 'none'; style-src 'sha256-{digest}'\";\n")


main()
