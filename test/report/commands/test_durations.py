#!/usr/bin/env python3
"""Tests tables of each kernel, copy and track of a timeline.  test_durations.py HOTPIN"""
import csv
import io
import re

import made
import tap
from made import MILLI
from tap import check, says, write

KERNEL, COPY, MEMSET, CALL, WAIT = range(5)
STREAM = {"kind": "stream", "device": 0, "context": 1, "stream": 7, "tid": None, "name": None}
THREAD = {**STREAM, "kind": "thread", "device": None, "context": None, "stream": None, "tid": 4711,
          "name": "heat"}
NAMES = ["copy h2d promoted", "h2d pinned", made.STEP, "wait"]


def table(name, *options):
    done = tap.run("csv", "-t", name, *options, "run.json")
    return list(csv.DictReader(io.StringIO(done.stdout)))


def each():
    """100 kernels of 1 to 100 us on two streams of one device, and one on another device."""
    second, other = {**STREAM, "stream": 8}, {**STREAM, "device": 1}
    rows = [[KERNEL, i % 2, i * MILLI, (i + 1) * 1000, 2, None, None] for i in range(100)]
    rows += [[KERNEL, 1, 0, 500, 2, None, None], [COPY, 2, 5, 70, 1, 900, None],
             [COPY, 2, 45, 50, 1, 100, None], [WAIT, 3, 7, 11, 3, None, None], [CALL, 3, 20, 9, 0, 900, 0]]
    result = made.events(rows, NAMES, [STREAM, second, other, THREAD])
    result["sites"] = made.first()["sites"]
    write("run.json", result)
    found = {row["name"]: row for row in table("durations")}
    kernel = found["heat_step(float const*, float*, int)"]
    check("least, median, 99th percentile and most", [kernel[name] for name in (
        "kind", "count", "least_ns", "median_ns", "p99_ns", "most_ns", "total_ns")] ==
          ["kernel", "101", "500", "50000", "99000", "100000", str(5050 * 1000 + 500)], kernel)
    check("copies, with bytes", [found["h2d pinned"][name] for name in ("count", "bytes", "median_ns")] ==
          ["2", "1000", "60"], found)
    rows = [[row[name] for name in ("track", "device", "stream", "tid", "kernels", "copies", "bytes", "busy_ns",
                                    "waits", "waits_ns")] for row in table("tracks")]
    check("by device, stream and thread", rows == [
        ["device", "0", "", "", "101", "0", "0", "5050000", "0", "0"],
        ["device", "1", "", "", "0", "2", "1000", "90", "0", "0"],
        ["stream", "0", "7", "", "50", "0", "0", "2500000", "0", "0"],
        ["stream", "0", "8", "", "51", "0", "0", "2550500", "0", "0"],
        ["stream", "1", "7", "", "0", "2", "1000", "90", "0", "0"],
        ["thread", "", "", "4711", "0", "1", "900", "20", "1", "11"]], "\n".join(map(str, rows)))
    text = " ".join(tap.run("report", "run.json").stdout.split())
    check("the report has both", "101 500 ns 50.0 us 99.0 us 100 us kernel heat_step(" in text and
          "stream 8, context 1" in text and "thread 4711" in text, text)
    write("run.json", made.first())
    for name in ("durations", "tracks", "events"):
        says(f"without a timeline there is no table {name}", 1, "no timeline in run.json", "csv", "-t", name, "run.json")


def without_a_name():
    """CUPTI may give a kernel no name."""
    made_one = made.events([[KERNEL, 0, 5, 40, 2, None, None]], NAMES, [STREAM])
    made_one["kernels"][0]["name"], made_one["events"]["names"][2] = None, ""
    write("unnamed.json", made_one)
    for words, expected in ((["report"], r" 1 .*kernel +\(no name\)"), (["csv", "-t", "durations"], r"\(no name\)"),
                            (["csv", "-t", "kernels"], r'\(no name\)",900000000,100,'),
                            (["trace"], '"name":"\\(no name\\)"'), (["html"], r"\(no name\)")):
        done = tap.run(*words, "unnamed.json")
        check(f"a kernel without a name: {' '.join(words)}", done.returncode == 0 and
              re.search(expected, done.stdout), done.returncode, done.stderr, done.stdout[:3000])


def main():
    each()
    without_a_name()
    tap.end()


main()
