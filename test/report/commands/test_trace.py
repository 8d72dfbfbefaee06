#!/usr/bin/env python3
"""Tests `hotpin trace`: made-up and random timelines must follow Perfetto's rules.  test_trace.py
HOTPIN
"""
import collections
import os
import random
import signal
import subprocess
import time

import made
import tap
from chrome_trace import faults, load
from tap import check, says, write

KERNEL, COPY, MEMSET, CALL, WAIT, STAGE, API, OWN, SAMPLE = range(9)
STREAM = {"kind": "stream", "device": 0, "context": 1, "stream": 7, "tid": None, "name": None}
OTHER = {**STREAM, "device": 1, "stream": 13}
THREAD = {"kind": "thread", "device": None, "context": None, "stream": None, "tid": 4711,
          "name": "heat"}
RANGES = {**THREAD, "kind": "ranges", "tid": None, "name": None}
NAMES = ["h2d pinned", "d2h pageable", made.STEP, "wait", "step", "copy h2d async",
         "copy h2d pageable deferred", "copy d2d device", "d2d device"]


def trace_of(name, rows, names=None, tracks=None, sites=None):
    write("events.json", made.events(rows, names or NAMES, tracks or [STREAM, THREAD, RANGES],
                                     sites))
    done = tap.run("trace", "events.json")
    trace, found = load(done.stdout), list(faults(done.stdout))
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    check(f"{name}: sound, and all are there", done.returncode == 0 and not found and
          len(slices) == len(rows), done.stderr, len(slices), "\n".join(found[:9]))
    return trace, slices


def plain():
    trace, slices = trace_of("a small run", [
        [CALL, 1, 1_000_001, 12_000_999, 0, 400_000_000, 0, None, None],
        [COPY, 0, 1_020_000, 10_000_000, 0, 400_000_000, None, 1, 1_010_000],
        [KERNEL, 0, 20_000_000, 8_000_000, 2, None, None, None, None],
        [WAIT, 1, 20_500_000, 9_000_000, 3, None, None, None, None],
        [STAGE, 2, 950_000, 10_000_000, 4, None, None, None, None],
    ], sites=made.first()["sites"])
    by_kind = {event["cat"]: event for event in slices}
    call, copy, kernel = by_kind["copy call"], by_kind["copy"], by_kind["kernel"]
    check("times to the nanosecond", (call["ts"], call["dur"]) == (1_000_001, 12_000_999))
    check("a call is on its thread", (call["pid"], call["tid"]) == (4711, 4711))
    check("bytes, GB/s and the place of the call", call["args"] == {
        "bytes": 400_000_000, "called from": "heat+0x401f"} and
        copy["args"] == {"bytes": 400_000_000, "GB/s": 40.0}, call, copy)
    check("a kernel by its readable name, on the device",
          kernel["name"] == "heat_step(float const*, float*, int)" and kernel["pid"] != 4711)
    names = {event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"
             and "name" in event["args"]}
    check("tracks have names", {"heat: 3: all kernels", "device 0, Example GPU", "heat", "ranges",
                                "stream 7 of context 1"} == names, names)
    ends = [(event["ph"], event["ts"], event["pid"], event["tid"])
            for event in trace["traceEvents"] if event["ph"] in "sf"]
    check("an arrow from the call to its copy", ends == [
        ("s", 1_000_001, call["pid"], call["tid"]), ("f", 1_020_000, copy["pid"], copy["tid"])],
          ends)


