#!/usr/bin/env python3
"""Tests the whole way of an unmodified program: run, report, compare, trace, csv, html.

    test_whole.py HOTPIN LIBRARY PROGRAM FOLDER-OF-THE-STAND-IN CUPTI
"""
import collections
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

import tap
from chrome_trace import faults
from tap import check

LIBRARY, PROGRAM, STANDIN, CUPTI = (os.path.abspath(path) for path in sys.argv[2:6])
BYTES, STEPS, TABLE = 4 << 20, 20, 16384


def profiled(name, stage, program=None, **options):
    """Returns the program's output; its profile is in `name`."""
    return started("--profile=trace", "--stage", stage, "-o", name, *(program or [PROGRAM]), check=True, **options).stdout


def first_stage():
    """A program without a device gets a profile if the user ran it, unless a child wrote one."""
    profiled("cpu.json", "0: cpu", program=["/bin/true"])
    report = tap.run("report", "cpu.json").stdout
    cpu = tap.loaded("cpu.json")
    wall = re.match(r'true  "0: cpu"  (\S+ \S+)  no device was used\n', report)
    check("of the CPU alone", "no device was used" in report and
          cpu["split"]["host_ns"] == cpu["wall_ns"] > 0 and wall and
          re.search(rf"^ *Host code +{re.escape(wall[1])}  100.0 %", report, re.M), report)
    started("-o", "failed.json", "/bin/bash", "-c", "exit 259")
    check("and its exit status", tap.loaded("failed.json")["process"]["exit_status"] == 3)
    profiled("rank%r.json", "0: cpu", program=["/bin/true"])
    profiled("rank%r.json", "0: cpu", program=["/bin/true"], RANK="3")
    written = [name for name in os.listdir(tap.FOLDER.name) if name.startswith("rank")]
    check("who starts ranks is none", written == ["rank3.json"], written)
    profiled("shell.json", "1: one kernel",
             program=["/bin/sh", "-c", f"/bin/true; {PROGRAM}; /bin/true"])
    report = tap.run("report", "shell.json").stdout
    check("a shell keeps the profile of its child", report.startswith("heat "), report)
    profiled("became.json", "1: one kernel",
             program=["/bin/sh", "-c", f"{PROGRAM}; exec /bin/true"])
    check("so does the program that the shell becomes",
          tap.run("report", "became.json").stdout.startswith("heat ") and not
          [name for name in os.listdir(tap.FOLDER.name) if name.startswith("became-")])
    done = tap.run("compare", "--force", "cpu.json", "shell.json")
    check("and both can be compared",
          re.search("^  H2D copies +- +84.2 MB +new$", done.stdout, re.M), done.stdout)


def started(*arguments, **options):
    """A run of the launcher that may end in any way."""
    return tap.on_stand_in(STANDIN, [tap.HOTPIN, "run", "--library", LIBRARY, *arguments], **options)


def nothing_to_profile():
    """If there is no profile, a user who requested one is told so."""
    for flags in (["--profile"], ["--observe"], ["--stage", "x"]):
        done = started(*flags, "/bin/true")
        check(f"no use of CUDA is told, {flags}", done.returncode == 0 and done.stdout == "" and re.search(
            "^hotpin saw no use of CUDA.*hotpin doctor", done.stderr, re.M), done.stderr)
    check("nothing unless asked for", started("/bin/true").stderr == "")
    done = started("--profile", "/bin/sh", "-c", f"{PROGRAM}; true")
    check("a shell is silent behind its child's report", "no use" not in done.stderr and
          re.search("^heat ", done.stderr, re.M), done.stderr)
    python = "import os; os._exit(3)"
    for name, status, ending in (("by _exit", 3, python), ("plainly", 4, "import sys; sys.exit(4)")):
        done = started("-o", "exec.json", PROGRAM, "exec", sys.executable, "-c", ending)
        check(f"an end {name} after CUDA and exec is silent", done.returncode == status and
              done.stderr == "", done.returncode, done.stderr)
        check("the profile is that of the program with CUDA", tap.loaded("exec.json")["process"]["program"] == "heat")
        os.remove(tap.path("exec.json"))


