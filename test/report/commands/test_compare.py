#!/usr/bin/env python3
"""Tests `hotpin compare`: the comparison, its words, its exit status, and files that it refuses.
test_compare.py HOTPIN
"""
import csv
import io
import json
import os
import re
import subprocess

import made
import tap
from tap import check, says, write


def changed(base, wall=None, **more):
    """Returns a profile of `base` with another wall time; the difference is host code."""
    if wall is not None:
        base["split"]["host_ns"] += wall - base["wall_ns"]
        base["wall_ns"] = wall
    for place, value in more.items():
        if isinstance(value, dict):
            base[place].update(value)
        else:
            base[place] = value
    return base


def comparison_table():
    for name in ("first", "second", "third"):
        write(f"{name}.json", getattr(made, name)())
    says("slower is 3", 3, "^SLOWER: ", "compare", "--noise", "2", "third.json", "second.json")
    says("only the last step decides", 0, 'FASTER: "4: better" takes .* less', "compare",
         "--noise", "2", "first.json", "third.json", "second.json", write("fourth.json", changed(
             made.second(), 8 * made.SECOND, stage="4: better")))
    for columns in (60, 80):
        for count in (2, 3, 4):
            text = tap.run("compare", *["first.json", "second.json", "third.json", write(
                "long.json", changed(made.second(), stage="label " * 9))][:count], COLUMNS=columns).stdout
            check(f"{count} stages in {columns} columns", text and not tap.wider(text, columns),
                  "\n".join(tap.wider(text, columns)))
            check("a column each", len(re.findall("[0-9] m?s", "".join(
                line for line in text.splitlines() if line.startswith("  Wall time")))) == count, text)
    text, status = tap.at_terminal(60, [tap.HOTPIN, "compare", "--noise", "2", "first.json", "third.json"],
                                   {"PATH": os.environ["PATH"], "LC_ALL": "C", "TERM": "xterm"})
    check("at a terminal it is plain text, too", status == 0 and text.isascii() and "-75.0 %" in text and "+100.0 %" in text and
          "FASTER" in text and not tap.wider(text, 60), text)


