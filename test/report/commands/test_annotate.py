#!/usr/bin/env python3
"""Tests `hotpin annotate`: figures at the right lines, and missing sources of every kind.
test_annotate.py HOTPIN
"""
import os
import re

import made
import program
import tap
from sources import (FAR, FOLDER, HEAT, LINES, MAIN, RUNTIME, SOURCE, UPLOAD, binary, chain, prepare, profile,
                     site)
from tap import check, says, write

def most():
    done = says("the files with most time", 0, f"^{re.escape(HEAT)}: copies took", "annotate", "run.json")
    text = done.stdout
    check("copies at their line, past CUDA's runtime", re.search(
        r"^ +200 +24\.0 GB +2\.90 s +10  line_10;$", text, re.M), text)
    check("also those of a discriminator", re.search(
        r"^ +100 +16\.0 GB +2\.00 s +12  line_12;$", text, re.M), text)
    check("memcpy(), and a function of a library's header, count for the line that calls them", re.search(
        r"^ {20} +3\.00 s +40  line_40;$", text, re.M), text)
    check("a library's header for the line that it was inlined into", re.search(
        r"^ {20} +1\.00 s +42  line_42;$", text, re.M) and "stl_vector" not in text, text)
    check("what CUDA does is in no line", "inside CUDA's libraries, in no line: 3.00 s" in text, text)
    check("nor is what has none", "without a source line: 3 copies, 7.00 ms" in text and
          "without a source line: 10.0 s of host code" in text, text)
    check("three lines around", [int(n) for n in re.findall(r"  line_(\d+);", text)] ==
          [*range(7, 16), *range(37, 46)], text)
    check("and what is left out is marked", len(re.findall(r"^ +\.\.$", text, re.M)) == 2, text)
    check("most time first", text.index(HEAT) < text.index(FAR), text)
    check("launches are not known, which is told", "does not say which lines launch" in text, text)
    check("the same file by another way is the same", text.count(HEAT) == 1, text)
    check("stderr is empty", done.stderr == "", done.stderr)


def launched():
    run = profile(launches=[
        {"frames": [made.frame(0, RUNTIME + 0x11), made.frame(0, MAIN + 0x11)], "count": 4000,
         "host_ns": 20 * made.MILLI},
        {"frames": [made.frame(0, 0x7777)], "count": 7, "host_ns": 5}], launches_lost=0)
    text = tap.run("annotate", write("launched.json", run)).stdout
    check("launches at their line, past CUDA's runtime", re.search(
        r"^ {20} +4 000 +3\.00 s +40  line_40;$", text, re.M), text)
    check("and those that have none", "without a source line: 7 launches" in text, text)
    check("whose kernels are not known", "the profile has no kernel times of lines" in " ".join(text.split()), text)
    for launch, figures in zip(run["launches"], ((5000, 2 * made.SECOND, 0), (7, 70 * made.MILLI, 1))):
        launch.update(zip(("kernels", "device_ns", "estimated_ns"), figures))
    run["launches_rest"] = {"kernels": 3, "device_ns": 4 * made.MILLI}
    text = tap.run("annotate", write("launched.json", run)).stdout
    check("the time of their kernels", re.search(
        r"^ {20} +4 000 +2\.00 s +3\.00 s +40  line_40;$", text, re.M), text)
    check("also of those without a line", "without a source line: 7 launches, kernels took 70.0 ms" in
          text and "launched from no known place: 3 kernels, 4.00 ms" in text, text)
    check("which needs no note then", "has no kernel times" not in text, text)
    run["launches"][0]["estimated_ns"] = 30 * made.MILLI
    text = tap.run("annotate", write("launched.json", run)).stdout
    check("what is partly an estimate", re.search(r" ~2\.00 s +3\.00 s +40  line_40;$", text, re.M), text)
    only = profile(launches=[{"frames": launch["frames"], "count": launch["count"], "host_ns": 5}
                             for launch in run["launches"]], sites=[], samples=[])
    text = tap.run("annotate", write("launched.json", only)).stdout
    check("launches alone", re.search(r"^ +4 000 +40  line_40;$", text, re.M), text)


def little():
    """Host code is shown next to copies that took far longer, and one line among many is not
    hidden."""
    run = profile()
    run["sites"][0]["rows"][0]["host_ns"] = 900 * made.SECOND
    run["samples"] += [chain(1, made.frame(0, 0x6000 + i)) for i in range(30)]
    lines = {**LINES, **{0x6000 + i: [f"{HEAT}:{i + 28}"] for i in range(30)}}
    binary(lines)
    text = tap.run("annotate", write("little.json", run)).stdout
    check("a twentieth of the samples matters, a sample does not", re.search(
        r"^ +3\.0\d s +40  line_40;$", text, re.M) and "line_43;" in text and
        "line_50;" not in text, text)
    binary()


