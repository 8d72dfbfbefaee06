#!/usr/bin/env python3
"""code_only - copies C files without comments, directives and what is in quotes.

code_only.py FOLDER <FILES

Each file named on standard input gets a copy with the same name and the same lines in FOLDER.
Prints each // comment; the exit status is 1 if there is one.
"""
import pathlib
import re
import sys

TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""", re.DOTALL)
# The body of a macro, on the lines after the first, is code.
DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)


def blank(match):
    """Keeps only the quotes of a string, or the line breaks of a comment."""
    text = match[0]
    return text[0] * 2 if text[0] in "\"'" else "\n" * text.count("\n") or " "


def main():
    folder, found = pathlib.Path(sys.argv[1]), False
    for name in sys.stdin.read().split():
        text = pathlib.Path(name).read_text(encoding="utf-8")
        for token in TOKEN.finditer(text):
            if token[0].startswith("//"):
                found = True
                print(f"{name}:{text.count(chr(10), 0, token.start()) + 1}: {token[0]}")
        code = DIRECTIVE.sub("", TOKEN.sub(blank, text))
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(code, encoding="utf-8")
    return found


sys.exit(main())
