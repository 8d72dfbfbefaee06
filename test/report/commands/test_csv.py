#!/usr/bin/env python3
"""`hotpin csv`: every table, figure for figure, and no cell that a spreadsheet runs.  test_csv.py HOTPIN"""
import csv
import io
import os

import made
import tap
from tap import check, says, write

TABLES = ("summary", "transfers", "sizes", "kernels", "sites", "buffers", "stages", "counters",
          "calls", "events")


def table(name, *profiles):
    """Its rows as dicts; each must have as many cells as the head."""
    files = [write(f"{i}.json", profile) for i, profile in enumerate(profiles)]
    done = tap.run("csv", "--table", name, *files)
    rows = list(csv.reader(io.StringIO(done.stdout), strict=True))
    check(f"{name}: every row is as long as the head", done.returncode == 0 and rows and
          all(len(row) == len(rows[0]) for row in rows) and len(set(rows[0])) == len(rows[0]),
          done.stderr, done.stdout[:2000])
    return [dict(zip(rows[0], row)) for row in rows[1:]]


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
          rows[2]["kernel_runs"] == "" and rows[2]["cupti_pinned_bytes"] == "", rows[2])
    rows = table("transfers", first)
    check("transfers", [(row["view"], row["direction"], int(row["bytes"])) for row in rows] ==
          [(row["view"], row["direction"], row["bytes"]) for row in first["transfers"]], rows)
    check("of the other view, empty", rows[0]["host_ns"] == "" and rows[2]["busy_ns"] == "", rows)
    rows = table("sizes", first)
    check("sizes", [(int(row["from_bytes"]), int(row["count"])) for row in rows] ==
          [(4096, 100), (64 * made.MIB, 100), (128 * made.MIB, 100)], rows)
    rows = table("kernels", made.third())
    check("kernels", [(row["kernel"], row["busy_ns"]) for row in rows] == [
        ("heat_step(float const*, float*, int)", "900000000"),
        ("void heat::norm<float>(float const*, float*, int)", "1100000000")], rows)
    rows = table("sites", first)
    check("sites", [(row["module"], int(row["offset"]), row["host_ns"]) for row in rows] ==
          [("/nowhere/heat", 0x401f, "2900000000"), ("/nowhere/heat", 0x40ff, "2100000000")], rows)
    rows = table("buffers", first)
    check("buffers", [(row["kind"], row["could_save_ns"], row["largest_bytes"]) for row in rows] ==
          [("heap", "3200000000", "160000000"), ("static", "0", "")], rows)
    rows = table("stages", made.third())
    check("stages", [(row["range"], row["host_ns"]) for row in rows] ==
          [("set up", "600000000"), ("step", "")], rows)
    rows = table("events", made.hostile())
    check("events", [(row["start_ns"], row["duration_ns"], row["kind"]) for row in rows] ==
          [("1000", "50", "copy call")], rows)
    counted = {**first, "counters": {"b": 2, "a": 1}}
    check("counters, in their order", [(row["counter"], row["count"]) for row in
                                       table("counters", counted)] == [("b", "2"), ("a", "1")])
    check("no calls, no rows", table("calls", {**first, "calls": None}) == [])
    check("calls", [(row["call"], row["class"], row["total_ns"]) for row in
                    table("calls", first)][:2] == [("cuInit", "start_up", "100000000"),
                                                   ("cuLaunchKernel", "launch", "5000000")])


def harmless():
    for name in TABLES:
        rows = table(name, made.hostile())
        bad = [cell for row in rows for cell in row.values()
               if cell[:1] in "=+-@\t\r" and cell or not tap.no_control(cell) or "\n" in cell]
        check(f"{name}: no formula, nothing that a terminal obeys", not bad, bad)
    odd = made.first()
    odd["kernels"] = [made.kernel(name, 1, 1) for name in
                      ("=1", " =1", "'=1", "\u3000=1", "＝1", "＠a", "\t=1", 'a"b,c\nd', "-1", "", "a")]
    rows = table("kernels", odd)
    check("however they begin", [row["kernel"] for row in rows] == [
        "'=1", "' =1", "''=1", "\u3000=1", "'＝1", "'＠a", "\\x09=1", 'a"b,c\\x0ad', "'-1", "",
        "a"], rows)


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
    says("not over what it reads", 1, "written over what is read", "csv", "-o", "0.json", "0.json")


def main():
    figures()
    harmless()
    refused()
    tap.end()


main()
