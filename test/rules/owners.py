#!/usr/bin/env python3
"""Checks that a header x.h declares functions and variables of x.c or x_*.c only.  owners.py ROOT

A header without functions needs no .c file.  Inline functions belong to the header.  x.S may
replace x.c.
"""
import pathlib
import re
import sys

# The rooms in which the rule is checked.
ENFORCED = ["base", "heap", "pin", "stage", "trace", "engine", "shim"]

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", re.MULTILINE)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
BODY = re.compile(r"\{[^{}]*\}")
FUNCTION = re.compile(r"\b(\w+)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*$")
MACROS = re.compile(r"(?: [A-Z][A-Z0-9_]+)+$")
GLOBAL = re.compile(r"^\s*\.globl\s+(\w+)$", re.MULTILINE)
VARIABLE = re.compile(r"\b(\w+)\s*(?:\[[^\]]*\])*\s*$")


def statements(text):
    """Returns the declarations and definitions of a file as strings, with bodies as `{}`."""
    for pattern in (COMMENT, DIRECTIVE, ATTRIBUTE):
        text = pattern.sub(" ", text)
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', "0", text)
    while BODY.search(text):
        text = BODY.sub("\x00", text)
    # A function ends with its body; a struct or an initializer continues to the semicolon.
    for part in re.split(r"(?<=\))\s*\x00|;", text):
        part = part.replace("\x00", "{}").strip()
        if part:
            yield " ".join(part.split())


def is_private(statement):
    return statement.startswith(("static", "typedef", "_Static_assert"))


def declared(text):
    """Returns functions and extern variables that a header declares and does not define."""
    for statement in statements(text):
        if is_private(statement):
            continue
        found = FUNCTION.search(statement)
        if not found and statement.startswith("extern"):
            found = VARIABLE.search(statement)
        if found:
            yield found.group(1)


def defined(text):
    """Returns names that a .c file defines for others."""
    for statement in statements(text):
        if is_private(statement) or statement.startswith("extern"):
            continue
        head = MACROS.sub("", re.split(r"\s=\s", statement)[0])
        found = FUNCTION.search(head) or VARIABLE.search(head)
        if found:
            yield found.group(1)


def read_owners(sources):
    owners = {}
    for path in sorted(sources.rglob("*.c")):
        for name in defined(path.read_text(encoding="utf-8")):
            owners.setdefault(name, set()).add(path)
    for path in sorted(sources.rglob("*.S")):
        for name in GLOBAL.findall(path.read_text(encoding="utf-8")):
            owners.setdefault(name, set()).add(path)
    return owners


def complaints(header, owners):
    """Yields names that the header declares and its own .c files do not define."""
    own = {header.with_suffix(".c"), header.with_suffix(".S"),
           *header.parent.glob(f"{header.stem}_*.c")}
    for name in declared(header.read_text(encoding="utf-8")):
        files = owners.get(name, set())
        if not own & files:
            where = ", ".join(sorted(path.name for path in files)) or "no file"
            yield f"{header}: {name} is defined in {where}, not in {header.stem}.c"


def main():
    sources = pathlib.Path(sys.argv[1]) / "src"
    owners = read_owners(sources)
    headers = [path for room in ENFORCED for path in sorted((sources / room).rglob("*.h"))]
    wrong = [line for header in headers for line in complaints(header, owners)]
    names = sum(len(list(declared(path.read_text(encoding="utf-8")))) for path in headers)
    print("\n".join(wrong) if wrong else f"{names} names in {len(headers)} headers")
    return bool(wrong) or names == 0


if __name__ == "__main__":
    sys.exit(main())