def two_of_one_name():
    """No process of a run replaces the profile of another; a later run does."""
    done = started("-o", "both.json", "/bin/sh", "-c", f"{PROGRAM}; {PROGRAM}")
    names = sorted(name for name in os.listdir(tap.FOLDER.name) if name.startswith("both"))
    check("the second has a name of its own, which is told", len(names) == 2 and
          re.fullmatch(r"both-\d+\.json", names[0]) and names[0] in done.stderr, names, done.stderr)
    started("-o", "both.json", PROGRAM)
    check("the next run replaces the first", names == sorted(
        name for name in os.listdir(tap.FOLDER.name) if name.startswith("both")))


def annotated():
    """The lines that copy."""
    done = tap.run("annotate", "--source", tap.HERE, "plain.json")
    lines = dict(re.findall(r"^ +(\d+) +\S+ \S+B .* \d+ +(?:if )?\((\w+)\(", done.stdout, re.M))
    check("its source, with copies at their lines", lines == {str(2 * STEPS): "cudaMemcpy",
                                                              str(STEPS): "cuMemcpyDtoH"},
          done.stdout, done.stderr)


def batch():
    """Each copy of a batch has the batch's place, and its own buffer."""
    profiled("batch.json", "0: batch", program=[PROGRAM, "batch"])
    rows = tap.table("sites", "batch.json")
    check("a batch has its place", {(row["function"], row["direction"]) for row in rows} <=
          {("upload_both", "h2d"), ("upload", "h2d")} and
          sum(int(row["bytes"]) for row in rows) == BYTES // 2 + TABLE and
          all(int(row["host_ns"]) > 0 for row in rows), rows)
    rows = tap.table("buffers", "batch.json")
    check("and its buffers", {(row["function"], row["h2d_bytes"]) for row in rows} >=
          {("make_field", str(BYTES // 2)), ("table", str(TABLE))}, rows)


def end(way):
    """Checks the calls to CUPTI before, at and after the program's end, and the written profile."""
    log = tap.path(way + ".log")
    started("-o", way + ".json", PROGRAM, way, LD_LIBRARY_PATH=f"{STANDIN}:{os.path.dirname(CUPTI)}", HOTPIN_CUPTI="auto",
            MOCK_CUPTI_LOG=log, MOCK_CUPTI_KERNEL="1")
    return tap.text_of(log).split("| "), tap.loaded(way + ".json") if os.path.exists(tap.path(way + ".json")) else None


def ends():
    """CUPTI is flushed and released however a program ends, and before its contexts end."""
    for way in ("plainly", "_exit", "quick_exit", "fork", "reset", "destroy"):
        parts, profile = end(way)
        check(f"{way}: started once, kernels first", parts[0].startswith("register +10 +1 +22 +2 "),
              parts)
        check(f"{way}: one last flush, then all is disabled, and no more",
              parts[-1].endswith("flush1 -2 -22 -1 -10 ") and
              "".join(parts).count("flush1") == 1, parts)
        check(f"{way}: its profile", profile and profile["state"] == "ended" and
              not profile["truncated"] and profile["kernel_runs"]["count"] == 1, profile)
        # A program that ends by quick_exit() reports no status.
        known = {"_exit": 3, "quick_exit": None}.get(way, 0)
        check(f"{way}: its exit status", profile and
              profile["process"]["exit_status"] == known, profile and profile["process"])
        if way in ("reset", "destroy"):
            check(f"{way}: flushed before the context goes", "flush0" in parts[1], parts)
    parts, profile = end("abort")
    check("abort: nothing is asked of CUPTI any more", "flush1" not in parts[-1], parts)
    check("abort: what is left says so, however early", profile and
          profile["state"] == "running" and profile["process"]["exit_status"] is None, profile)


def table_at_terminal():
    """The table at exit has the width of the terminal, and is plain text."""
    environment = {"PATH": os.environ["PATH"], "MOCK_CUPTI_KERNEL": "1", "HOTPIN_THREADS": "2",
                   "HOTPIN_PROFILE": "summary", "LD_LIBRARY_PATH": f"{STANDIN}:{os.path.dirname(CUPTI)}", "LC_ALL": "C"}
    command = [tap.HOTPIN, "run", "--library", LIBRARY, "--observe", "--stage",
               "\u00e9 a label of more columns than any line has room for", PROGRAM]
    for columns in (60, 80):
        text, status = tap.at_terminal(columns, command, environment)
        ours = [line for line in text.splitlines() if line.startswith("==hotpin==")]
        check(f"a table of {columns} columns and 12 lines at most", status == 0 and
              5 < len(ours) <= 12 and not tap.wider(text, columns) and tap.no_control(text), text)
        check("in ASCII where the locale is", text.isascii(), text)
        check("which begins with the program and ends with the cost", "heat" in "".join(ours[:3]) and
              "observed only" in "".join(ours[:3]).replace("\n", " ") and
              "Profiling cost" in "".join(ours[-2:]), text)


def main():
    plain = subprocess.run([PROGRAM], env={"LD_LIBRARY_PATH": STANDIN}, check=True,
                           capture_output=True, text=True).stdout
    check("the program prints what it printed", plain and
          plain == profiled("plain.json", "1: pageable", HOTPIN_PIN="0", STANDIN_PINS_LIMIT="0") ==
          profiled("pinned.json", "2: pinned"))
    report = tap.run("report", "--all", "plain.json", COLUMNS=160).stdout
    could = {row["function"]: int(row["could_save_ns"]) for row in tap.table("buffers", "plain.json")}
    check("what pinning could save is told where it is not wanted", could["make_field"] > 0, could)
    sites = re.findall(r"^ +\S+ \S+ +\d+ +\S+ \S+  (H2D|D2H) \w+ +(\w+) at heat\.c:\d+(?: .*|\n     from )main",
                       report, re.M)
    check("copies by who made them", sorted((site, way) for way, site in sites) ==
          [("download", "D2H"), ("upload", "H2D"), ("upload", "H2D")], report)
    # Some copies use the ring, if there is one: then a site has two rows.
    counts = collections.Counter()
    for row in tap.table("sites", "plain.json"):
        counts[row["function"], row["direction"]] += int(row["count"])
    check("and how many", counts == {("upload", "h2d"): 2 * STEPS, ("download", "d2h"): STEPS},
          counts)
    check("buffers by who made them", re.search(r"4\.19 MB .*  make_field at heat", report)
          and re.search(r"  table in .*[(]static[)]", report), report)
    rows = tap.table("copies", "plain.json")
    moved = {way: sum(int(row["bytes"]) for row in rows if row["direction"] == way)
             for way in ("h2d", "d2h")}
    check("to the byte", moved == {"h2d": STEPS * (BYTES + TABLE), "d2h": STEPS * BYTES}, moved)
    done = tap.run("compare", "plain.json", "pinned.json")
    check("compared", done.returncode in (0, 3) and 'HOTPIN_PIN is "0" in "1: pageable"' in done.stdout
          and re.search("^  H2D copies +84.2 MB +84.2 MB +same$", done.stdout, re.M),
          done.stdout, done.stderr)
    text = tap.run("trace", "pinned.json").stdout
    found = list(faults(text))
    everything = [event for event in json.loads(text)["traceEvents"] if event["ph"] == "X"]
    check("a timeline of the format, with other driver calls and a pin", not found and
          {"cuInit", "cuMemAlloc_v2", "pin"} <= {event["name"] for event in everything}, found,
          {event["name"] for event in everything})
    slices = [event for event in everything if event["cat"] == "copy call"]
    check("their routes and buffers", any(event["args"].get("route") == "direct" and
          "make_field" in event["args"].get("buffer", "") for event in slices), slices[:9])
    check("a slice for every call, with its place", len(slices) == 3 * STEPS and
          all(event["args"]["called from"].startswith(("upload", "download"))
              for event in slices), len(slices), slices[:3])
    annotated()
    table_at_terminal()
    nothing_to_profile()
    two_of_one_name()
    first_stage()
    batch()
    ends()
    for name in ("plain", "pinned"):
        profile = tap.loaded(name + ".json")
        trips = [buffer["round_trips"] for buffer in profile["buffers"]
                 if buffer["round_trips"]["count"] != 0]
        ways = [profile["sites"][trips[0][end]]["rows"][0]["direction"]
                for end in ("download_site", "upload_site")]
        check(f"at their copy sites, {name}", ways == ["d2h", "h2d"], trips)
        check(f"what is downloaded goes up again, {name}", len(trips) == 1 and
              trips[0]["count"] == STEPS - 1 and trips[0]["bytes"] == (STEPS - 1) * BYTES, trips)
    page = tap.run("html", "plain.json", "pinned.json").stdout
    xml.etree.ElementTree.fromstring(page.encode())
    check("a page of both", "make_field" in page and "2: pinned" in page)
    tap.end()


main()
