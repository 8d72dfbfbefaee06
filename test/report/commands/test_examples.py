#!/usr/bin/env python3
"""Checks that the made-up profiles are as the library writes them, and that every command reads
real ones.

    test_examples.py HOTPIN
"""
import csv
import glob
import io
import json
import os
import sys
import xml.etree.ElementTree

import made
import tap
from tap import check

sys.path.insert(0, os.path.dirname(tap.HERE))
import schema  # pylint: disable=wrong-import-position


def sound():
    with open(tap.SCHEMA, encoding="utf-8") as file:
        rules = json.load(file)
    for name in ("first", "second", "third", "without_device"):
        profile = getattr(made, name)()
        found = [*schema.errors(profile, rules), *schema.contradictions(profile)]
        check(f"made.{name} follows the schema", not found, "\n".join(found[:9]))


def taken():
    examples = sorted(glob.glob(os.path.join(os.path.dirname(tap.HERE), "example_*.json")))
    check("there are examples", len(examples) > 1)
    for path in examples:
        name = os.path.basename(path)
        with open(path, encoding="utf-8") as file:
            profile = json.load(file)
        done = tap.run("report", "--all", path)
        check(f"report {name}", done.returncode == 0 and tap.no_control(done.stdout) and
              "\n  Wall time" in done.stdout, done.stderr)
        done = tap.run("annotate", path)
        check(f"annotate {name}", done.returncode == 1 and (
            "no source line" in done.stderr or "has neither" in done.stderr), done.stderr)
        done = tap.run("html", path)
        xml.etree.ElementTree.fromstring(done.stdout.encode())
        check(f"html {name}", done.returncode == 0 and tap.no_control(done.stdout), done.stderr)
        done = tap.run("trace", path)
        if profile.get("events"):
            slices = [event for event in json.loads(done.stdout)["traceEvents"]
                      if event["ph"] == "X"]
            check(f"trace {name}", len(slices) == len(profile["events"]["rows"]), done.stderr)
        else:
            check(f"trace {name}", done.returncode == 1 and "no timeline" in done.stderr)
        for table in ("summary", "copies", "sites", "buffers",
                      *(["events"] if profile.get("events") else [])):
            done = tap.run("csv", "--table", table, path)
            rows = list(csv.reader(io.StringIO(done.stdout), strict=True))
            lacking = table == "events" and not profile.get("events")
            check(f"csv {table} {name}", done.returncode == lacking and
                  all(len(row) == len(rows[0]) for row in rows), done.stderr)
    done = tap.run("compare", "--force", *examples)
    check("compare them all", done.returncode in (0, 3) and "Changes are against" in done.stdout, done.stderr)


def main():
    sound()
    taken()
    tap.end()


main()
