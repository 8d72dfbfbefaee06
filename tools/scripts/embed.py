#!/usr/bin/env python3
"""Writes the style sheet and the scripts of a page as C strings, and the policy that allows them.

embed.py OUTPUT STYLE.css [SCRIPT.js ...]
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
    output, style, *scripts = sys.argv[1:]
    style = read(style)
    # A page is also well-formed XML, so "<" in a script needs CDATA.
    scripts = [f"/*<![CDATA[*/\n{read(path)}/*]]>*/" for path in scripts]
    policy = f"default-src 'none'; style-src {source(style)}"
    if scripts:
        policy += "; script-src " + " ".join(map(source, scripts))
    with open(output, "w", encoding="utf-8") as file:
        file.write('#include "show/page/page.h"\n\n#include <stddef.h>\n\n'
                   f"const char page_style[] =\n{literal(style)};\n"
                   f"const char page_policy[] =\n{literal(policy)};\n"
                   "const char *const page_scripts[] = {\n" +
                   "".join(literal(script) + ",\n" for script in scripts) + "\tNULL\n};\n")


main()
