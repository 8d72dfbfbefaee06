#!/usr/bin/env python3
"""Tests `hotpin report --csv`: that no cell is a formula to a spreadsheet, folded stacks, and refusals.
test_csv.py HOTPIN
"""
import csv
import io
import os

import made
import program
import tap
from tap import check, says, write

TABLES = ("summary", "copies", "sizes", "kernels", "launches", "sites", "buffers", "repeats", "ranges",
          "counters", "options", "calls", "gaps", "functions", "advice", "states", "lines")


def table(name, *profiles):
    """Returns its rows as dicts; each must have as many cells as the head."""
    files = [write(f"{i}.json", profile) for i, profile in enumerate(profiles)]
    done = tap.run("report", "--csv", name, *files)
    rows = list(csv.reader(io.StringIO(done.stdout), strict=True))
    check(f"{name}: every row is as long as the head", done.returncode == 0 and rows and
          all(len(row) == len(rows[0]) for row in rows) and len(set(rows[0])) == len(rows[0]),
          done.stderr, done.stdout[:2000])
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def harmless():
    for name in TABLES:
        rows = table(name, made.hostile(made.HOSTILE + ";=1+1"))
        bad = [cell for row in rows for cell in row.values()
               if cell[:1] in "=+-@\t\r" and cell or not tap.no_control(cell) or "\n" in cell]
        check(f"{name}: no formula, nothing that a terminal obeys", not bad, bad)
        # There only the first text of a line counts as quoted.
        done = tap.run("report", "--csv", name, "0.json")
        check(f"{name}: nor where semicolons separate", ";" not in done.stdout, done.stdout)
    odd = made.first()
    odd["kernels"] = [made.kernel(name, 1, 1) for name in
                      ("=1", " =1", "'=1", "\u3000=1", "＝1", "＠a", "\t=1", 'a"b,c\nd', "-1", "", "a", "a;=1")]
    rows = table("kernels", odd)
    check("however they begin", sorted(row["kernel"] for row in rows) == sorted([
        "'=1", "' =1", "''=1", "\u3000=1", "'＝1", "'＠a", "\\x09=1", 'a"b,c\\x0ad', "'-1", "(no name)",
        "a", "a\\x3b=1"]), rows)


def folded():
    """Stacks as flamegraph.pl and speedscope read them: names, a blank, a count."""
    done = tap.run("report", "--folded", write("sampled.json", made.sampled()))
    check("folded stacks, root first, equal ones summed up", done.stdout.splitlines() == [
        "[heat] 1", "[heat];[heat] 597", "[heat];[libcuda.so.580.159] 100",
        "[libcuda.so.580.159] 99", "[unknown] 199", "step in x.py;[heat];step in x.py 398"],
        done.stdout, done.stderr)
    binary = write("binary", program.elf({"_Z4stepPf": 0x1000, "main": 0x2000}))
    named = made.sampled()
    named["modules"][0] = {"path": os.path.join(tap.FOLDER.name, binary), "build_id": None}
    named["process"]["ended_utc"] = program.LATER
    named["samples"] = [{"frames": [made.frame(0, at), made.frame(0, 0x2011)], "first_thread": 3,
                         "other_threads": 4} for at in (0x1010, 0x1020)]
    done = tap.run("report", "--folded", write("named.json", named))
    check("functions by name, without their line", done.stdout == "main;step(float*) 14\n", done.stdout)
    done = tap.run("report", "--folded", "named.json", "sampled.json")
    check("of several files, below their names", done.stdout.startswith(
        "named.json;main;step(float*) 14\nsampled.json;[heat] 1\n"), done.stdout)
    evil = made.sampled()
    evil["samples"][0]["frames"] = [{"module": None, "offset": 1, "name": name} for name in
                                    ("a;b c", "\n9 8", "", made.HOSTILE, "x" * 5000)]
    done = tap.run("report", "--folded", write("evil.json", evil))
    check("a name is one frame, with any content", tap.no_control(done.stdout) and
          f"{'x' * 5000};" in done.stdout and ";[unknown];\\x0a9 8;a,b c 597\n" in done.stdout and
          all(line.rsplit(" ", 1)[1].isdigit() for line in done.stdout.splitlines()), done.stdout)
    for name, run, why in (("old", made.first(), ""), ("none", made.sampled(
            why="perf_event_paranoid is 3", mode="none"), ": perf_event_paranoid is 3")):
        run["samples"] = None
        done = says(f"no samples: {name}", 1, f"{name}.json has no samples of host code{why}$", "report",
                    "--folded", "-o", "out.folded", write(name + ".json", run))
        check("nothing is written", done.stdout == "" and
              not os.path.exists(os.path.join(tap.FOLDER.name, "out.folded")))
    says("some with samples", 0, "sampled.json;", "report", "--folded", "old.json", "sampled.json")
    says("to a file", 0, "", "report", "--folded", "-o", "out.folded", "named.json")
    check("which has them", tap.text_of(tap.path("out.folded")) == "main;step(float*) 14\n")
    says("folded is no table", 2, "--folded and --csv: choose one", "report", "--folded", "--csv", "sites", "old.json")


def refused():
    done = says("no such table", 2, "there is no table banana; there are:\n  summary\n", "report", "--csv", "banana", "0.json")
    for name in TABLES:
        check(f"{name} is offered", f"\n  {name}\n" in done.stderr, done.stderr)
    says("no table at all", 2, "--csv: its value is missing", "report", "0.json", "--csv")
    says("no file at all", 2, "-o: its value is missing", "report", "--folded", "0.json", "-o")
    says("an option that takes none", 2, "--all=3: this option takes no value", "report", "--all=3", "0.json")
    says("an unknown letter", 2, "-t: there is no such option", "report", "-at", "0.json")
    says("a file in its place", 2, "there is no table 0.json; there are:", "report", "--csv", "0.json")
    says("a file for what nobody writes to one", 2, "--out needs --csv or --folded", "report", "-o", "x", "0.json")


def main():
    harmless()
    folded()
    refused()
    tap.end()


main()