def details():
    """Shapes, routes, buffers, driver calls, and a track of its own for hotpin's work."""
    names = NAMES + ["cuLaunchKernel", "cuMemsetD8_v2", "memset", "cuMemAlloc_v2", "pin", "unpin"]
    own = {**RANGES, "kind": "hotpin"}
    rows = [[API, 1, 10, 5, 12, None, None, None, None],
            [CALL, 1, 20, 50, 0, 64, None, 0, 2], [COPY, 0, 30, 10, 0, 64, None, None, None],
            [API, 1, 100, 10, 9, None, None, None, None], [API, 1, 120, 10, 9, None, None, None, None],
            [KERNEL, 0, 108, 10, 2, None, None, 0, None], [KERNEL, 0, 130, 10, 2, None, None, None, None],
            [API, 1, 150, 10, 10, None, None, None, None], [MEMSET, 0, 155, 10, 11, 32, None, None, None],
            [OWN, 3, 22, 8, 13, 4096, None, None, None], [OWN, 3, 25, 10, 13, 1000, None, None, None],
            [OWN, 3, 180, 10, 14, 4096, None, None, None]]
    profile = made.events(rows, names, [STREAM, THREAD, RANGES, own])
    profile["buffers"] = made.first()["buffers"]
    profile["events"].update(routes=["unknown", "pass", "direct"], shapes=[{
        "grid": [128, 2, 1], "block": [256, 1, 1], "registers": 40, "static_shared_bytes": 0,
        "dynamic_shared_bytes": 2048}])
    profile["events"]["fields"][7:] = ["detail", "route"]
    done = tap.run("trace", write("events.json", profile))
    trace, found = load(done.stdout), list(faults(done.stdout))
    check("driver calls and details: sound", done.returncode == 0 and not found, found, done.stderr)
    slices = {event["ts"]: event for event in trace["traceEvents"] if event["ph"] == "X"}
    check("a kernel has its shape", slices[108]["args"] == {
        "grid": "128 x 2 x 1", "block": "256 x 1 x 1", "registers": 40, "static shared bytes": 0,
        "dynamic shared bytes": 2048} and slices[130]["args"] == {}, slices[108])
    check("a copy its buffer and route", slices[20]["args"].get("route") == "direct" and
          slices[20]["args"].get("buffer"), slices[20])
    check("a driver call is on its thread", (slices[10]["name"], slices[10]["cat"],
                                             slices[10]["tid"]) ==
          ("cuMemAlloc_v2", "driver call", 4711), slices[10])
    check("hotpin has tracks of its own", {slices[at]["cat"] for at in (22, 25, 180)} == {"hotpin"} and
          4711 not in {slices[at]["tid"] for at in (22, 25, 180)})
    check("no arrow where CUPTI tells no call", pairs_of(trace) == [], pairs_of(trace))
    for place, wrong in ((7, 99), (8, 3)):
        rows[1][place] = wrong
        says(f"refused: no such detail or route, {place}", 1, "refers to an entry that does not exist", "trace",
             write("events.json", profile))
        rows[1][place] = 0


def host_code():
    """Consecutive samples of one function are one slice; slices of one thread never overlap."""
    track = {**THREAD, "kind": "samples", "name": None}
    rows = [[SAMPLE, 1, start, 50, 0, None, None, place, None]
            for start, place in ((100, 0), (150, 1), (210, 1), (240, 0), (900, 0), (940, None))]
    profile = made.events(rows, ["sample"], [THREAD, track])
    profile["modules"] = [{"path": "/nowhere/heat", "build_id": None}, {"path": "/nowhere/libm.so", "build_id": None}]
    profile["sites"], profile["buffers"], profile["gaps"] = [], [], []
    profile["events"]["places"] = [{"module": 0, "offset": 7}, {"module": 1, "offset": 9}]
    profile["events"]["fields"][7:] = ["detail", "route"]
    done = tap.run("trace", write("events.json", profile))
    slices = [(event["name"], event["ts"], event["dur"]) for event in load(done.stdout)["traceEvents"]
              if event["ph"] == "X"]
    check("host code by samples", slices == [
        ("heat", 100, 50), ("libm.so", 150, 110), ("heat", 260, 30), ("heat", 900, 50),
        ("unknown", 950, 40)] and not list(faults(done.stdout)), slices, done.stderr)
    nested(profile)
    rows[0][7] = 2
    says("refused: no such place", 1, "refers to an entry that does not exist", "trace", write("events.json", profile))


