#!/usr/bin/env python3
"""Tests parts of a run, and tables of each kernel and copy, from timelines.  test_parts.py HOTPIN"""
import csv
import io
import json
import re

import made
import tap
from chrome_trace import faults, load
from made import MILLI
from tap import check, says, write

KERNEL, COPY, MEMSET, CALL, WAIT, STAGE, API, OWN = range(8)
STREAM = {"kind": "stream", "device": 0, "context": 1, "stream": 7, "tid": None, "name": None}
THREAD = {**STREAM, "kind": "thread", "device": None, "context": None, "stream": None, "tid": 4711,
          "name": "heat"}
STAGES = {**THREAD, "kind": "stages", "tid": None, "name": None}
NAMES = ["copy h2d promoted", "h2d pinned", made.STEP, "wait", "step", "cuInit", "cuLaunchKernel", "memset"]


def profile():
    """Start-up of 90 ms, then three steps of 100 ms at 100, 200 and 300 ms: a copy of 20, a kernel
    of 40 of which 10 overlap the copy, a wait for both, and 30 ms of host code."""
    rows = [[API, 1, 0, 90 * MILLI, 5, None, None, None, None]]
    for step in range(3):
        at = (100 + 100 * step) * MILLI
        rows += [[STAGE, 2, at, 100 * MILLI, 4, None, None, None, None],
                 [CALL, 1, at, 5 * MILLI, 0, 1_000_000, 0, 0, 1],
                 [COPY, 0, at + 5 * MILLI, 20 * MILLI, 1, 1_000_000, None, None, None],
                 [API, 1, at + 6 * MILLI, 2 * MILLI, 6, None, None, None, None],
                 [KERNEL, 0, at + 15 * MILLI, 40 * MILLI, 2, None, None, None, None],
                 [WAIT, 1, at + 10 * MILLI, 60 * MILLI, 3, None, None, None, None]]
    result = made.events(rows, NAMES, [STREAM, THREAD, STAGES])
    result["wall_ns"] = 420 * MILLI
    result["sites"] = [{"frames": made.first()["sites"][0]["frames"], "folded": False, "transfers": [
        {"direction": "h2d", "memory": "promoted", "count": 3, "bytes": 3_000_000, "host_ns": 15 * MILLI,
         "sync_count": 3, "sync_ns": 15 * MILLI}]}]
    result["buffers"] = made.first()["buffers"]
    result["python_samples"] = [{"python": [{"file": "/home/me/heat.py", "function": "step", "line": 3}],
                                 "samples": 20, "cpu_ns": 200 * MILLI}]
    result["launches"] = [{"frames": [], "count": 3, "host_ns": 6 * MILLI}]
    result["events"]["routes"] = ["unknown", "pass"]
    result["events"]["fields"][7:] = ["detail", "route"]
    return result


def report(*options):
    done = tap.run("report", "--json", *options, "run.json")
    if done.returncode != 0:
        check(f"{options}: a report", False, done.stderr)
        return {}
    return json.loads(done.stdout)["runs"][0]