def missing():
    done = says("a source that is not there", 0,
                r"/io\.c: copies took 100 ms\n(.*\n)+  note: the source is not shown: it is not below the current folder", "annotate",
                "run.json")
    check("its lines have their functions", re.search(
        r"^ +5 +500 B +100 ms +7  in main$", done.stdout, re.M), done.stdout)
    for name, text in (("far/a/solver", "of_solver;"), ("near", "of_near;")):
        os.makedirs(os.path.join(FOLDER, name))
        write(name + "/io.c", "\n" * 6 + text + "\n")
    says("--source", 0, " 7  of_near;\n  read from near/io.c", "annotate", "--source", "near",
         "run.json")
    for order in (["-s", "near", "--source=far/a"], ["-s", "far/a", "-s", "near"]):
        says("the longest end of the path", 0, " 7  of_solver;\n  read from far/a/solver/io.c",
             "annotate", *order, "run.json")
    says("a folder that is not there", 0, "is not shown: it is not below the current folder", "annotate",
         "-s", "/nowhere", "run.json")
    for command in ("annotate", "html"):
        done = tap.run(command, "-s", "/nowhere", "-s", "near", "-s", "near/io.c", "run.json")
        check(f"{command}: it is told once, although another folder has the source", done.returncode == 0 and
              re.sub("hotpin: the page contains .*\n", "", done.stderr) == "".join(
                  f"hotpin: --source {folder}: cannot be searched ({why}); name an existing folder\n"
                  for folder, why in (("/nowhere", "No such file or directory"),
                                      ("near/io.c", "Not a directory"))), done.stderr)


def other_source():
    """The source was changed after the build, or is another one."""
    os.utime(HEAT, (2_000_000_000, 2_000_000_000))
    says("a source that is newer than its program", 0,
         "note: the source was changed after heat was built; other lines may have run", "annotate",
         "run.json")
    write("src/heat.c", "a;\n" * 7 + "b;")
    done = says("a source that is too short", 0, "note: the source ends before the last lines",
                "annotate", "run.json")
    check("loses no figure", " 8  b;\n" in done.stdout and
          re.search(r"2\.90 s +10  in upload$", done.stdout, re.M), done.stdout)
    write("src/heat.c", "")
    says("an empty source", 0, "ends before", "annotate", "run.json")
    write("src/heat.c", SOURCE)
    os.utime(HEAT, (1_000_000_000, 1_000_000_000))


def no_lines():
    binary({})
    says("no lines", 1, "no source line is known; compile ", "annotate", "run.json")
    binary()
    later = profile()
    later["modules"][0]["build_id"] = "00" * 20
    says("another build", 1, "heat differs from the file that was profiled", "annotate",
         write("later.json", later))
    says("neither sites nor samples", 1, "neither copy sites nor samples", "annotate",
         write("none.json", profile(sites=None, samples=None)))
    refused = profile(samples=None)
    refused["sampling"]["why"] = "perf_event_paranoid is 3"
    done = says("no samples, and why", 0, "^host code was not sampled: perf_event_paranoid is 3$",
                "annotate", write("refused.json", refused))
    check("then there is no column of them", re.search(r"^ +copies +bytes +at call  line  source$",
                                                       done.stdout, re.M), done.stdout)
    done = says("no sites", 0, "^copies: the profile has no call sites$", "annotate",
                write("siteless.json", profile(sites=None)))
    check("nor columns of copies", re.search(r"^ +host  line  source$", done.stdout, re.M), done.stdout)
    old = profile()
    del old["samples"], old["sampling"]
    done = says("a profile without samples", 0, r" 2\.90 s +10  line_10;", "annotate",
                write("old.json", old))
    check("says what it lacks", "host code was not sampled: the profile has no samples" in
          done.stdout, done.stdout)
    unknown = profile()
    unknown["sites"][0]["rows"][0].update(count=None, bytes=None)
    unknown["sampling"]["hz"] = None
    says("what is unknown is n/a", 0, r"^ +n/a +n/a +2\.90 s +10  line_10;", "annotate",
         write("unknown.json", unknown))


