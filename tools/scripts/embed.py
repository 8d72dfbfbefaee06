#!/usr/bin/env python3
"""Writes the style sheet and the script of a page as C strings, and the policy that allows them.

embed.py OUTPUT STYLE.css SCRIPT.js
"""
import base64
import hashlib
import json
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def source(text):
    """Returns 'sha256-..' of the text between the tags."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def literal(text):
    """Returns the text as C string literals, one for each line."""
    lines = text.splitlines(keepends=True) or [""]
    return "\n".join("\t" + json.dumps(line, ensure_ascii=False) for line in lines)


def main():
    output, style, script = sys.argv[1:]
    style = read(style)
    # A page is also well-formed XML, so "<" in a script needs CDATA.
    script = f"/*<![CDATA[*/\n{read(script)}/*]]>*/"
    policy = f"default-src 'none'; style-src {source(style)}; script-src {source(script)}"
    with open(output, "w", encoding="utf-8") as file:
        file.write('#include "show/page/page.h"\n\n')
        for name, text in (("style", style), ("script", script), ("policy", policy)):
            file.write(f"const char page_{name}[] =\n{literal(text)};\n")


main()