def split_ms(run):
    return {name[:-3]: value // MILLI for name, value in run["split"].items() if value}


def runs(run):
    return [(kernel["count"], kernel["busy_ns"]) for kernel in run["kernels"]]


def parts():
    write("run.json", profile())
    whole = report("--from", "0")
    check("all of it, from the timeline", whole["wall_ns"] == 420 * MILLI and split_ms(whole) == {
        "startup": 90, "calls": 60, "transfer": 30, "overlap": 30, "kernel": 90, "host": 120},
          split_ms(whole))
    one = report("--from", "200ms", "--to", "0.3")
    check("one step", one["wall_ns"] == 100 * MILLI and split_ms(one) == {
        "calls": 20, "transfer": 10, "overlap": 10, "kernel": 30, "host": 30}, split_ms(one))
    rows = {(row["view"], row["direction"]): row for row in one["copies"]}
    check("its copy", [rows["cupti", "h2d"][name] for name in ("count", "bytes", "busy_ns")] ==
          [1, 1_000_000, 20 * MILLI] and ("cupti", "d2h") not in rows and
          rows["hotpin", "h2d"]["host_ns"] == 5 * MILLI, rows)
    check("its kernel and wait", runs(one) == [(1, 40 * MILLI)] and one["host"]["waits"] == 1 and
          one["host"]["waits_ns"] == 60 * MILLI and one["host"]["launches"] == 1, one["kernels"])
    half = report("--from", "230ms", "--to", "240ms")
    check("what began before counts as time, not as a run", split_ms(half) == {"kernel": 10} and
          runs(half) == [(0, 10 * MILLI)], half["split"], half["kernels"])
    check("what a timeline does not tell is unknown",
          one["calls"] is one["gaps"] is None and not one["samples"] and
          one["host"]["copying_ns"] is None, one["host"], one["calls"], one["gaps"], one["samples"])
    check("nor are launches by place", one["launches"] is None, one["launches"])
    check("nor is CPU time by Python line", "python_lines" not in one, one.get("python_lines"))
    steps = report("--range", "step")
    check("every time in a range", steps["wall_ns"] == 300 * MILLI and split_ms(steps) == {
        name: 3 * ms for name, ms in split_ms(one).items()}, split_ms(steps))
    later = report("--range", "step", "--steady")
    check("but the first", later["wall_ns"] == 200 * MILLI and runs(later) == [(2, 80 * MILLI)],
          later["kernels"])
    steady = report("--steady")
    check("from the second turn on", steady["wall_ns"] == 220 * MILLI and
          runs(steady) == [(2, 80 * MILLI)] and "startup" not in split_ms(steady), split_ms(steady))
    done = tap.run("report", "--from", "0.2", "run.json")
    check("a note says which part", "a part of the run of 420 ms: from 200 ms to 420 ms, in 1 piece" in
          " ".join(done.stdout.split()), done.stdout)


def commands():
    done = tap.run("trace", "--from", "200ms", "--to", "300ms", "run.json")
    slices = [event for event in load(done.stdout)["traceEvents"] if event["ph"] == "X"]
    check("trace", len(slices) == 6 and not list(faults(done.stdout)), slices, done.stderr)
    rows = list(csv.DictReader(io.StringIO(tap.run("csv", "-t", "kernels", "--range", "step",
                                                   "run.json").stdout)))
    check("csv", [(row["count"], row["busy_ns"]) for row in rows] == [("3", str(120 * MILLI))], rows)
    done = tap.run("html", "--steady", "run.json")
    check("html", done.returncode == 0 and "a part of the run of 420 ms" in done.stdout, done.stderr)


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
    check("the report has both", "kernel 101 500 ns 50.0 us 99.0 us 100 us heat_step(" in text and
          "stream 8, context 1" in text and "thread 4711" in text, text)
    write("run.json", made.first())
    for name in ("durations", "tracks", "events"):
        says(f"without a timeline there is no table {name}", 1, "no timeline in run.json", "csv", "-t", name, "run.json")


def without_a_name():
    """CUPTI may give a kernel no name."""
    made_one = profile()
    made_one["kernels"][0]["name"], made_one["events"]["names"][2] = None, ""
    write("unnamed.json", made_one)
    for words, expected in ((["report"], r"kernel +3 .*\(no name\)"), (["csv", "-t", "durations"], r"\(no name\)"),
                            (["csv", "-t", "kernels", "--from", "200ms"], r'\(no name\)",2,'),
                            (["trace"], '"name":"\\(no name\\)"'), (["html"], r"\(no name\)")):
        done = tap.run(*words, "unnamed.json")
        check(f"a kernel without a name: {' '.join(words)}", done.returncode == 0 and
              re.search(expected, done.stdout), done.returncode, done.stderr, done.stdout[:3000])


def refused():
    says("no timeline", 1, "first.json has no timeline, so it cannot be cut", "report", "--from",
         "1", write("first.json", made.first()))
    says("no such range", 1, 'no NVTX range "none" in its timeline; there are:\n  step$', "csv", "--range",
         "none", "run.json")
    unmarked = profile()
    unmarked["events"]["rows"] = [row for row in unmarked["events"]["rows"] if row[0] != STAGE]
    says("no ranges at all", 1, "has no NVTX ranges in its timeline; choose a part", "csv", "--range", "none",
         write("unmarked.json", unmarked))
    says("nothing there", 1, "that part of the run is empty; the whole run took 420 ms", "html", "--from",
         "7", "run.json")
    says("an empty part", 1, "that part of the run is empty", "trace", "--from", "0.3", "--to", "0.2", "run.json")
    says("no time", 2, "--to soon: expected a time", "report", "--to", "soon", "run.json")
    lossy = profile()
    lossy["events"].update(dropped=5, shortest_ns=1000)
    says("events are missing", 0, "5 events shorter than 1.00 us are missing", "report", "--from", "0",
         write("lossy.json", lossy))
    once = profile()
    once["events"]["rows"] = once["events"]["rows"][:7]
    says("nothing recurs", 1, "no kernel or copy is repeated", "report", "--steady", write("once.json", once))


def main():
    parts()
    commands()
    refused()
    each()
    without_a_name()
    tap.end()


main()