def many_files():
    run = profile(samples=None)
    run["sites"] = [site("h2d", 1, 1, (9 - i) * made.MILLI, made.frame(0, 0x5001 + 16 * i))
                    for i in range(8)]
    lines = {0x5000 + 16 * i: [f"/none/{i}.c:1"] for i in range(8)}
    binary(lines)
    text = says("five files at most", 0, "less time in 3 more files:\n +4.00 ms  /none/5.c\n", "annotate",
                write("many.json", run)).stdout
    check("those with most time", re.findall(r"^/none/(\d)\.c: ", text, re.M) == list("01234"), text)
    binary()


def narrow():
    for columns in (60, 79, 100):
        text = tap.run("annotate", "run.json", COLUMNS=columns).stdout
        wide = [line for line in text.splitlines() if len(line) > columns]
        check(f"{columns} columns", not wide and re.search("2.90 s +10 ", text), wide, text)
    for silly in ("0", "-5", "x", "99999999999999999999", "1"):
        says(f"COLUMNS={silly}", 0, "2.90 s +10", "annotate", "run.json", COLUMNS=silly)
    shown, _ = tap.at_terminal(64, [tap.HOTPIN, "annotate", "run.json"],
                               {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
    lines = shown.split("\n")
    check("as wide as the terminal", max(map(len, lines)) <= 64 and
          any("line_10;" in line for line in lines), lines)


def harmless():
    write("src/heat.c", "\n" * 8 + "a\t\x1b[31mred\x00\x9b\r\n\x1b]0;t\x07\u202eevil\xff\n" +
          "x" * 100_000 + "\n" + "\U0001f680" * 3000 + "\n\xe9" * 60)
    text = tap.run("annotate", "run.json").stdout
    check("nothing that a terminal obeys is in a source", tap.no_control(text) and
          "a       \\x1b[31mred\\x00" in text and not re.search("[\udc80-\udcff]", text), ascii(text[:2000]))
    with open(HEAT, "wb") as file:
        file.write(bytes(range(256)) * 300)
    text = tap.run("annotate", "run.json").stdout
    check("nor in a binary", tap.no_control(text) and not re.search("[\udc80-\udcff]", text), ascii(text[:2000]))
    write("src/heat.c", SOURCE)
    evil = made.HOSTILE.replace("/", "").replace("'", "")
    lines = {**LINES, MAIN + 0x20: [f"/{evil}/\x1b[2J.c:7"]}
    run = {**made.hostile(), "sites": profile()["sites"], "samples": profile()["samples"],
           "sampling": profile()["sampling"]}
    run["modules"] = profile()["modules"] + run["modules"]
    run["process"]["ended_utc"] = program.LATER
    run["sampling"]["why"] = made.HOSTILE
    write("hostile.json", run)
    binary(lines)
    done = tap.run("annotate", "hostile.json", COLUMNS=60)
    check("hostile names", done.returncode == 0 and tap.no_control(done.stdout + done.stderr),
          ascii(done.stdout + done.stderr))
    os.mkfifo(os.path.join(FOLDER, "pipe.c"))
    with open(os.path.join(FOLDER, "large.c"), "wb") as file:
        file.truncate(1 << 40)
    elsewhere = "it is not below the current folder"
    for name, why in ((FOLDER + "/pipe.c", "Invalid argument"), (FOLDER + "/large.c", "File too large"),
                      ("/dev/zero", elsewhere), (FOLDER, elsewhere), ("/proc/self/mem", elsewhere),
                      ("/" + "x/" * 1900 + "y.c", elsewhere), ("../" * 90 + "nothing.c", elsewhere)):
        binary({**LINES, MAIN + 0x20: [name + ":7"]})
        says(f"{name[:40]} as a source holds nobody up", 0, f"the source is not shown: .*({why})",
             "annotate", "-s", FOLDER, "run.json")
    huge = {**LINES, MAIN + 0x20: [f"{HEAT}:{(1 << 31) - 1}"], UPLOAD + 0x20: [f"{HEAT}:{'9' * 40}"]}
    binary(huge)
    says("line numbers without end", 0, "ends before", "annotate", "run.json")
    figures = profile()
    for row in (figures["sites"][0]["rows"][0], figures["sites"][1]["rows"][0]):
        row.update(count=(1 << 63) - 1, bytes=(1 << 63) - 1, host_ns=(1 << 63) - 1)
    figures["samples"][0]["first_thread"] = figures["samples"][1]["first_thread"] = (1 << 63) - 1
    binary()
    says("figures without end", 0, "  line_10;", "annotate", write("huge.json", figures))


def main():
    prepare()
    most()
    launched()
    little()
    missing()
    other_source()
    no_lines()
    many_files()
    narrow()
    harmless()
    says("a bad file", 1, "cannot read nothing.json", "annotate", "nothing.json")
    tap.end()


main()
