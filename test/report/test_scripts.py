#!/usr/bin/env python3
"""Plays each event script of scripts/ and compares the profile with the rows that the script expects.

    test_scripts.py PLAY SCHEMA [SCRIPT...]

"Event scripts" in test/README.md describes the language.  A script that fails shows its lines that
differ.  Every profile is also compared with the schema.
"""
import json
import os
import re
import subprocess
import sys

import schema

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts")
UNITS = {"": 1, "ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "KiB": 2**10, "MiB": 2**20, "GB": 10**9}
# The words of an event that stand alone, those that a number or a letter follows, and all that play.c reads.
DIRECTIONS = ["h2d", "d2h", "d2d", "h2h", "p2p"]
MEMORIES = ["pageable", "promoted", "staged", "pinned", "device", "unknown"]
ALONE = {**{word: {"direction": at} for at, word in enumerate(DIRECTIONS)},
         **{word: {"memory": at} for at, word in enumerate(MEMORIES)},
         **{word: {word: 1} for word in ("async", "deferred", "strange", "shaped", "registered")},
         "captured": {"captured": 1, "launch": 1}, "graph": {"launch": 2},
         "untimed": {"from": -1, "to": -1}, "unended": {"to": -1}, "host": {}, "cupti": {}}
FOLLOWED = {"at": "at", "for": "took", "from": "place", **{word: word for word in ("id", "site", "in", "on", "block",
                                                                                  "gain", "route")}}
FIELDS = ["from", "to", "bytes", "direction", "memory", "launch", "async", "deferred", "captured", "strange", "shaped",
          "registered", "id", "site", "in", "on", "block", "gain", "route", "place"]
# The columns of a row of activity.bins.
BINS = ["host", "startup", "calls", "transfer", "kernel", "overlap", "h2d_bytes", "d2h_bytes", "calls"]


def number(text):
    """Returns the value of 200ms, 16MiB or 12; a letter is a place of calls; None for other words."""
    if re.fullmatch("[A-D]", text):
        return "ABCD".index(text)
    found = re.fullmatch(r"(-?\d+)([a-zA-Z]*)", text)
    return int(found[1]) * UNITS[found[2]] if found and found[2] in UNITS else None


def event(words, shift):
    """Returns an event as play.c reads it."""
    said, names = {"at": 0, "took": 0}, []
    words = iter(words)
    for word in words:
        if names and word in ALONE or word in ("host", "cupti"):
            said.update(ALONE[word])
        elif word in FOLLOWED:
            said[FOLLOWED[word]] = number(next(words))
        elif names and number(word) is not None:
            said["bytes"] = number(word)
        else:
            names.append(word)
    begin = said["at"] + shift
    said = {"from": begin, "to": begin + said["took"], **said}
    return " ".join([*names, "-"][:2] + [str(said.get(field, 0)) for field in FIELDS])


def events(lines, shift=0):
    """Yields the events of lines that are (indent, words), with the blocks of `thread` and `repeat N each TIME`."""
    at = 0
    while at < len(lines):
        indent, words = lines[at]
        end = next((i for i in range(at + 1, len(lines)) if lines[i][0] <= indent), len(lines))
        inner, at = lines[at + 1:end], end
        if words[0] == "thread":
            yield from ["thread", *events(inner, shift), "end"]
        elif words[0] == "repeat":
            for turn in range(number(words[1])):
                step = number(words[3]) if words[2:] else 0
                yield from events([(deep, [word.replace("%", str(turn)) for word in one]) for deep, one in inner],
                                  shift + turn * step)
        else:
            yield event(words, shift)


def rows_of(profile, path):
    """Returns the rows at a path like split or sites.rows; rows of numbers get names."""
    rows = [profile]
    for part in path.split("."):
        rows = [row.get(part) if row else None for row in rows]
        rows = [inner for row in rows for inner in (row if isinstance(row, list) else [row])]
    if path == "events":
        rows = [{**dict(zip(rows[0]["fields"], row)), "name": rows[0]["names"][row[4]].replace(" ", "_")} for row in rows[0]["rows"]]
    return [dict(zip(BINS, row)) if path == "activity.bins" else row for row in rows]


def value_of(row, key):
    for part in key.split("."):
        row = total([value_of(one, part) for one in row]) if isinstance(row, list) else (row or {}).get(part)
    return row


def total(values):
    """The value of several rows: their sum, or what they have in common."""
    if values and all(type(value) is int for value in values):
        return sum(values)
    return values[0] if values and all(value == values[0] for value in values) else "none" if not values else "various"


def as_text(value, wanted):
    """Returns a value as the script says it if they are equal."""
    text = value if isinstance(value, str) else json.dumps(value)[:200]
    return wanted if text == wanted or type(value) is int and value == number(wanted) else text


def found(line, profile, text):
    """Returns the expectation as it comes out."""
    says = re.fullmatch("(says|never says) (.*)", line)
    if says:
        is_there = says[2] in text or any(says[2] in warning for warning in profile["warnings"])
        return f"{'says' if is_there else 'never says'} {says[2]}"
    where, wanted = line.split(": ", 1)
    path, *filters = where.split()
    rows = rows_of(profile, path)
    for key, value in (word.split("=") for word in filters):
        rows = [row for row in rows if as_text(value_of(row, key), value) == value]
    pairs = [pair.split("=") for pair in wanted.split()]
    if len(pairs[0]) == 1:
        return f"{where}: {as_text(total(rows), wanted)}"
    got = {key: len(rows) if key == "rows" else total([value_of(row, key) for row in rows]) for key, _ in pairs}
    return f"{where}: " + " ".join(f"{key}={as_text(got[key], value)}" for key, value in pairs)


def with_places(value, places):
    """Replaces each list of frames by the letter of its innermost place, - if it has none."""
    if isinstance(value, list):
        return [with_places(one, places) for one in value]
    if not isinstance(value, dict):
        return value
    value = {key: with_places(one, places) for key, one in value.items()}
    if isinstance(value.get("frames"), list):
        offsets = [frame["offset"] for frame in value["frames"][:1]]
        begun = [place for place in places if offsets and place <= offsets[0] < place + 256]
        value["from"] = "ABCD"[places.index(max(begun))] if begun else "-"
    return value


def play(path, program, rules):
    """Returns the differences of the profile of a script."""
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip() for line in file if line.strip() and not line.startswith("#")]
    rows = [line[3:] for line in lines if line.startswith("=> ")]
    said = [line for line in lines if not line.startswith("=> ")]
    options = [line for line in said if re.match("[A-Z_]+=", line)]
    lines = [(len(line) - len(line.lstrip()), line.split()) for line in said if line not in options]
    text = "".join(line + "\n" for line in events(lines))
    done = subprocess.run([program, "HOTPIN_PROFILE=summary", *options], input=text, capture_output=True, text=True)
    parts = done.stdout.split("\f")
    if done.returncode != 0 or len(parts) != 3:
        return [f"play: exit status {done.returncode}", *done.stderr.splitlines()]
    profile = json.loads(parts[2])
    wrong = [*schema.errors(profile, rules), *schema.contradictions(profile)]
    profile = with_places(profile, [int(place) for place in parts[0].split()])
    for row in rows:
        got = found(row, profile, parts[1])
        wrong += [f"- {row}", f"+ {got}"] if got != row else []
    return wrong if rows else ["expects nothing"]


def main():
    scripts = sys.argv[3:] or sorted(os.path.join(FOLDER, name) for name in os.listdir(FOLDER))
    with open(sys.argv[2], encoding="utf-8") as file:
        rules = json.load(file)
    print(f"1..{len(scripts)}")
    failed = False
    for at, script in enumerate(scripts, 1):
        wrong = play(script, sys.argv[1], rules)
        failed |= wrong != []
        print(f"{'not ok' if wrong else 'ok'} {at} - {os.path.basename(script)}")
        print("".join(f"#   {line}\n" for line in wrong), end="", flush=True)
    return int(failed)


sys.exit(main())
