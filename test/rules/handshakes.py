#!/usr/bin/env python3
"""Checks that the lock-free protocols of lock.def exist where it says.  handshakes.py ROOT

Each side of a HANDSHAKE names a file of src, a function that is defined there, and words that its
body contains in this order: what it writes, what it reads.  The function must access neither with
relaxed memory order.
"""
import os
import re
import sys

root = sys.argv[1]
problems = []
SIDES = [
    re.compile(r"(?P<file>[\w/.]+): (?P<function>\w+) writes (?P<writes>\w+), looks at (?P<looks>\w+)"),
    re.compile(r"(?P<file>[\w/.]+): (?P<function>\w+) writes (?P<writes>\w+), its caller looks"),
    re.compile(r"(?P<file>[\w/.]+): (?P<function>\w+) looks at (?P<looks>\w+), its caller wrote"),
]


def strings(text):
    """Returns name -> the strings of each HANDSHAKE."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    for name, rest in re.findall(r"^HANDSHAKE\((\w+),((?:\s*\"[^\"]*\",?)+)\)", text, re.M):
        yield name, re.findall(r'"([^"]*)"', rest)


def body(path, function):
    """Returns the function's body; None if the file does not define it."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    found = re.search(r"^[^\s#}][^;{}]*\b%s\([^;{}]*\)\n\{\n(.*?)^\}" % function, text,
                      re.M | re.DOTALL)
    return found and found[1]


def check(name, side):
    """Checks one side of one protocol."""
    parts = next((found.groupdict() for form in SIDES if (found := form.fullmatch(side))), None)
    if parts is None:
        problems.append(f"{name}: '{side}' is no side")
        return
    path = os.path.join(root, "src", parts["file"])
    if not os.path.exists(path):
        problems.append(f"{name}: there is no src/{parts['file']}")
        return
    function = parts["function"]
    does = body(path, function)
    if does is None:
        problems.append(f"{name}: src/{parts['file']} does not define {function}()")
        return
    at = 0
    for word in filter(None, (parts.get("writes"), parts.get("looks"))):
        found = re.compile(r"\b%s\b" % word).search(does, at)
        if found is None:
            problems.append(f"{name}: {function}() has no {word}, or not in this order")
        else:
            at = found.end()
        if re.search(r"_explicit\(&[^,;]*\b%s\b[^;]*memory_order_relaxed" % word, does):
            problems.append(f"{name}: {function}() touches {word} relaxed")


with open(os.path.join(root, "src/base/lock.def"), encoding="utf-8") as listed:
    handshakes = list(strings(listed.read()))
for name, parts in handshakes:
    if len(parts) != 3:
        problems.append(f"{name}: two sides, and what must hold")
        continue
    for side in parts[:2]:
        check(name, side)
for problem in problems:
    print(problem)
if not handshakes:
    sys.exit("no HANDSHAKE found in lock.def")
print(f"{len(handshakes)} protocols")
sys.exit(1 if problems else 0)