def nested(profile):
    """A caller's slice lasts as long as consecutive samples are in it."""
    events = profile["events"]
    before = events["places"], events["rows"]
    profile["modules"].append({"path": "/nowhere/libc.so", "build_id": None})
    events["places"] = [{"module": 0, "offset": 7, "caller": None}, {"module": 1, "offset": 9, "caller": 0},
                        {"module": 1, "offset": 8, "caller": 1}, {"module": 2, "offset": 5, "caller": 2},
                        {"module": 2, "offset": 6, "caller": 0}]
    # The last sample is separate, because it comes too long after the previous one.
    events["rows"] = [[SAMPLE, 1, start, 50, 0, None, None, place, None] for start, place in
                      ((100, 1), (140, 3), (210, 2), (260, 4), (310, 0), (900, 0))]
    done = tap.run("trace", write("nested.json", profile))
    slices = [(event["name"], event["ts"], event["dur"]) for event in load(done.stdout)["traceEvents"]
              if event["ph"] == "X"]
    check("callers above what they call", slices == [
        ("heat", 100, 260), ("libm.so", 100, 160), ("libc.so", 150, 40), ("libc.so", 260, 50),
        ("heat", 900, 50)] and not list(faults(done.stdout)), slices, done.stderr)
    for caller in (1, 2, 1 << 70):
        events["places"][1]["caller"] = caller
        done = tap.run("trace", write("nested.json", profile))
        check(f"refused: the caller {caller} of place 1", done.returncode == 1 and
              len(done.stderr.splitlines()) == 1, done.stderr)
    deep = [{"module": 0, "offset": 0, "caller": None}] + [
        {"module": i % 2, "offset": i, "caller": i - 1} for i in range(1, 100)]
    events["places"], events["rows"] = deep, [[SAMPLE, 1, 100, 50, 0, None, None, 99, None]]
    done = tap.run("trace", write("nested.json", profile))
    check("a chain is bounded", done.stdout.count('"ph":"X"') == 24 and not list(faults(done.stdout)),
          done.stdout)
    events["places"], events["rows"] = before


def pairs_of(trace):
    """Returns pairs of starts: of calls and of their work."""
    ends = collections.defaultdict(dict)
    for event in trace["traceEvents"]:
        if event["ph"] in "sf":
            ends[event["id"]][event["ph"]] = event["ts"]
    return sorted((pair["s"], pair["f"]) for pair in ends.values())


def arrows_of(name, rows, dropped=0, tracks=None):
    """Returns pairs of starts: of calls and of copies."""
    profile = made.events(rows, NAMES, tracks or [STREAM, THREAD, {**STREAM, "stream": 8}])
    profile["events"]["dropped"] = dropped
    write("events.json", profile)
    done = tap.run("trace", "events.json")
    trace, found = load(done.stdout), list(faults(done.stdout))
    check(f"{name}: sound", not found, found)
    return pairs_of(trace)


def arrows():
    """CUPTI tells the thread and the moment of a copy's call."""
    def call(start, duration, size, name=0, track=1):
        return [CALL, track, start, duration, name, size, None, None, None]

    def copy(start, called, name=0, track=1):
        return [COPY, 0, start, 100_000, name, 64, None, track, called]
    calls = [call(0, 3000, 64), call(4000, 3000, 64)]
    seen = arrows_of("two copies, the later call's first", calls + [copy(400_000, 4100), copy(600_000, 3100)])
    check("are their calls'", seen == [(0, 600_000), (4000, 400_000)], seen)
    seen = arrows_of("a copy whose call is missing", calls + [copy(700_000, 9100)])
    check("is nobody's", seen == [], seen)
    seen = arrows_of("the other direction", calls + [copy(400_000, 100, name=1)])
    check("is another's copy", seen == [], seen)
    seen = arrows_of("a copy of which nothing is told", calls + [copy(400_000, None, track=None)])
    check("has no arrow", seen == [], seen)
    pieces = [copy(100_000 * i, 100_000 * i, track=3 if i % 2 else 1) for i in range(1, 5)]
    seen = arrows_of("pieces of two calls at once", [call(0, 900_000, 256), call(100_000, 900_000, 256, track=3)] + pieces,
                     dropped=1, tracks=[STREAM, THREAD, {**STREAM, "stream": 8}, {**THREAD, "tid": 4712}])
    check("each has its own", seen == [(0, 200_000), (0, 400_000), (100_000, 100_000),
                                       (100_000, 300_000)], seen)
    seen = arrows_of("copies within the device", [call(i, 3000, 64, name=7) for i in (0, 4000)] +
                     [copy(4500, 100, name=8), copy(5600, 4100, name=8)])
    check("too", seen == [(0, 4500), (4000, 5600)], seen)


