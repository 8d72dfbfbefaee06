#!/usr/bin/env python3
"""Tests `hotpin report --json`: its schema, every figure, and its order of lists.
test_report_json.py HOTPIN
"""
import json
import os
import sys

import made
import program
import tap
from tap import check, says, write

sys.path.insert(0, os.path.dirname(tap.HERE))
import schema  # pylint: disable=wrong-import-position

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(tap.HERE)))
with open(os.path.join(ROOT, "include/hotpin/report.schema.json"), encoding="utf-8") as rules_file:
    RULES = json.load(rules_file)
BINARY = os.path.join(tap.FOLDER.name, "heat")
UPLOAD, MAIN = 0x1000, 0x2000


def report(name, *profiles, **more):
    """Returns its runs, which must follow the schema."""
    files = [write(f"{name}{i}.json", profile) for i, profile in enumerate(profiles)]
    done = tap.run("report", "--json", *files, **more)
    result = json.loads(done.stdout or "null", parse_constant=schema.refuse, parse_float=schema.refuse)
    found = list(schema.errors(result, RULES))
    check(f"{name}: follows the schema", done.returncode == 0 and not found, done.stderr,
          "\n".join(found[:9]))
    return result["runs"]


def placed():
    """Places in an existing program."""
    run = made.sampled()
    run["modules"][0] = {"path": BINARY, "build_id": None}
    run["process"]["ended_utc"] = program.LATER
    frame = made.frame
    run["sites"][0]["frames"] = [frame(0, UPLOAD + 0x11), frame(0, MAIN + 0x11)]
    run["buffers"][0]["frames"] = [frame(1, 5), frame(0, MAIN + 0x21, guessed=True)]
    run["samples"] = [{"frames": [frame(0, MAIN + 0x30), frame(0, UPLOAD + 0x11)],
                       "first_thread": 398, "other_threads": 0},
                      {"frames": [frame(0, MAIN + 0x40)], "first_thread": 100, "other_threads": 99},
                      {"frames": [frame(2, 7), frame(0, MAIN + 0x31)], "first_thread": 1,
                       "other_threads": 0}]
    run["gaps"] = [{"before": None, "after": {"call": "cuInit", "frames": [frame(0, MAIN + 0x11)]},
                    "count": 1, "total_ns": 5, "longest_ns": 5},
                   {"before": {"call": "cuMemcpyDtoH_v2", "frames": [frame(0, UPLOAD + 0x11)]},
                    "after": None, "count": 100, "total_ns": 963, "longest_ns": 10}]
    run["launches"] = [{"frames": [frame(0, UPLOAD + 0x11)], "count": 5, "host_ns": 60},
                       {"frames": [frame(0, MAIN + 0x41)], "count": 10, "host_ns": 50, "kernels": 10,
                        "device_ns": 70, "estimated_ns": 7}]
    with open(BINARY, "wb") as file:
        file.write(program.elf({"_Z6uploadPf": UPLOAD, "main": MAIN}))
    return run, program.addr2line({
        UPLOAD + 0x10: ["/src/up load.cu:10"], MAIN + 0x10: ["/src/heat.cu:20"],
        MAIN + 0x20: ["/src/heat.cu:21"], MAIN + 0x30: ["/src/heat.cu:30"],
        MAIN + 0x40: ["/src/heat.cu:40"]})


def names():
    run, path = placed()
    got = report("placed", run, PATH=path)[0]
    place = got["sites"][0]["place"]
    check("a place has function, file and line", place == {
        "function": "upload(float*)", "file": "/src/up load.cu", "line": 10, "module": BINARY,
        "offset": UPLOAD + 0x10, "likely": False}, place)
    check("and so has the way to it", [frame["line"] for frame in got["sites"][0]["frames"]] ==
          [10, 20], got["sites"][0])
    check("of an allocation, who wanted it", got["buffers"][0]["place"]["line"] == 21 and
          got["buffers"][0]["place"]["likely"], got["buffers"][0])
    rows = [(row["function"], row["file"], row["line"], row["self_ns"], row["total_ns"],
             row["self_samples"]) for row in got["samples"]]
    check("samples by function, with the line of most", rows == [
        ("main", "/src/heat.cu", 30, 3000000000, 3005025125, 597),
        (None, None, None, 5025125, 5025125, 1),
        ("upload(float*)", None, None, 0, 2000000000, 0)], rows)
    check("code without a name has its file", got["samples"][1]["module"] ==
          "/usr/lib/libcuda.so.580.159", got["samples"][1])
    launches = [[launch[name] for name in ("count", "host_ns", "kernels", "device_ns", "estimated_ns")] +
                [launch["place"]["line"]] for launch in got["launches"]]
    check("launches by place, null where kernels are not known", launches == [
        [10, 50, 10, 70, 7, 40], [5, 60, None, None, None, 10]], launches)
    gaps = [(gap["total_ns"], gap["before"] and gap["before"]["place"]["line"],
             gap["after"] and gap["after"]["call"]) for gap in got["gaps"]]
    check("gaps, most time first", gaps == [(963, 10, None), (5, None, "cuInit")], gaps)
    turned = {name: list(reversed(part)) if name in ("sites", "buffers", "samples", "gaps", "calls",
                                                     "launches", "kernels", "transfers") else part
              for name, part in run.items()}
    turned["repeats"] = {**run["repeats"], "sites": [
        {**row, **{name: len(run[name + "s"]) - 1 - row[name] for name in ("site", "buffer")
                   if row.get(name) is not None}} for row in run["repeats"]["sites"]]}
    check("the order of the profile is not seen", report("placed", run, PATH=path) ==
          report("placed", turned, PATH=path))
    check("without addr2line no file is known", report("placed", run, PATH="/nowhere")[0]["sites"][0]
          ["place"]["file"] is None)


