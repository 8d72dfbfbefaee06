"""Runs `truth` under hotpin, and compares every figure of the profile with the program's own.

    truth.py [-o FOLDER] [-s SCHEMA.PY PROFILE.SCHEMA.JSON] HOTPIN TRUTH

Counts and bytes must be equal, times within 2 % and 100 us.  Figures that the report itself calls
an estimate or a bound are shown next to the truth and marked `label`.  Exit status 0: nothing is
wrong.
"""
import argparse
import csv
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback

import runs

SHARE, SLACK_NS = 0.02, 100_000
SAMPLE = 8 # the kind of an event
NOTING_NS = 3_000 # what a profile may add to a copy; CUPTI alone adds 0.6 to 2.3 us
counts = {"ok": 0, "WRONG": 0, "label": 0}


def say(verdict, what, seen, true, note=""):
    counts[verdict] += 1
    print(f"{verdict:5} {what}: {seen}, truly {true}{'  ' + note if note else ''}")


def same(what, seen, true):
    say("ok" if seen == true else "WRONG", what, seen, true)


def holds(what, true, seen=""):
    say("ok" if true else "WRONG", what, seen, "so" if true else "not so")


def off(seen, true):
    return f"{(seen - true) / true * 100:+.2f} %" if true else ""


def near(what, seen, true, share=SHARE, slack=SLACK_NS):
    good = seen is not None and abs(seen - true) <= max(share * true, slack)
    say("ok" if good else "WRONG", what, seen, true, off(seen or 0, true))


def label(what, seen, true):
    say("label", what, seen, true, off(seen, true) if isinstance(seen, (int, float)) else "")


def part(function, *arguments):
    """Runs a part of the test: one fault must not hide the others."""
    print(f"-- {function.__name__.replace('_', ' ')}")
    try:
        function(*arguments)
    except Exception:
        counts["WRONG"] += 1
        traceback.print_exc(file=sys.stdout)


