#!/usr/bin/env python3
"""Tests that places in Python come first in every command that names places.  test_python_places.py
HOTPIN
"""
import os
import re

import made
from tap import FOLDER, check, end, run, says, write

SCRIPT = os.path.join(FOLDER.name, "train.py")
LIBRARY = "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py"


def source(file, function, line):
    return {"file": file, "function": function, "line": line}


def site(direction, ns, python):
    return {"frames": [made.frame(0, 0x1234), made.frame(None, 0x7f0000001000)], "python": python,
            "rows": [{"direction": direction, "memory": "pageable", "count": 10, "bytes": made.GB,
                      "host_ns": ns, "sync_count": 10, "sync_ns": ns}]}


def profile():
    run_of = made.events([[3, 0, 1000, 5000, 0, 64, 1]], ["HtoD pageable, waits"],
                         [{"kind": "thread", "name": None, "device": None, "context": None,
                           "stream": None, "tid": 4711, "threads": 1}])
    step = source(SCRIPT, "Trainer.step", 3)
    run_of["modules"] = [{"path": "/nowhere/libtorch_cuda.so", "build_id": None}]
    run_of["sites"] = [
        site("h2d", 900 * made.MILLI, [step, source(SCRIPT, "<module>", 6)]),
        site("h2d", 700 * made.MILLI, [source(LIBRARY, "Module._apply", 955),
                                       source(LIBRARY, "Module.to", 1343), source(SCRIPT, "load", 5)]),
        site("d2h", 5 * made.MILLI, [source("<string>", "<module>", 1)])]
    ends = {name: {"call": call, "frames": [made.frame(0, 0x99)], "python": [step]}
            for name, call in (("before", "cuMemcpyDtoH_v2"), ("after", "cuMemcpyHtoD_v2"))}
    run_of["gaps"] = [{**ends, "count": 4, "total_ns": 300 * made.MILLI, "longest_ns": 90 * made.MILLI}]
    run_of["python_samples"] = [
        {"python": [source(SCRIPT, "augment", 2)], "samples": 7, "cpu_ns": 70 * made.MILLI},
        {"python": [source(LIBRARY, "Module._apply", 9), source(SCRIPT, "augment", 2)], "samples": 1,
         "cpu_ns": 10 * made.MILLI},
        {"samples": 2, "cpu_ns": 20 * made.MILLI}]
    run_of["python_files"] = [{"file": SCRIPT, "bytes": os.path.getsize(SCRIPT),
                               "modified_ns": os.stat(SCRIPT).st_mtime_ns}]
    run_of["repeats"], run_of["samples"] = None, None
    run_of["sampling"] = {**made.sampled()["sampling"], "mode": "none", "why": "no perf events"}
    return run_of


def places(report, direction):
    return [row["place"] for row in report["sites"] if row["rows"][0]["direction"] == direction]


def natively(of, offset):
    """Returns the site with other native code below its line."""
    return {**of, "frames": [made.frame(0, offset), *of["frames"][1:]]}


def one_line():
    """Sites of one line are one row in text, page and table; JSON has all of them."""
    run_of, step = profile(), [source(SCRIPT, "step", 3), source(SCRIPT, "<module>", 6)]
    lone = site("h2d", 900 * made.MILLI, step)
    run_of["sites"] = [lone, site("d2h", 50 * made.MILLI, [source(SCRIPT, "load", 5)]),
                       {**natively(site("h2d", 300 * made.MILLI, step), 0x99), "folded": True},
                       natively(site("d2h", 20 * made.MILLI, step), 0x77),
                       natively(site("h2d", 7 * made.MILLI, [source(LIBRARY, "to", 4), *step]), 0x55)]
    run_of["repeats"] = {"hashed_copies": 40, "hashed_bytes": 4, "hash_ns": 1,
                         "duplicates": made.total(12, 12, 12), "ping_pong": made.total(0, 0, 0),
                         "sites": [{"kind": "duplicate", "site": at, "buffer": None, "count": 3, "bytes": 3,
                                    "host_ns": 3} for at in (0, 2, 3, 4)]}
    write("one.json", run_of)
    text = run("report", "one.json", COLUMNS=120).stdout
    check("report: a row for each line and kind of copy", re.search(
        r"COPY SITES.*\n.*\n +1.21 s +30 +3.00 GB +H2D pageable +step at train.py:3 +<module> at train.py:6\n"
        r" +20.0 ms +10 +1.00 GB +D2H pageable +step at train.py:3 +<module> at train.py:6\n"
        r" +50.0 ms +10 +1.00 GB +D2H pageable +load at train.py:5 *\n\n", text), text)
    check("report: unchanged copies of a line are a row",
          len(re.findall(r" 12 +12 B +same as last time +step at train.py:3", text)) == 1, text)
    table = run("csv", "-t", "sites", "one.json").stdout.split("\n")[1:-1]
    check("csv: a row for each line and kind of copy",
          [line.split(",", 3)[3] for line in table] ==
          [f'"h2d","pageable","step","train.py:3",,,{1207 * made.MILLI},30,{3 * made.GB}',
           f'"d2h","pageable","step","train.py:3",,,{20 * made.MILLI},10,{made.GB}',
           f'"d2h","pageable","load","train.py:5",,,{50 * made.MILLI},10,{made.GB}'], table)
    page = run("html", "-o", "-", "one.json").stdout
    check("html: a row for each line and kind of copy",
          len(re.findall(r'<td class="text">(<a [^>]*>)?step at train.py:3(</a>)?</td>'
                         r'<td class="text">(<a [^>]*>)?&lt;module&gt; at train.py:6', page)) == 2, page)
    advice = run("csv", "-t", "advice", "one.json").stdout
    check("csv: the advice is of the line", re.findall(r'"upload_once","[^"]*","([^"]*)"', advice) ==
          ["step at train.py:3"], advice)