def overlaps():
    _, slices = trace_of("kernels of one stream at once", [
        [KERNEL, 0, 100, 50, 2, None, None], [KERNEL, 0, 120, 50, 2, None, None],
        [KERNEL, 0, 125, 5, 2, None, None], [KERNEL, 0, 170, 5, 2, None, None]])
    check("each in a row of its own, none inside another",
          len({event["tid"] for event in slices}) == 3 and
          slices[0]["tid"] == slices[3]["tid"], slices)
    _, slices = trace_of("a call inside a call", [
        [CALL, 1, 100, 50, 0, 5, None], [WAIT, 1, 120, 10, 3, None, None],
        [WAIT, 1, 140, 20, 3, None, None], [CALL, 1, 100, 50, 0, 5, None]])
    check("nests on its thread; what sticks out does not",
          [event["tid"] == 4711 for event in slices].count(True) == 3, slices)
    _, slices = trace_of("two devices", [[KERNEL, 0, 1, 5, 2, None, None],
                                         [KERNEL, 1, 1, 5, 2, None, None]],
                         tracks=[STREAM, OTHER])
    check("are two processes", slices[0]["pid"] != slices[1]["pid"])
    random.seed(9)
    for turn in range(20):
        span = random.choice((50, 1000, 100000))
        rows = [[random.randrange(7), random.randrange(3), random.randrange(span),
                 random.choice((0, 1, 5, random.randrange(span // 8))), random.randrange(5), None,
                 None] for _ in range(300)]
        trace_of(f"random, {turn}", rows)
    rows = [[KERNEL, 0, i, 1000, 2, None, None] for i in range(100)]
    write("events.json", made.events(rows, NAMES, [STREAM]))
    done = says("more at once than there are rows", 0, "36 events are left out", "trace",
                "events.json")
    check("the rest is sound", not list(faults(done.stdout)))


def refused():
    says("no timeline", 1, "has no timeline; run the program with --profile=trace", "trace",
         write("first.json", made.first()))
    good = [KERNEL, 0, 1, 5, 2, None, None]
    for name, row in (("no such track", [0, 3, 1, 5, 2, None, None]),
                      ("no track", [0, None, 1, 5, 2, None, None]),
                      ("no such name", [0, 0, 1, 5, len(NAMES), None, None]),
                      ("no such site", [0, 0, 1, 5, 2, None, 1]),
                      ("before the beginning", [0, 0, -1, 5, 2, None, None]),
                      ("after the end of time", [0, 0, 1 << 62, 1 << 62, 2, None, None]),
                      ("short", [0, 0, 1]), ("no list", 5), ("texts", ["0"] * 7)):
        says(f"refused: {name}", 1, "cannot read events.json: .*rows .*, before byte", "trace",
             write("events.json", made.events([good, row], NAMES, [STREAM])))
    lacks = made.events([good], NAMES, [STREAM])
    lacks["events"]["fields"].remove("bytes")
    says("refused: a field is missing", 1, "rows has no field 'bytes'", "trace",
         write("events.json", lacks))
    order = made.events([[None, 5, 0, 7, 1, 0, 2, 99]], NAMES, [STREAM])
    order["events"]["fields"] = ["site", "duration_ns", "kind", "bytes", "start_ns", "track",
                                 "name", "new"]
    done = tap.run("trace", write("events.json", order))
    slices = [event for event in load(done.stdout)["traceEvents"] if event["ph"] == "X"]
    check("fields in another order, and a new one", (slices[0]["ts"], slices[0]["dur"]) == (1, 5))
    lossy = made.events([good], NAMES, [STREAM])
    lossy["events"].update(dropped=900, shortest_ns=20_000)
    told = "900 events were not recorded: those shorter than 20.0 us"
    done = says("what was not recorded is told", 0, told, "trace", write("events.json", lossy))
    notes = [event for event in load(done.stdout)["traceEvents"] if event["ph"] == "i"]
    check("in the trace, too", [note["name"] for note in notes] == [told] and
          not list(faults(done.stdout)), notes)


def part(name, began, unix, host="node17", rank=None, pid=4711):
    made_one = made.events([[CALL, 1, 100, 50, 0, 64, None], [COPY, 0, 120, 20, 0, 64, None]], NAMES,
                           [STREAM, THREAD])
    made_one["process"].update(began_ns=began, began_unix_ns=unix, host=host, rank=rank, pid=pid)
    if began is None:
        del made_one["process"]["began_ns"]
    return write(name, made_one)


def merged(name, *files):
    """Returns when each call began, and the names of all processes."""
    done = tap.run("trace", *files)
    found = list(faults(done.stdout))
    events = load(done.stdout)["traceEvents"]
    calls = [event for event in events if event.get("cat") == "copy call"]
    check(f"{name}: sound, each with processes of its own", done.returncode == 0 and not found and
          len({event["pid"] for event in events}) == 2 * len(files), found, done.stderr)
    return [call["ts"] for call in calls], {event["args"]["name"] for event in events
                                            if event["name"] == "process_name"}, done.stderr


def several():
    starts, names, _ = merged("ranks of one host", part("0.json", 7000, 900_000, rank="0"),
                              part("1.json", 5000, 999_999, rank="1", pid=4712))
    check("are on its clock", starts == [2100, 100], starts)
    check("with names of their own", names == {
        f"rank {rank}: {what}" for rank in (0, 1)
        for what in ("heat: 3: all kernels", "device 0, Example GPU")}, names)
    starts, names, _ = merged("of two hosts, of one number",
                              part("0.json", 7000, 900_000),
                              part("1.json", 5000, 950_000, host="other"))
    check("are on the clock of the day", starts == [100, 50_100], starts)
    check("with names of files", "1.json: device 0, Example GPU" in names, names)
    starts, _, said = merged("without a clock", "0.json", part("1.json", None, 5))
    check("begin at one time, which is told", starts == [100, 100] and "all files begin at "
          "the same time" in said, starts, said)
    says("one that has no timeline", 1, "first.json has no timeline", "trace", "0.json",
         write("first.json", made.first()))


def hostile():
    done = tap.run("trace", write("hostile.json", made.hostile()))
    trace = load(done.stdout)
    check("hostile names", not list(faults(done.stdout)) and done.stdout.isascii() and
          tap.no_control(done.stdout), done.stderr)
    names = [event["name"] for event in trace["traceEvents"]]
    check("are there to be read", any("<script>" in name for name in names) and all(map(tap.no_control, names)), names)


def large():
    rows = [[COPY, 0, i * 100, 90, 0, 4096, None, 1, i * 100] for i in range(10_000)] + \
        [[CALL, 1, i * 100, 95, 0, 4096, None, None, None] for i in range(10_000)]
    began = time.monotonic()
    trace, _ = trace_of("20 000 events", rows)
    check("10 000 arrows", sum(event["ph"] == "f" for event in trace["traceEvents"]) == 10_000)
    print(f"# {time.monotonic() - began:.1f} s")
    interrupted()


def interrupted():
    """A half-written file, under its temporary name, is removed."""
    whole = os.path.join(tap.FOLDER.name, "half.trace")

    def half():
        return [name for name in os.listdir(tap.FOLDER.name) if name.startswith(".hotpin-")]

    # The file may be whole before the signal comes: then the next turn tries again.
    while True:
        process = subprocess.Popen([tap.HOTPIN, "trace", "-o", "half.trace", "events.json"],
                                   cwd=tap.FOLDER.name, stderr=subprocess.DEVNULL)
        while process.poll() is None and not half():
            time.sleep(0.001)
        process.terminate()
        process.wait()
        if not os.path.exists(whole):
            break
        os.unlink(whole)
    check("a signal that ends it leaves nothing of it",
          process.returncode == -signal.SIGTERM and half() == [], process.returncode, half())


def main():
    plain()
    details()
    host_code()
    arrows()
    overlaps()
    refused()
    several()
    hostile()
    large()
    tap.end()


main()