def ties():
    """Of items with the same time, the name decides, then the place."""
    run = made.first()
    run["kernels"] = [made.kernel(name, 1, 9) for name in ("scale", "add")]
    run["calls"] = [made.call(name, "wait", 1, 9, 9) for name in ("cuEventSynchronize", "cuCtxSynchronize")]
    run["sites"] = [{**run["sites"][0], "python": [{"file": "train.py", "function": "step", "line": line}]}
                    for line in (8, 7)]
    run["buffers"] = [{**run["buffers"][0], "frames": [made.frame(0, offset)]} for offset in (96, 64)]
    run["repeats"] = None
    lists = ("kernels", "calls", "sites", "buffers")
    turned = {**run, **{name: run[name][::-1] for name in lists}}
    got, other = report("tied", run, turned)
    check("the order of equal times is not seen", all(got[name] == other[name] for name in lists))
    check("by name", [kernel["name"] for kernel in got["kernels"]] == ["add", "scale"])


def figures():
    first, blind = made.first(), made.without_device()
    runs = report("runs", first, made.second(), blind)
    check("a run for each file, in their order", [run["stage"] for run in runs] ==
          [first["stage"], made.second()["stage"], blind["stage"]], runs)
    check("wall and split", runs[0]["wall_ns"] == first["wall_ns"] and
          runs[0]["split"] == first["split"], runs[0]["split"])
    check("calls, most time first", [call["name"] for call in runs[0]["calls"]] ==
          ["cuMemcpyHtoD_v2", "cuInit", "cuLaunchKernel"], runs[0]["calls"])
    check("copies", sorted((row["view"], row["direction"], row["bytes"], row["busy_ns"])
                           for row in runs[0]["copies"] if row["view"] == "cupti") ==
          sorted((row["view"], row["direction"], row["bytes"], row["busy_ns"])
                 for row in first["transfers"] if row["view"] == "cupti"), runs[0]["copies"])
    waiting = made.first()
    waiting["sites"][0]["rows"][0].update(sync_count=7, sync_ns=8)
    check("sites", [site["rows"] for site in report("waiting", waiting)[0]["sites"]] ==
          [site["rows"] for site in waiting["sites"]], runs[0]["sites"])
    check("kernels are demangled", runs[0]["kernels"][0]["name"] ==
          "heat_step(float const*, float*, int)", runs[0]["kernels"])
    check("what is unknown is null", [runs[2][name] for name in
                                      ("split", "kernels", "sites", "buffers", "samples")] ==
          [None] * 5 and runs[2]["warnings"], runs[2])
    check("why there is no split", report("lossy", made.lossy())[0]["split_why"] == made.LOSS)
    taken = made.sampled(why="perf_event_paranoid is 3")
    taken["samples"] = None
    got = report("taken", taken)[0]
    check("why there are no samples", got["samples"] is None and
          got["sampling"]["why"] == "perf_event_paranoid is 3", got["sampling"])
    ranks = report("ranks", made.rank(1, 2), made.rank(0, 2), made.launcher())
    check("ranks stand for themselves", [run["rank"] for run in ranks] == ["1", "0", None], ranks)


def hostile():
    report("hostile", made.hostile())
    done = tap.run("report", "--json", "hostile0.json")
    check("no escape reaches the terminal", tap.no_control(done.stdout) and done.stdout.isascii(),
          ascii(done.stdout))
    nothing = made.first()
    for name in list(nothing):
        if name not in ("schema", "schema_version", "wall_ns", "process"):
            nothing[name] = None
    report("null", nothing)
    zero = made.sampled(hz=0)
    check("samples of no rate have no time", report("zero", zero)[0]["samples"][0]["self_ns"] is None)
    says("one bad of two", 1, "cannot read nothing.json", "report", "--json", "null0.json", "nothing.json")
    odd = os.path.join(tap.FOLDER.name.encode(), b"\xff.json")
    with open(odd, "w", encoding="utf-8") as file:
        json.dump(made.first(), file)
    done = tap.run("report", "--json", odd)
    check("a name that is no UTF-8", done.returncode == 0 and
          json.loads(done.stdout)["runs"][0]["profile"].endswith("\\xff.json"), done.stderr)


def strict():
    """The checker refuses reports with a single error."""
    good = {"schema": "hotpin.report", "schema_version": "1.0", "runs": report("good", made.first())}
    for change in ({"schema": "x"}, {"schema_version": "2.0"}, {"runs": [{}]}, {"surprise": 1},
                   {"runs": [{**good["runs"][0], "wall_ns": -1}]}):
        check(f"refused: {list(change)[0]}", list(schema.errors({**good, **change}, RULES)))


def main():
    names()
    ties()
    figures()
    hostile()
    strict()
    tap.end()


main()