def of_ranks():
    """What all ranks did at a line is one row. Their native code may differ."""
    for number in range(2):
        rank = profile()
        rank["process"].update(rank=str(number), ranks=2, pid=4711 + number)
        rank["sites"] = [natively(of, 0x1000 + number) for of in rank["sites"]]
        rank["python_samples"].append({"python": [source(SCRIPT, "only", number + 1)], "samples": 5,
                                       "cpu_ns": 50 * made.MILLI})
        write(f"rank{number}.json", rank)
    text = run("report", "rank0.json", "rank1.json", COLUMNS=120).stdout.split("ALL RANKS TOGETHER")[1]
    check("ranks: a line is one row", len(re.findall(
        r"1.80 s +20 +2.00 GB +H2D pageable +Trainer.step at train.py:3 +<module>", text)) == 1 and
          text.count("Trainer.step at train.py:3") == 1, text)
    check("ranks: CPU time of the lines of all ranks", re.search(
        r"PYTHON LINES .*\n.*\n +53.3 % +160 ms +16 +augment at train.py:2\n +16.7 % +50.0 ms +5 +only at train.py:1\n"
        r" +16.7 % +50.0 ms +5 +only at train.py:2\n +13.3 % +40.0 ms +4 +unknown\n", text), text)
    page = run("html", "-o", "-", "rank0.json", "rank1.json").stdout.split("Times of all ranks are added up")[1]
    check("html: lines of all ranks", "only at train.py:1" in page and "only at train.py:2" in page and
          page.count(">Trainer.step at train.py:3</td><td class=\"text\">&lt;module&gt;") == 1, page[:3000])
    blind = profile()
    blind["process"].update(rank="1", ranks=2)
    del blind["python_samples"]
    write("blind.json", blind)
    says("ranks: lines of some ranks, and which", 0, "note: Python lines are of 1 of the 2 ranks", "report",
         "rank0.json", "blind.json")