def forms():
    for name in ("first", "second", "third"):
        write(f"{name}.json", getattr(made, name)())
    some_wait = made.first()
    for row in some_wait["transfers"][2:]:
        row.update(sync_bytes=row["bytes"] // 2, sync_ns=row["host_ns"] // 4)
    done = tap.run("report", "--csv", "summary", write("some_wait.json", some_wait))
    check("the rate at the call is that of calls that wait",
          list(csv.DictReader(io.StringIO(done.stdout)))[0]["h2d_at_call_bytes_per_s"] ==
          str(12 * made.GB * made.SECOND // (2900 * made.MILLI // 4)), done.stdout)


def noise():
    for wall, status, words in ((3_059, 0, '^SAME: "b" is as fast as "3: all kernels" within the noise'),
                                (3_061, 3, '61.0 ms more than "3: all kernels" \\(2.0'),
                                (2_941, 0, 'as fast as "3'),
                                (2_939, 0, '61.0 ms less than "3')):
        write("b.json", changed(made.third(), wall * made.MILLI, stage="b"))
        says(f"3 s and {wall} ms", status, words, "compare", "--noise", "2", "third.json", "b.json")
    write("b.json", changed(made.third(), 3_200 * made.MILLI, stage="b"))
    write("c.json", changed(made.third(), 3_100 * made.MILLI, stage="c"))
    says("a wider noise", 0, "noise 4.5 %, as given; one run each", "compare", "--noise", "4.5",
         "third.json", "c.json")
    done = says("so much that nothing is known", 0,
                r"^UNCLEAR: (.|\n)*Repeat\s+them\s+on\s+a\s+quiet\s+machine", "compare",
                "--noise", "10.5", "third.json", "b.json")
    check("and what differs is not the same", re.search("^  Wall time .*~noise$", done.stdout, re.M) and
          re.search("^  H2D copies .*same$", done.stdout, re.M), done.stdout)
    for text in ("banana", "-1", "2.55", "", "1e3", "99999"):
        says(f"noise {text!r}", 2, "percentage", "compare", "--noise", text, "a", "b")
    # Repeats of 3.0 to 3.3 s, so that 3.2 s means nothing.
    names = [write(f"repeat{i}.json", changed(made.third(), wall * made.MILLI))
             for i, wall in enumerate((3_100, 3_000, 3_300))]
    done = says("repeats say how large the noise is", 0, "noise 6.5 % .1 to 3 runs each.", "compare",
                *names, "b.json")
    check("repeats are told, the median stands for them",
          "repeat0.json and 2 more, 3.00 s to 3.30 s" in done.stdout, done.stdout)
    says("files of one stage alone", 4, "nothing to compare", "compare", *names)


def unknown():
    """One run each: the same program was seen to take 2.1 times as long."""
    def stage(name, *walls):
        return [write(f"{name}{i}.json", changed(made.third(), wall * made.MILLI, stage=name))
                for i, wall in enumerate(walls)]

    before = stage("one", 10_000)
    once = r"Run\s+each\s+at\s+least\s+twice,\s+as\s+`hotpin\s+bench\s+-n\s+5`"
    for wall, status, words in (
            (10_000, 0, r'^UNCLEAR: "b" cannot be distinguished from "one"\.(.|\n)*' + once),
            (21_000, 0, r'^UNCLEAR: "b" takes 11.0 s more than "one" .2.1 times as long.(.|\n)*' + once),
            (4_800, 0, '^UNCLEAR: "b" takes 5.20 s less than "one"'),
            (30_000, 0, "^UNCLEAR: "), (30_001, 3, "^SLOWER: "), (3_333, 0, "^FASTER: ")):
        after = stage("b", wall)
        done = says(f"one run each, 10 s and {wall} ms", status, words, "compare", *before, *after)
        check("whose noise is assumed", "assumed: one run each" in done.stdout, done.stdout)
    one = [*stage("two", 3_000, 3_010), *stage("b", 4_000)]
    says("repeats of one of them do not tell the noise of the other", 0, "^UNCLEAR: ", "compare", *one)
    both = [*stage("two", 3_000, 3_010), *stage("c", 4_000, 4_010)]
    says("repeats of both do", 3, '^SLOWER: "c" takes 1.00 s more', "compare", *both)
    wide = stage("wide", 9_000, 3_000, 3_010)
    close = stage("close", 2_460, 2_518, 2_630)
    says("only the runs of the two stages tell their noise", 0, '^FASTER: "close" takes 127 ms less than "near"',
         "compare", *wide, *stage("near", 2_642, 2_645, 2_648), *close)
    says("nor do repeats of the last stage", 0, "^UNCLEAR: ", "compare", *before, *both[2:])
    says("the user may tell it", 3, "^SLOWER: ", "compare", "--noise", "2", *one)


def little():
    """A kernel that takes a millisecond longer in 100 s, or a second."""
    write("a.json", changed(made.third(), 100_000 * made.MILLI, stage="a"))
    for ms, words in ((1, "noise 0.0 %, as given; one run each.\n\nNVTX"), (1000, "  900 ms +1.90 s +100 +100 +changed +.111.1 %  heat_step")):
        after = changed(made.third(), 100_000 * made.MILLI, stage="b")
        after["kernels"][0]["busy_ns"] += ms * made.MILLI
        says(f"{ms} ms of 100 s", 0, words, "compare", "--noise", "0", "a.json",
             write("b.json", after))


def ranks():
    before = [write(f"a{i}.json", made.rank(i, 2)) for i in range(2)]
    after = [write(f"b{i}.json", changed(made.rank(i, 2, slower=made.SECOND), stage="b"))
             for i in range(2)]
    done = says("ranks are added up", 3, "^  Wall time +6.00 s +8.00 s +.33.3 %$", "compare",
                "--noise", "2", *before, *after)
    check("and told", "a0.json and 1 more ranks, added up" in done.stdout, done.stdout)
    launched = write("launcher.json", changed(made.launcher(), stage="b"))
    says("what launched them is left out", 3, "^  Wall time +6.00 s +8.00 s +.33.3 %$",
         "compare", "--noise", "2", *before, launched, *after)
    says("one rank with another", 4, "rank 1 is not rank 0", "compare", before[0], after[1])
    says("ranks and repeats of a stage", 4, "both are the same rank, but of one stage", "compare",
         before[0], before[1], before[1], *after)
    says("repeats and ranks of a stage", 4, "neither repeats nor ranks of one run", "compare",
         before[1], before[1], before[0], *after)


def gate():
    first = write("first.json", made.first())
    for name, more, pattern in (
            ("device", {"environment": {"device": "Other GPU"}}, "Other GPU is not Example GPU"),
            ("stand-in", {"environment": {"stand_in": True}}, "stand-in device"),
            ("arguments", {"process": {"arguments_hash": "00"}}, "arguments of the program differ"),
            ("ranks", {"process": {"ranks": 4, "rank": "0"}}, "4 ranks are not 2"),
            ("killed", {"state": "running"}, "was still running, or was killed")):
        base = made.first() if name != "ranks" else made.rank(0, 2)
        start = first if name != "ranks" else write("two.json", {**base, "stage": "0"})
        other = write("other.json", changed(base, stage="b", **more))
        done = says(f"not comparable: {name}", 4, pattern, "compare", start, other)
        check(f"{name}: no figures are shown", "Wall time" not in done.stdout, done.stdout)
        says(f"forced: {name}", 0, "^(FASTER|SLOWER|SAME|UNCLEAR): ", "compare", "--force", start, other)
    for name, more, pattern in (
            ("host", {"process": {"host": "node18"}}, "ran on node18"),
            ("CPUs", {"process": {"cpus": 4}}, '"b" could use 4 CPUs, "1: one kernel" 16'),
            ("driver", {"environment": {"driver_version": 12080}}, 'driver of "b" supports CUDA 12.8, that of "1: one kernel" CUDA 13.0'),
            ("version", {"hotpin_version": "0.2.0"}, 'hotpin 0.2.0, "1: one kernel" by 0.1.0'),
            ("options", {"options": {"HOTPIN_PIN": "0"}}, 'HOTPIN_PIN is "1" in "1: one kernel", "0" in "b"'),
            ("truncated", {"truncated": True}, 'records of "b" are missing')):
        done = tap.run("compare", first, write("other.json", changed(made.first(), stage="b", **more)))
        check(f"noted: {name}", done.returncode == 0 and re.search(
            "note: .*" + pattern, " ".join(done.stdout.split())), done.stdout)
    older = changed(made.first(), stage="b", process={"arguments_hash": "9f86d081884c7d65"})
    says("an older file has more of the hash", 0, "^stages\n.*\n.*\n\n", "compare", first, write("older.json", older))
    older["process"]["arguments_hash"] = "9f87d081884c7d65"
    says("which can differ, too", 4, "arguments of the program differ", "compare", first, write("older.json", older))
    says("another program is what a stage is", 0, "^stages\n.*\n.*\n\n", "compare", first,
         write("other.json", changed(made.first(), stage="b", process={"program": "heat2"})))
    says("an option that cannot matter", 0, "^stages\n.*\n.*\n\n", "compare", first,
         write("other.json", changed(made.first(), stage="b", options={"HOTPIN_OUT": "x"})))
    done = says("without device times", 0, '"b" has no device times', "compare", "third.json",
                write("without.json", {**made.without_device(), "stage": "b"}))
    check("what one of two does not know is no row; copies go by their calls",
          "n/a" not in done.stdout and "Kernels" not in done.stdout and re.search(
              "^    GB/s, at call +48.4 +48.4 +same$", done.stdout, re.M), done.stdout)
    done = tap.run("compare", first, write("lossy.json", {**made.lossy(), "stage": "b"}))
    check("without a split of one stage, and why", '"b": The wall time is not split: ' + made.LOSS.partition(": ")[0] + "."
          in " ".join(done.stdout.split()) and "Host code" not in done.stdout, done.stdout)
    says("an unreadable file is no regression", 1, "cannot read nothing.json", "compare", first,
         "nothing.json")
    says("files without a label go by their names", 0, '^SAME: "y.json" is as fast as "x.json"',
         "compare", "--noise", "2", write("x.json", changed(made.first(), stage=None)),
         write("y.json", changed(made.first(), stage=None)))
    for folder in ("old", "new"):
        os.mkdir(os.path.join(tap.FOLDER.name, folder))
        write(f"{folder}/run.json", changed(made.first(), stage=None))
    says("or by their paths", 0, '"new/run.json" is as fast as "old/run.json"', "compare",
         "--noise", "2", "old/run.json", "new/run.json")
    says("options of looking on are one note", 0, '^stages\n.*\n.*\n  note: "b" ran with --observe, '
         '"1: one kernel" did not\n\n', "compare",
         write("all.json", changed(made.first(), options=OBSERVED[0])),
         write("other.json", changed(made.first(), stage="b", options=OBSERVED[1])))
    says("the stand-in device under both", 0, "note: these ran on the stand-in device; all device times are modeled",
         "compare", write("all.json", changed(made.first(), environment={"stand_in": True})),
         write("other.json", changed(made.first(), stage="b", environment={"stand_in": True})))


OBSERVED = [{"HOTPIN_PIN": "1", "HOTPIN_RING": "32M", "HOTPIN_ASYNC": "1", "HOTPIN_HEAP_MIN": "256K"},
            {"HOTPIN_PIN": "0", "HOTPIN_RING": "0", "HOTPIN_ASYNC": "0", "HOTPIN_HEAP_MIN": "0"}]


def hotpin_alone():
    """If only hotpin made the difference, the prediction is that of its own change."""
    write("observed.json", changed(made.ported_next(), options=OBSERVED[1]))
    pin = "advised: pin the host memory of copies"
    for name, more, expected in (
            ("the same program with hotpin", {}, True),
            ("another build of it", {"modules": [{"path": "/nowhere/heat", "build_id": "00"}, {"path": "/x", "build_id": None}]}, False),
            ("observed both times", {"options": OBSERVED[1]}, False)):
        after = changed(made.second(), stage="b", **{"options": OBSERVED[0], **more})
        done = tap.run("compare", "observed.json", write("other.json", after))
        check(f"{name}: {'pinning' if expected else 'the first suggestion'} is compared",
              "advised: " in done.stdout and (pin in done.stdout) == expected, done.stdout)
    nothing = changed(made.third(), options=OBSERVED[1])
    nothing["transfers"] = [{**part, "memory": "pinned"} for part in nothing["transfers"]]
    done = tap.run("compare", write("observed.json", nothing),
                   write("other.json", changed(made.third(), stage="b", options=OBSERVED[0])))
    check("nothing to pin, nothing predicted", done.returncode == 0 and "advised: " not in done.stdout and
          "Predicted before" not in done.stdout, done.stdout)


def ends():
    """A crash is not faster."""
    def ended(name, status, **more):
        return write(name, changed(made.first(), 12 * made.SECOND + len(name), **{
            "process": {"exit_status": status}, **more}))

    well, old = ended("well.json", 0), write("old.json", made.first())
    done = says("a program that failed is no stage", 4, "the program of failed.json exited with "
                "1, others did not", "compare", well, ended("failed.json", 1, stage="b"))
    check("nor are there figures", "Wall time" not in done.stdout, done.stdout)
    says("nor a repeat", 4, "the program of again.json exited with 3", "compare", well,
         ended("again.json", 3), ended("b.json", 0, stage="b"))
    says("also where older files do not say", 4, "exited with 1", "compare", old,
         ended("failed.json", 1, stage="b"))
    says("forced", 0, "^(FASTER|SLOWER|SAME|UNCLEAR): ", "compare", "--force", well, "failed.json")
    says("a status that all have", 0, "note: all programs exited with 1$", "compare",
         ended("failed0.json", 1), "failed.json")
    done = says("no failure", 0, "^(FASTER|SLOWER|SAME|UNCLEAR): ", "compare", well, ended("b.json", 0, stage="b"))
    check("is not told", "exited" not in done.stdout + done.stderr, done.stdout)
    says("a device that is used no more", 0, 'note: "none" used no device, but "1: one kernel" did',
         "compare", well, write("none.json", changed(made.without_device(), stage="none", backend={
             "kind": "none"})))
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([tap.HOTPIN, "compare", well, "b.json"], cwd=tap.FOLDER.name,
                              stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    check("a full disk is no stage that is slower", done.returncode == 1 and
          "cannot write: No space left" in done.stderr, done.returncode, done.stderr)
    done = says("report tells a failure", 0, "^note: the program exited with 1$", "report",
                "failed.json")
    check("and not what is next to port", "The program failed; fix it first." in done.stdout and
          "Next" not in done.stdout, done.stdout)
    done = says("of any rank", 0, "^note: the program exited with 1$", "report", "--force", well, "failed.json")
    check("once", done.stdout.count("exited with 1") == 1, done.stdout)
    says("or that it had not ended", 0, "^note: the program was still running", "report",
         ended("killed.json", None, state="running"))
    tap.run("html", "-o", "failed.html", "failed.json")
    page = tap.text_of(tap.path("failed.html"))
    check("the page tells a failure", ">the program exited with 1<" in page and
          "The program failed; fix it first." in page and "First: " not in page,
          page[:2000])


def kernels():
    base = made.third()
    base["kernels"] = [made.kernel(f"k{i:02}", 10, (100 + i) * made.MILLI) for i in range(30)]
    after = changed(made.third(), stage="b")
    after["kernels"] = [made.kernel(f"k{i:02}", 10, (100 + i) * made.MILLI) for i in range(15, 45)]
    after["kernels"][0]["busy_ns"] *= 4
    done = says("many are new or gone", 0, "^ +115 ms +460 ms +10 +10 +changed +.300.0 %  k15$", "compare",
                write("a.json", base), write("b.json", after))
    check("what is left out is counted", "  and 21 more\n" in done.stdout,
          done.stdout)
    check("new ones and vanished ones are told", done.stdout.count("  new ") == 9, done.stdout)
    for run, ns in (base, 100 * made.MILLI), (after, 300 * made.MILLI):
        run["kernels"] = [made.kernel("k", 10, ns), made.kernel("k", 10, 2 * ns)]
    done = says("those of one name are one", 0, "^ +300 ms +900 ms +20 +20 +changed +.200.0 %  k$", "compare",
                write("a.json", base), write("b.json", after))
    check("and in one row", done.stdout.count("  k\n") == 1, done.stdout)


def hostile():
    other = made.hostile()
    other["stage"] = "b" + made.HOSTILE
    other["kernels"][0]["busy_ns"] = 99
    done = says("hostile names", 0, "^(FASTER|SLOWER|SAME|UNCLEAR): ", "compare", write("h1.json", made.hostile()),
                write("h2.json", other))
    check("nothing that a terminal obeys", tap.no_control(done.stdout + done.stderr),
          repr(done.stdout))
    for place, value in (("environment", {"device": made.HOSTILE + "2"}),
                         ("options", {"HOTPIN_STAGE": "x", "HOTPIN_PIN": made.HOSTILE})):
        done = tap.run("compare", "h1.json", write("h3.json", changed(
            made.hostile(), stage="c", **{place: value})))
        check(f"nor in a message about {place}", done.returncode in (0, 4) and
              tap.no_control(done.stdout + done.stderr), repr(done.stdout + done.stderr))
    bad = []
    for turn, text in enumerate(tap.spoilt(80, json.dumps(made.hostile()).encode())):
        done = tap.run("compare", "--force", "h2.json", write("spoilt.json", text))
        if done.returncode not in (0, 1, 3, 4):
            bad.append((turn, done.returncode, done.stderr[-400:]))
    check("80 spoilt files", not bad, bad)


def main():
    comparison_table()
    forms()
    noise()
    unknown()
    little()
    ranks()
    gate()
    hotpin_alone()
    ends()
    kernels()
    hostile()
    tap.end()


main()