class Runs:
    def __init__(self, hotpin, program, folder):
        self.hotpin, self.program, self.folder = hotpin, program, folder

    def path(self, name):
        return os.path.join(self.folder, name + ".json")

    def run(self, name, mode, flags=("--profile",), table=False, **options):
        """Returns the truth, the profile, and the messages on stderr: with the table at exit of a
        program that nobody waits for, if asked.
        """
        environment = {**os.environ, **options, "TRUTH_BEGAN_NS": str(time.monotonic_ns())}
        alone = ["env", "-u", "_HOTPIN_AWAITS"] if table else []
        done = subprocess.run([self.hotpin, "run", *flags, "--stage", name, "-o", self.path(name),
                               "--", *alone, self.program, mode], env=environment,
                              capture_output=True, text=True, check=False)
        print(f"== {name}\n{done.stderr}", end="")
        for kind in ("out", "err"):
            with open(os.path.join(self.folder, f"{name}.std{kind}"), "w") as file:
                file.write(getattr(done, "std" + kind))
        done.check_returncode()
        with open(self.path(name)) as file:
            return json.loads(done.stdout), json.load(file), done.stderr

    def tool(self, *arguments):
        done = subprocess.run([self.hotpin, *arguments], cwd=self.folder, capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            print(f"hotpin {' '.join(arguments)}: {done.returncode}: {done.stderr}")
        return done.stdout

    def table(self, name, table):
        return list(csv.DictReader(io.StringIO(self.tool("report", "--csv", table, name + ".json"))))


def rows_of(profile, view):
    return {f"{row['direction']} {row['memory']}": row for row in profile["transfers"]
            if row["view"] == view}


def copies(truth, profile):
    """Checks copies as CUPTI recorded them, in a run in which hotpin pinned nothing."""
    rows = rows_of(profile, "cupti")
    same("kinds of copies", sorted(rows), sorted(truth["copies"]))
    for name, (count, size, busy, _) in truth["copies"].items():
        same(f"{name}, copies and bytes", [rows[name]["count"], rows[name]["bytes"]], [count, size])
        # CUPTI's record begins when the first bytes are on the bus, after the driver has staged
        # some.  The report says so.
        judge = label if name.endswith("pageable") else near
        judge(f"{name}, time", rows[name]["busy_ns"], busy)
        judge(f"{name}, GB/s", rows[name]["bytes"] / rows[name]["busy_ns"], size / busy)
    for name, (count, size, busy, _) in truth["sizes"].items():
        kind, least = name.rsplit(" ", 1)
        found = [row for row in rows[kind]["sizes"] if row["from_bytes"] == int(least)]
        same(f"sizes {name}", [(row["count"], row["bytes"]) for row in found], [(count, size)])
        # Events are 0.5 us apart at best; below 64 KiB truth.cu has no value.
        if found and int(least) >= 1 << 16 and "pinned" in kind:
            near(f"sizes {name}, time", found[0]["busy_ns"], busy,
                 slack=SHARE * busy + count * (truth["unsure_ns"][kind[:3]] + 500))


def copies_at_the_call(truth, profile):
    rows = rows_of(profile, "hotpin")
    for direction in ("h2d", "d2h", "d2d"):
        found = [row for name, row in rows.items() if name.startswith(direction)]
        true = [sums for name, sums in truth["copies"].items() if name.startswith(direction)]
        same(f"{direction} at the call, copies and bytes",
             [sum(row["count"] for row in found), sum(row["bytes"] for row in found)],
             [sum(sums[0] for sums in true), sum(sums[1] for sums in true)])
        if direction != "d2d":
            near(f"{direction} at the call, time", sum(row["host_ns"] for row in found),
                 sum(sums[3] for sums in true), slack=2000 * sum(sums[0] for sums in true))
    cover = profile["coverage"]
    same("coverage", [cover["cupti_copies"], cover["cupti_bytes"]],
         [cover["hotpin_copies"], cover["hotpin_bytes"]])


def table_at_exit(truth, stderr):
    """Checks the text: the copies of each direction, with GB/s within 2 % of the truth, in 12 lines."""
    lines = [line for line in stderr.splitlines() if line.startswith("==hotpin==")]
    holds("12 lines at most", len(lines) <= 12, len(lines))
    for direction in ("h2d", "d2h"):
        sums = {name: found for name, found in truth["copies"].items() if name.startswith(direction)}
        shown = re.search(rf"== {direction.replace('h', 'H').replace('d', 'D')} copies .*B +([\d.]+) GB/s", stderr)
        holds(f"{direction} in the table", bool(shown) == bool(sums), sums)
        if shown and not any("pageable" in name for name in sums):
            near(f"{direction} in the table, GB/s", float(shown.group(1)),
                 sum(size for _, size, _, _ in sums.values()) / sum(busy for _, _, busy, _ in sums.values()),
                 slack=0.006)
    tenths = [float(share) for share in
              re.findall(r"== (?:Host code|CUDA start-up|Other CUDA calls|Copies, exposed|Kernels|Copies [+] kernels)  .*?([\d.]+) %", stderr)]
    same("shares, tenths of a percent", (len(tenths), round(sum(tenths) * 10)), (6, 1000))


def whole(truth, profile):
    split, host = profile["split"], profile["host"]
    same("split, ns", sum(split.values()), profile["wall_ns"])
    near("wall", profile["wall_ns"], truth["wall_ns"])
    for kind in ("transfer", "kernel", "overlap"):
        true = sum(stage[kind + "_ns"] for stage in truth["stages"])
        if kind == "transfer" and "h2d pageable" in truth["copies"]:
            label("split, transfer", split["transfer_ns"], true)
            continue
        if kind == "kernel":
            # Warm-up, memsets and copies on the device.
            true += truth["memsets"][2] + truth["copies"]["d2d device"][2]
        near(f"split, {kind}", split[kind + "_ns"], true)
    near("split, with the device idle", split["host_ns"] + split["startup_ns"] + split["calls_ns"],
         truth["wall_ns"] - split["transfer_ns"] - split["kernel_ns"] - split["overlap_ns"])
    near("split, CUDA start-up", split["startup_ns"], truth["start_ns"],
         slack=truth["start_ns"] // 20)
    called = {row["name"]: row for row in profile["calls"]}
    launched = [row for name, row in called.items() if name.startswith("cuLaunchKernel")]
    same("calls that launch", sum(row["count"] for row in launched), truth["launches"])
    waited = [row for row in profile["calls"] if row["class"] == "synchronize"]
    same("calls that wait", sum(row["count"] for row in waited), truth["waits"][0])
    near("calls that wait, time", sum(row["total_ns"] for row in waited), truth["waits"][1])
    quiet = next(stage for stage in truth["stages"] if stage["name"] == "gaps")
    near("longest host code between two calls", max(gap["longest_ns"] for gap in profile["gaps"]),
         quiet["wall_ns"])
    if profile["samples"] is None:
        label(f"samples: none ({profile['sampling']['why']})", 0, None)
    else:
        # A CPU is always busy, except while the program sleeps or blocks.
        label("samples (estimate), s", sum(row["first_thread"] + row["other_threads"]
                                           for row in profile["samples"]) / 199, None)
    holds("cuInit is called once", called["cuInit"]["count"] == 1, called["cuInit"])
    calls = sum(sums[3] for sums in truth["copies"].values())
    near("copy calls", host["copy_calls_ns"], calls, slack=2_000_000)
    near("of that waiting for kernels", host["waiting_for_kernels_ns"], truth["waiting_ns"],
         slack=2_000_000)
    same("parts of copy calls", host["copying_ns"] + host["waiting_for_kernels_ns"] +
         host["overhead_ns"], host["copy_calls_ns"])
    same("waits", host["waits"], truth["waits"][0])
    near("waits, time", host["waits_ns"], truth["waits"][1])
    label("staging (estimate)", host["staging_ns"], None)
    same("launches", host["launches"], truth["launches"])


def kernels(truth, profile):
    found = {re.sub(r"^_Z\d+([a-z_]+?)[yP].*", r"\1", row["name"]): row
             for row in profile["kernels"]}
    same("kernels", sorted(found), sorted(truth["kernels"]))
    for name, (count, busy) in truth["kernels"].items():
        same(f"{name}, runs", found[name]["count"], count)
        near(f"{name}, time", found[name]["busy_ns"], busy, slack=count * 5000)
    same("kernel runs", profile["kernel_runs"]["count"], truth["launches"])
    # So few kernels are all joined to their launches (LAUNCHES_EXACT of src/trace/calls/launches.h).
    places, rest = profile["launches"], profile["launches_rest"] or {"kernels": None}
    if rest["kernels"] is not None:
        same("kernels by place of launch, of no place, and estimated ns of their time",
             [sum(place["kernels"] for place in places), rest["kernels"],
              sum(place["estimated_ns"] for place in places)], [truth["launches"], 0, 0])
    memsets, size, busy = truth["memsets"]
    same("memsets, bytes", [profile["memsets"]["count"], profile["memsets"]["bytes"]],
         [memsets, size])
    near("memsets, time", profile["memsets"]["busy_ns"], busy)


def transfer_rate(truth):
    """Returns nanoseconds a byte of pinned copies that follow each other, by events."""
    stage = next(stage for stage in truth["stages"] if stage["name"] == "pinned")
    return stage["transfer_ns"] / ((stage["h2d"][1] + stage["d2h"][1]) or 1)


def stages(truth, profile):
    found = {stage["name"]: stage for stage in profile["ranges"]}
    pageable = "h2d pageable" in truth["copies"]
    rate = transfer_rate(truth)
    same("stages", list(found), [stage["name"] for stage in truth["stages"]])
    for true in truth["stages"]:
        seen = found[true["name"]]
        name = f"stage {true['name']}"
        near(f"{name}, wall", seen["wall_ns"], true["wall_ns"])
        same(f"{name}, split", sum(seen["split"].values()), seen["wall_ns"])
        for direction in ("h2d", "d2h"):
            same(f"{name}, {direction}", [seen[direction]["count"], seen[direction]["bytes"]],
                 true[direction][:2])
        same(f"{name}, launches", seen["launches"], true["launches"])
        if true["name"] in ("sizes", "device"):
            continue
        for kind, ours in (("transfer", "transfer"), ("kernel", "kernel"), ("overlap", "overlap"),
                           ("idle", "calls")):
            if kind == "transfer" and name[6:] in ("exposed", "waiting"):
                # These are times of the calls, which are longer than those of the transfers.
                label(f"{name}, transfer", seen["split"]["transfer_ns"], true["transfer_ns"])
                if not pageable:
                    near(f"{name}, transfer, at the rate of pinned copies",
                         seen["split"]["transfer_ns"], rate * (true["h2d"][1] + true["d2h"][1]))
            elif kind != "idle" or true["idle_ns"]:
                near(f"{name}, {kind}", seen["split"][ours + "_ns"], true[kind + "_ns"],
                     slack=1_000_000)
        if true["name"] == "gaps":
            near(f"{name}, host code", seen["split"]["host_ns"], true["wall_ns"])


def places(truth, runs, name):
    """Checks call sites by function and line."""
    found = {}
    for row in runs.table(name, "sites"):
        sums = found.setdefault((row["function"].split("(")[0], row["line"].rsplit(":", 1)[-1],
                                 row["direction"]), [0, 0])
        sums[0] += int(row["count"])
        sums[1] += int(row["bytes"])
    lines = any(key[1] for key in found)
    if not lines:
        label("lines of call sites: none are known here", 0, None)
    for function, line, direction, (count, size, _, _) in truth["places"]:
        if direction == "d2d":
            continue
        seen = found.get((function, str(line) if lines else "", direction), [0, 0])
        same(f"{direction} from {function}{':%d' % line if lines else ''}", seen, [count, size])


def buffers(truth, runs, name):
    """Checks buffers by allocation site: pageable copies upload from a field and download into a
    result."""
    rows = {row["function"].split("(")[0]: row for row in runs.table(name, "buffers")}
    for function, direction in (("make_field", "h2d"), ("make_result", "d2h")):
        count, size, _, call = truth["copies"][f"{direction} pageable"]
        row = rows.get(function)
        if row is None:
            holds(f"buffer of {function}", False, sorted(rows))
            continue
        same(f"buffer of {function}, copies and bytes",
             [int(row[direction + "_count"]), int(row[direction + "_bytes"])], [count, size])
        near(f"buffer of {function}, time", int(row[direction + "_host_ns"]), call,
             slack=2000 * count)
        same(f"buffer of {function}, its size", int(row["largest_bytes"]), 64 << 20)


def bounds(truth, profile, pinned, resident):
    """Pinning and removing copies really saved no more than their bounds."""
    saves = {row["name"]: row["saves_ns"] for row in profile["what_if"]}
    exposed = profile["split"]["transfer_ns"]
    near("bound without transfers", saves["no_transfers"],
         exposed + profile["host"]["overhead_ns"])
    kernels = profile["split"]["kernel_ns"] + profile["split"]["overlap_ns"]
    transfers = exposed + profile["split"]["overlap_ns"]
    ways = [min(transfers, sum(row["busy_ns"] or 0 for row in profile["transfers"]
                               if row["view"] == "cupti" and row["direction"] == way))
            for way in ("h2d", "d2h")]
    near("bound all overlapped", saves["all_overlapped"],
         exposed + kernels - max(kernels, *ways))
    gain = exposed - pinned["split"]["transfer_ns"]
    holds("pinning gave no more than its bound", gain <= saves["all_pinned"] * (1 + SHARE),
          f"{gain} of {saves['all_pinned']}")
    label("bound all pinned", saves["all_pinned"], gain)
    walls = [sum(stage["wall_ns"] for stage in run["stages"]) for run in (truth, resident)]
    gain = walls[0] - walls[1]
    holds("doing without gave no more than its bound", gain <= saves["no_transfers"] * (1 + SHARE),
          f"{gain} of {saves['no_transfers']}")
    label("bound without transfers", saves["no_transfers"], gain)
    holds("the bounds are in order",
          saves["all_pinned"] <= saves["no_transfers"] <= profile["wall_ns"], saves)


def peaks(truth, profile):
    """Compares the profile's peak with the program's fastest copy.  No copy is faster than the link,
    whose packets have headers, too.  The best rate of the run is that of a copy."""
    source = profile["environment"]["peak_source"]
    for direction in ("h2d", "d2h"):
        peak = profile["environment"][f"peak_{direction}_bytes_per_s"] / 1e9
        fastest = truth["fastest"][direction] / 1e9
        if source == "link":
            holds(f"peak of the link, {direction}", fastest <= peak * (1 + SHARE) and
                  fastest > peak / 2, f"{fastest} of {peak}")
        else:
            near(f"best rate of the run, {direction}", peak, fastest, slack=0)


def promoted(truth, profile, plain):
    """Checks the same program with hotpin's own work: the same bytes, and its reported effect."""
    for direction in ("h2d", "d2h", "d2d"):
        rows = [row for name, row in rows_of(profile, "cupti").items()
                if name.startswith(direction)]
        true = [sums for name, sums in truth["copies"].items() if name.startswith(direction)]
        same(f"{direction}, copies and bytes",
             [sum(row["count"] for row in rows), sum(row["bytes"] for row in rows)],
             [sum(sums[0] for sums in true), sum(sums[1] for sums in true)])
    rows = rows_of(profile, "hotpin")
    effect, promotion = profile["effect"], profile["promotion"]
    same("promoted copies", effect["promoted_copies"],
         sum(row["count"] for name, row in rows.items() if name.endswith(" promoted")))
    calls = sum(sums[3] for sums in truth["copies"].values())
    near("copy calls", profile["host"]["copy_calls_ns"], calls, slack=2_000_000)
    near("promoted and the program's own, as CUPTI saw them pinned",
         promotion["cupti_pinned_bytes"],
         promotion["promoted_bytes"] +
         sum(sums[1] for name, sums in truth["copies"].items() if name.endswith(" pinned")), slack=0)
    if promotion["program_pinned_bytes"] is not None:
        same("pinned by the program", promotion["program_pinned_bytes"],
             sum(sums[1] for name, sums in truth["copies"].items() if name.endswith(" pinned")))
    gain = (sum(stage["wall_ns"] for stage in plain["stages"]) -
            sum(stage["wall_ns"] for stage in truth["stages"]))
    label("saved less spent (estimate)", (effect["saved_ns"] or 0) - (effect["spent_ns"] or 0), gain)
    near("buffers: pinning took", sum(row["pin_ns"] for row in profile["buffers"]),
         effect["spent_ns"], slack=0)


def repeated(truth, profile):
    found = profile["repeats"]
    for kind in ("duplicates", "ping_pong"):
        same(kind, [found[kind]["count"], found[kind]["bytes"]], truth[kind])


def true_arrows(trace):
    """Checks arrows from call to copy: stream_copies() of truth.cu uses a stream of its own, and
    streams work in order."""
    calls, copies = ({}, {})
    slices = sorted((event for event in trace if event["ph"] == "X"), key=lambda event: event["ts"])
    default = next(event["tid"] for event in slices if event["cat"] == "copy")
    for event in slices:
        if event["cat"] == "copy call":
            key = (event["name"][5:8], event["args"]["bytes"],
                   event["args"]["called from"].startswith("stream_"))
            calls.setdefault(key, []).append(event["ts"])
        elif event["cat"] == "copy":
            key = event["name"][:3], event["args"]["bytes"], event["tid"] != default
            copies.setdefault(key, []).append(event["ts"])
    return {pair for key, starts in calls.items() for pair in zip(starts, copies.get(key, ()))}


def timeline(truth, profile, runs):
    """Checks that events are the same operations, and that tracks nest."""
    events = profile["events"]
    rows = [dict(zip(events["fields"], row)) for row in events["rows"]]
    same("events dropped", events["dropped"], 0)
    for name, (count, busy) in truth["kernels"].items():
        found = [row["duration_ns"] for row in rows
                 if row["kind"] == 0 and name in events["names"][row["name"]]]
        same(f"events of {name}", len(found), count)
        near(f"events of {name}, time", sum(found), busy, slack=count * 5000)
    for direction in ("h2d", "d2h", "d2d"):
        found = [row for row in rows if row["kind"] == 1 and
                 events["names"][row["name"]].startswith(direction)]
        true = [sums for name, sums in truth["copies"].items() if name.startswith(direction)]
        same(f"events of {direction}, copies and bytes",
             [len(found), sum(row["bytes"] for row in found)],
             [sum(sums[0] for sums in true), sum(sums[1] for sums in true)])
    trace = json.loads(runs.tool("trace", "timeline.json"))["traceEvents"]
    tracks, sampled = {}, 0
    for event in trace:
        if event["ph"] == "X":
            sampled += event["cat"] == "host code"
            tracks.setdefault((event["pid"], event["tid"]), []).append(
                (round(event["ts"] * 1000), -round(event["dur"] * 1000)))
    wrong = 0
    for slices in tracks.values():
        ends = []
        for start, minus in sorted(slices):
            while ends and ends[-1] <= start:
                ends.pop()
            wrong += bool(ends) and start - minus > ends[-1]
            ends.append(start - minus)
    same("slices that do not nest", wrong, 0)
    # Consecutive samples of one function are one slice.
    same("slices", sum(map(len, tracks.values())) - sampled,
         sum(row["kind"] != SAMPLE for row in rows))
    ends = {}
    for event in trace:
        if event["ph"] in "sf":
            ends.setdefault(event["id"], {})[event["ph"]] = event
    arrows = [(pair["s"]["ts"], pair["f"]["ts"]) for pair in ends.values()]
    # CUPTI does not tell the call of each copy, or not to 2 us.
    copies = sum(row["kind"] == 1 for row in rows)
    holds("arrows from calls to copies", 0.98 * copies <= len(arrows) <= copies, f"{len(arrows)} of {copies}")
    arrows = set(arrows)
    same("arrows that lead elsewhere", len(arrows - true_arrows(trace)), 0)


def deferred(kept, gone):
    """Checks copies behind kernels that are waited for, and those that need not be."""
    (before, was, _), (after, now, _) = kept, gone
    for truth, profile in ((before, was), (after, now)):
        rows = [row for name, row in rows_of(profile, "cupti").items() if name.startswith("h2d")]
        same("copies, bytes", [sum(row["count"] for row in rows), sum(row["bytes"] for row in rows)],
             [truth["copies"], truth["bytes"]])
    same("deferred copies", now["effect"]["deferred_copies"], after["copies"])
    label("waits removed", now["effect"]["waits_removed"], after["copies"])
    label("saved by it (estimate)", now["effect"]["ahead_ns"],
          before["wall_ns"] - after["wall_ns"])
    for truth, profile, way in ((before, was, "off"), (after, now, "h2d")):
        # The bookkeeping is no part of a call, but the program waits for both.
        seen, waited = profile["host"]["copy_calls_ns"], truth["calls_ns"]
        noting = max(NOTING_NS * truth["copies"], SHARE * waited)
        holds(f"calls that copy, {way}, ns: {seen}, the program waited {waited}",
              waited - noting <= seen <= waited * (1 + SHARE))


def schema(files, folder):
    checker, rules = files
    spec = importlib.util.spec_from_file_location("schema", checker)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with open(rules) as file:
        rules = json.load(file)
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            profile = module.read(os.path.join(folder, name))
            found = [*module.errors(profile, rules), *module.contradictions(profile)]
            same(f"{name} against the schema", found[:3], [])


def check(arguments, folder):
    runs = Runs(os.path.abspath(arguments.hotpin), os.path.abspath(arguments.truth), folder)
    plainly = {"HOTPIN_PIN": "0", "HOTPIN_RING": "0", "HOTPIN_ASYNC": "0"}
    truth, profile, stderr = runs.run("plain", "pageable", table=True, **plainly)
    same_pinned, pinned, pinned_table = runs.run("pinned", "pinned", table=True, **plainly)
    resident, _, _ = runs.run("resident", "resident", **plainly)
    for one in ((truth, profile, stderr), (same_pinned, pinned, pinned_table)):
        part(copies, *one[:2])
        part(copies_at_the_call, *one[:2])
        part(table_at_exit, one[0], one[2])
        part(whole, *one[:2])
        part(kernels, *one[:2])
        part(stages, *one[:2])
    part(places, truth, runs, "plain")
    part(buffers, truth, runs, "plain")
    part(bounds, truth, profile, pinned, resident)
    part(peaks, truth, profile)
    part(lambda: promoted(*runs.run("promoted", "pageable")[:2], truth))
    part(lambda: repeated(*runs.run("repeats", "repeats", HOTPIN_HASH="1", **plainly)[:2]))
    part(lambda: timeline(*runs.run("timeline", "pageable", ["--profile=trace"], **plainly)[:2],
                          runs))
    part(lambda: deferred(runs.run("small off", "small", HOTPIN_ASYNC="0"),
                          runs.run("small on", "small", HOTPIN_ASYNC="1")))
    if arguments.schema:
        part(schema, arguments.schema, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out")
    parser.add_argument("-s", "--schema", nargs=2)
    parser.add_argument("hotpin", type=runs.program)
    parser.add_argument("truth", type=runs.program)
    arguments = parser.parse_args()
    if arguments.out:
        os.makedirs(arguments.out, exist_ok=True)
        check(arguments, arguments.out)
    else:
        with tempfile.TemporaryDirectory() as folder:
            check(arguments, folder)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return counts["WRONG"] != 0


sys.exit(main())