def main():
    with open(SCRIPT, "w", encoding="utf-8") as file:
        file.write("".join(f"line_{number}()\n" for number in range(1, 8)))
    os.utime(SCRIPT, (1_000_000_000, 1_000_000_000))
    write("run.json", profile())

    says("report: the innermost line, and its caller", 0,
         r"Trainer.step at train.py:3 +<module> at train.py:6", "report", "--all", "run.json", COLUMNS=120)
    says("report: the program's line rather than a library's", 0, r"load at train.py:5\b", "report", "run.json")
    says("report: not a file", 0, r"<module> at <string>:1", "report", "run.json")
    says("report: gaps", 0, r"Trainer.step at train.py:3 \(cuMemcpyDtoH_v2\)", "report", "--all", "run.json", COLUMNS=160)

    says("report: lines by CPU time, with what they called", 0,
         r"PYTHON LINES .*\n.*\n +80.0 % +80.0 ms +8 +augment at train.py:2\n +20.0 % +20.0 ms +2 +unknown\n",
         "report", "run.json", COLUMNS=120)

    importing = profile()
    frozen, read = (source("<frozen importlib._bootstrap>", "_call_with_frames_removed", 488),
                    source("<frozen importlib._bootstrap_external>", "FileLoader.get_data", 1187))
    importing["python_samples"] += [{"python": [frozen], "samples": 600, "cpu_ns": 6000 * made.MILLI},
                                    {"python": [read, frozen], "samples": 5, "cpu_ns": 50 * made.MILLI},
                                    {"python": [read, source(SCRIPT, "<module>", 1)], "samples": 3,
                                     "cpu_ns": 30 * made.MILLI}]
    write("import.json", importing)
    says("report: imports are one line, except of a known line", 0,
         r" +97.9 % +6.05 s +605 +imports of modules\n +1.3 % +80.0 ms +8 +augment at train.py:2\n"
         r" +0.5 % +30.0 ms +3 +<module> at train.py:1\n +0.3 % +20.0 ms +2 +unknown\n", "report", "import.json",
         COLUMNS=120)
    page = run("html", "-o", "-", "import.json").stdout
    check("html: imports are one line", "imports of modules" in page and "frames_removed at" not in page, page[-3000:])
    done = run("annotate", "import.json").stdout
    check("annotate: code without a file comes last", 0 < done.find(SCRIPT) < done.find("<frozen importlib"), done)

    check("annotate: code without a file", "<frozen importlib._bootstrap>\n  copies took 0 ns\n" in done and
          "note: this code was in no file" in done and "--source" not in done, done)
    check("html: code without a file", "This code was in no file." in page and "--source DIR" not in page, page[-3000:])

    native = profile()
    native["python_samples"] += [{"frames": [made.frame(0, 0x99)], "samples": 6, "cpu_ns": 60 * made.MILLI}]
    write("native.json", native)
    says("report: native frames are no place in Python", 0, r"50.0 % +80.0 ms +8 +unknown\n", "report", "native.json",
         COLUMNS=120)

    copy_of = profile()
    helper = source(SCRIPT, "to_device", 1)
    copy_of["sites"] = [site("h2d", 900 * made.MILLI, [helper, source(SCRIPT, "step", 3), source(SCRIPT, "<module>", 6)]),
                        site("h2d", 700 * made.MILLI, [helper, source(SCRIPT, "step", 4), source(SCRIPT, "<module>", 6)]),
                        site("d2h", 5 * made.MILLI, [source(SCRIPT, "step", 5), source(SCRIPT, "<module>", 6)])]
    write("helper.json", copy_of)
    says("report: callers distinguish the sites of one line", 0,
         r"to_device at train.py:1 *\n    from step at train.py:3, from <module> at train.py:6\n"
         r".*to_device at train.py:1 *\n    from step at train.py:4, from <module> at train.py:6\n"
         r".*step at train.py:5 *\n\n", "report", "helper.json")
    says("report: the column is for the others", 0,
         r"to_device at train.py:1 +step at train.py:3\n    from step at train.py:3, from <module> at train.py:6\n"
         r"[^$]*step at train.py:5 +<module> at train.py:6\n", "report", "helper.json", COLUMNS=120)

    one_line()
    csv = run("csv", "-t", "sites", "run.json").stdout
    check("csv: function and line", '"Trainer.step","train.py:3",' in csv and '"load","train.py:5",' in csv, csv)
    page = run("html", "-o", "-", "run.json").stdout
    check("html: line and caller",
          re.search('>Trainer.step at train.py:3(</a>)?</td><td class="text">(<a [^>]*>)?&lt;module&gt; at train.py:6', page),
          page[-3000:])
    check("html: CPU time by line", "augment at train.py:2" in page and "80.0 ms" in page, page[-3000:])
    says("trace: the call's place", 0, r"load at train.py:5", "trace", "-o", "-", "run.json")
    annotated = run("annotate", "run.json", SCRIPT).stdout
    check("annotate: copies at their lines",
          any("900 ms" in line and "line_3()" in line for line in annotated.split("\n")), annotated)
    check("annotate: CPU time at the program's line",
          any("80.4 ms" in line and "line_2()" in line for line in annotated.split("\n")), annotated)
    says("annotate: a library does not take the program's place", 0, r"train.py", "annotate", "run.json")

    perf = made.sampled()
    perf["samples"] = [{"frames": [made.frame(None, 4096, name="py::Trainer.step:" + SCRIPT)],
                        "first_thread": 100, "other_threads": 0}]
    write("perf.json", perf)
    says("samples: a name of CPython's perf map", 0, r"  Trainer.step in train.py\b", "report", "perf.json")

    of_ranks()
    for name, wrong in (("a list", 3), ("a line", [{"file": "a", "function": "b"}]),
                        ("a number", [source("a", "b", -1)]), ("an object", ["a"])):
        bad = profile()
        bad["sites"][0]["python"] = wrong
        write("bad.json", bad)
        says(f"what is not {name} is refused", 1, r"sites\[0\]", "report", "bad.json")
    end()


main()
