#!/usr/bin/env python3
"""Tests `hotpin csv`: every figure of every table, and that no cell is a formula to a spreadsheet.
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
          "counters", "options", "calls", "gaps", "functions", "bounds", "advice", "events")


def table(name, *profiles):
    """Returns its rows as dicts; each must have as many cells as the head."""
    files = [write(f"{i}.json", profile) for i, profile in enumerate(profiles)]
    done = tap.run("csv", "--table", name, *files)
    rows = list(csv.reader(io.StringIO(done.stdout), strict=True))
    check(f"{name}: every row is as long as the head", done.returncode == 0 and rows and
          all(len(row) == len(rows[0]) for row in rows) and len(set(rows[0])) == len(rows[0]),
          done.stderr, done.stdout[:2000])
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def slot(row, column):
    """Returns the dict that has the figure of a column, and its name there."""
    for part in ("h2d", "d2h"):
        if isinstance(row.get(part), dict) and column.startswith(part + "_"):
            return row[part], column[len(part) + 1:]
    if isinstance(row.get("split"), dict) and column in row["split"]:
        return row["split"], column
    return row, column


def exact(name, profile, rows, columns):
    """Gives each figure of the table a value of its own, and looks for it in its column."""
    wanted = []
    for number, row in enumerate(rows):
        wanted.append([])
        for column in columns:
            where, key = slot(row, column)
            if where.get(key) is not None:
                where[key] = 1000 * (number + 1) + len(wanted[-1])
            wanted[-1].append("" if where.get(key) is None else str(where[key]))
    got = [[row[column] for column in columns] for row in table(name, profile)]
    check(f"{name}: each figure in its column", sorted(got) == sorted(wanted), got, wanted)


def columns():
    first, third = made.first(), made.third()
    exact("copies", first, first["transfers"], ("count", "bytes", "busy_ns", "host_ns", "sync_count",
                                                "sync_bytes", "sync_ns"))
    sizes = [size for row in first["transfers"] for size in row.get("sizes", [])]
    exact("sizes", first, sizes, ("count", "bytes", "busy_ns"))
    exact("kernels", third, third["kernels"], ("count", "busy_ns", "longest_ns"))
    exact("sites", first, [row for site in first["sites"] for row in site["rows"]],
          ("count", "bytes", "host_ns"))
    exact("buffers", first, first["buffers"], (
        "largest_bytes", "h2d_count", "h2d_bytes", "h2d_host_ns", "d2h_count", "d2h_bytes",
        "d2h_host_ns", "promoted_bytes", "pins", "pin_ns", "saved_ns", "could_save_ns"))
    exact("ranges", third, third["ranges"], (
        "entered", "wall_ns", "host_ns", "startup_ns", "calls_ns", "transfer_ns", "kernel_ns",
        "overlap_ns", "h2d_bytes", "d2h_bytes", "launches"))
    exact("calls", first, first["calls"], ("count", "total_ns", "longest_ns"))


def figures():
    first, blind = made.first(), made.without_device()
    rows = table("summary", first, made.second(), blind)
    check("a row for each file", [row["stage"] for row in rows] ==
          ["1: one kernel", "2: the same, pinned", "3: all kernels"], rows)
    split = first["split"]
    check("the split", [int(rows[0][name]) for name in split] == list(split.values()) and
          rows[0]["wall_ns"] == "12000000000" and rows[0]["h2d_bytes"] == "24000000000" and
          rows[0]["d2h_ns"] == "1600000000", rows[0])
    check("what is unknown is empty, not 0", rows[2]["host_ns"] == "" and
          rows[2]["kernel_busy_ns"] == "" and rows[2]["h2d_bytes_per_s"] == "", rows[2])
    check("rates are bytes per second", rows[0]["h2d_bytes_per_s"] == "10000000000", rows[0])
    rows = table("copies", first)
    check("copies", [(row["view"], row["direction"], int(row["bytes"])) for row in rows] ==
          [(row["view"], row["direction"], row["bytes"]) for row in first["transfers"]], rows)
    check("of the other view, empty", rows[0]["host_ns"] == "" and rows[2]["busy_ns"] == "", rows)
    rows = table("sizes", first)
    check("sizes", [(int(row["from_bytes"]), int(row["count"])) for row in rows] ==
          [(4096, 100), (64 * made.MIB, 100), (128 * made.MIB, 100)], rows)
    rows = table("kernels", made.third())
    check("kernels, most time first as in a report", [(row["kernel"], row["busy_ns"]) for row in rows] == [
        ("void heat::norm<float>(float const*, float*, int)", "1100000000"),
        ("heat_step(float const*, float*, int)", "900000000")], rows)
    rows = table("sites", first)
    check("sites", [(row["module"], int(row["offset"]), row["host_ns"]) for row in rows] ==
          [("/nowhere/heat", 0x401f, "2900000000"), ("/nowhere/heat", 0x40ff, "2100000000")], rows)
    rows = table("buffers", first)
    check("buffers", [(row["kind"], row["could_save_ns"], row["largest_bytes"]) for row in rows] ==
          [("heap", "3200000000", "160000000"), ("static", "0", "")], rows)
    rows = table("ranges", made.third())
    check("ranges", [(row["range"], row["host_ns"]) for row in rows] ==
          [("set up", "600000000"), ("step", "")], rows)
    rows = table("events", made.hostile())
    check("events", [(row["start_ns"], row["duration_ns"], row["kind"]) for row in rows] ==
          [("1000", "50", "copy call")], rows)
    counted = {**first, "counters": {"b": 2, "a": 1}}
    check("counters, in their order", [(row["counter"], row["count"]) for row in
                                       table("counters", counted)] == [("b", "2"), ("a", "1")])
    launched = {"frames": [made.frame(0, 0x401f)], "count": 5, "host_ns": 7, "kernels": 4, "device_ns": 9,
                "estimated_ns": 0}
    rows = table("launches", {**first, "launches": [launched]})
    check("kernel time by place of launch", [(row["offset"], row["device_ns"], row["kernels"], row["host_ns"])
                                             for row in rows] == [(str(0x401e), "9", "4", "7")], rows)
    check("no calls, no rows", table("calls", {**first, "calls": None}) == [])
    check("calls", [(row["call"], row["class"], row["total_ns"]) for row in
                    table("calls", first)][1:3] == [("cuInit", "start_up", "100000000"),
                                                    ("cuLaunchKernel", "launch", "5000000")])


def harmless():
    for name in TABLES:
        rows = table(name, made.hostile(made.HOSTILE + ";=1+1"))
        bad = [cell for row in rows for cell in row.values()
               if cell[:1] in "=+-@\t\r" and cell or not tap.no_control(cell) or "\n" in cell]
        check(f"{name}: no formula, nothing that a terminal obeys", not bad, bad)
        # There only the first text of a line counts as quoted.
        done = tap.run("csv", "--table", name, "0.json")
        check(f"{name}: nor where semicolons separate", ";" not in done.stdout, done.stdout)
    odd = made.first()
    odd["kernels"] = [made.kernel(name, 1, 1) for name in
                      ("=1", " =1", "'=1", "\u3000=1", "＝1", "＠a", "\t=1", 'a"b,c\nd', "-1", "", "a", "a;=1")]
    rows = table("kernels", odd)
    check("however they begin", sorted(row["kernel"] for row in rows) == sorted([
        "'=1", "' =1", "''=1", "\u3000=1", "'＝1", "'＠a", "\\x09=1", 'a"b,c\\x0ad', "'-1", "",
        "a", "a\\x3b=1"]), rows)


def folded():
    """Stacks as flamegraph.pl and speedscope read them: names, a blank, a count."""
    done = tap.run("csv", "--folded", write("sampled.json", made.sampled()))
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
    done = tap.run("csv", "--folded", write("named.json", named))
    check("functions by name, without their line", done.stdout == "main;step(float*) 14\n", done.stdout)
    done = tap.run("csv", "--folded", "named.json", "sampled.json")
    check("of several files, below their names", done.stdout.startswith(
        "named.json;main;step(float*) 14\nsampled.json;[heat] 1\n"), done.stdout)
    evil = made.sampled()
    evil["samples"][0]["frames"] = [{"module": None, "offset": 1, "name": name} for name in
                                    ("a;b c", "\n9 8", "", made.HOSTILE, "x" * 5000)]
    done = tap.run("csv", "--folded", write("evil.json", evil))
    check("a name is one frame, with any content", tap.no_control(done.stdout) and
          f"{'x' * 5000};" in done.stdout and ";[unknown];\\x0a9 8;a,b c 597\n" in done.stdout and
          all(line.rsplit(" ", 1)[1].isdigit() for line in done.stdout.splitlines()), done.stdout)
    for name, run, why in (("old", made.first(), ""), ("none", made.sampled(
            why="perf_event_paranoid is 3", mode="none"), ": perf_event_paranoid is 3")):
        run["samples"] = None
        done = says(f"no samples: {name}", 1, f"{name}.json has no samples of host code{why}$", "csv",
                    "--folded", "-o", "out.folded", write(name + ".json", run))
        check("nothing is written", done.stdout == "" and
              not os.path.exists(os.path.join(tap.FOLDER.name, "out.folded")))
    says("some with samples", 0, "sampled.json;", "csv", "--folded", "old.json", "sampled.json")
    says("to a file", 0, "", "csv", "--folded", "-o", "out.folded", "named.json")
    with open(os.path.join(tap.FOLDER.name, "out.folded"), encoding="utf-8") as file:
        check("which has them", file.read() == "main;step(float*) 14\n")
    says("folded is no table", 2, "^usage: hotpin csv", "csv", "--folded", "-t", "sites", "old.json")


def refused():
    says("no such table", 2, "there is no table banana", "csv", "--table", "banana", "0.json")
    says("no file", 2, "^usage: hotpin csv", "csv")
    says("a bad file", 1, "cannot read nothing.json", "csv", "nothing.json")
    says("what cannot be written is not read", 1, "^hotpin: cannot write no/x: No such file[^\\n]*\\n$",
         "csv", "-o", "no/x", "nothing.json")
    before = sorted(os.listdir(tap.FOLDER.name))
    says("nor is anything left of what cannot be read", 1, "cannot read nothing.json",
         "csv", "-o", "new.out", "nothing.json")
    check("in the folder", sorted(os.listdir(tap.FOLDER.name)) == before, before)
    says("a full disk", 1, "cannot write /dev/full", "csv", "-o", "/dev/full", "0.json")
    says("not over what it reads", 1, "is also read, so it cannot be written", "csv", "-o", "0.json", "0.json")


def no_timeline():
    done = says("events without a timeline are no table", 1, "no timeline in plain.json; run",
                "csv", "-t", "events", write("plain.json", made.first()))
    check("not even a header", done.stdout == "", done.stdout)


def main():
    no_timeline()
    figures()
    columns()
    harmless()
    folded()
    refused()
    tap.end()


main()
