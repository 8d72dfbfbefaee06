#!/usr/bin/env python3
"""Tests `hotpin resolve`: a profile keeps the names of its places and the advice, and loses nothing.
test_resolve.py HOTPIN
"""
import json
import os
import re
import stat

import made
import program
import tap
from sources import BINARY, FOLDER, HEAT, MAIN, MEMCPY, RUNTIME, UPLOAD, prepare, profile, site
from tap import check, says, write

# Commands that show places.
SHOWN = (("report", "--all"), ("annotate", "-s."), ("report", "--csv", "sites"), ("report", "--csv", "buffers"),
         ("report", "--folded"), ("html", "-s."), ("trace",), ("compare", "--force", "other.json"))


def read(name):
    with open(os.path.join(FOLDER, name), "rb") as file:
        return file.read()


def shown(name):
    return {command[0] + command[-1]: tap.run(*command, name).stdout for command in SHOWN}


def everywhere():
    """A profile with a place of its own in every list of frames: main, from 0x2050 on."""
    def at(offset, **more):
        return [made.frame(0, MAIN + offset, **more)]

    run = profile()
    run["buffers"] = [{"kind": kind, "frames": frames, "largest_bytes": made.MIB, "promoted_bytes": 0, "pins": 0,
                       "pin_ns": 0, "saved_ns": 0, "could_save_ns": 0, "h2d": made.total(1, 8, 9),
                       "d2h": made.total(0, 0, 0)} for kind, frames in (("malloc", at(0x51)), ("static", at(0x60)))]
    run["launches"] = [{"frames": at(0x71), "count": 40, "host_ns": 20 * made.MILLI, "kernels": 40, "device_ns": 10,
                        "estimated_ns": 0}]
    run["gaps"] = [{"before": {"call": "cuMemcpyHtoD_v2", "frames": at(0x81)}, "count": 3, "total_ns": made.SECOND,
                    "after": {"call": "cuLaunchKernel", "frames": at(0x91)}, "longest_ns": made.SECOND}]
    run["events"] = {**made.looped(3)["events"], "places": at(0xa1, caller=None) + at(0xb0, caller=0)}
    return run


def spaced(run):
    """The text of a profile in a form that no writer has; a later hotpin knows "future"."""
    text = json.dumps({"future": {"names": ["}", {"\\\"": []}], "x,": '"names" :[ {\\'}, **run}, indent=3,
                      separators=(" ,", "\t:  "))
    return text[:-1] + "\r\n  }\n\n"


def elsewhere():
    """Every command shows the same names where the program is missing, or is another one."""
    write("other.json", {**profile(), "stage": "other"})
    write("run.json", spaced(everywhere()))
    before, text = shown("run.json"), read("run.json")
    done = says("names are stored", 0, r"^run\.json: 14 names of 17 places, 7 with a\s+source line$", "resolve",
                "run.json")
    check("what has none is told, and why", " ".join(done.stdout.split()).endswith(
        f"1 place without a name in {BINARY}: it has no symbols there "
        "1 place without a name in /nowhere/libc.so.6: it is not on this machine "
        "1 place without a name in /nowhere/libcuda.so.1: it is not on this machine"), done.stdout)
    tap.run("resolve", "other.json")
    stored = read("run.json")
    parts = {**json.loads(text), "advice": None, "names": None}
    check("all other properties stay, in their order", list(json.loads(stored)) == list(parts) and
          {**json.loads(stored), "advice": None, "names": None} == parts, stored[:200])
    names, advice = json.loads(stored)["names"], json.loads(stored)["advice"]
    check("advice is stored with names", any("at heat.c:" in entry["where"] for entry in advice if entry["where"]), advice)
    check("each place once, of every list", [(name["module"], name["offset"]) for name in names] == [
        (0, offset) for offset in (UPLOAD + 0x10, UPLOAD + 0x20, *range(MAIN + 0x10, MAIN + 0xc0, 0x10), RUNTIME + 0x10)],
          names)
    check("as the tools show them, with inlined functions", {
        "module": 0, "offset": MAIN + 0x30, "function": "main", "file": HEAT, "line": 50,
        "inlined": [{"function": "cool(float*)", "file": HEAT, "line": 42}]} in names, names)
    with open(tap.SCHEMA, encoding="utf-8") as file:
        rules = json.load(file)["properties"]
    rule = rules["names"]["items"]
    check("as the schema says", all([key for key in name if key != "inlined"] == rule["required"]
                                    for name in names), rule)
    rule = rules["advice"]
    check("so is the advice", advice and all(list(entry) == rule["items"]["required"] for entry in advice), advice)
    rule = rules["names"]["items"]["properties"]["inlined"]["items"]
    check("also these", all(sorted(inner) == sorted(rule["required"]) for name in names for inner in name.get("inlined", [])), rule)
    check("the file that ran shows the same", shown("run.json") == before)
    write("run.json", stored.replace(b'"function":"main"', b'"function":"forged"'))
    check("which is preferred to names that are stored", stored.count(b'"main"') > 3 and shown("run.json") == before)
    write("run.json", stored)
    says("the second time", 0, r"14 names .*\s+.*the file\s+had them already", "resolve", "run.json")
    check("changes nothing", read("run.json") == stored)
    os.rename(BINARY, BINARY + ".away")
    for name, other in (("no program", None), ("another program", program.elf({"wrong": MAIN, "bad": UPLOAD}))):
        if other is not None:
            write(BINARY, other)
        for command, output in shown("run.json").items():
            check(f"{name}: {command}", output == before[command], output)
    says("there it has nothing to add", 0, "14 names", "resolve", "run.json")
    check("and takes nothing away", read("run.json") == stored)
    os.rename(BINARY + ".away", BINARY)


def two_machines():
    """Names of another machine stay, also after another program has moved the property."""
    other = {"module": 1, "offset": MEMCPY, "function": "memcpy", "file": None, "line": None}
    run = {**everywhere(), "names": [other], "advice": "old"}
    for name, order in (("last", list(run)), ("sorted", sorted(run)), ("first", ["names", "advice", *everywhere()])):
        write("run.json", {key: run[key] for key in order})
        says(f"{name}: names are added", 0, "15 names of 17 places, 7 with a", "resolve", "run.json")
        made_of = json.loads(read("run.json"))
        check(f"{name}: and nothing else", list(made_of) == order and other in made_of["names"] and
              {**made_of, "names": [other], "advice": "old"} == run and made_of["advice"][0]["what"], made_of)


SYSTEM = "/usr/include/c++/12/bits/stl_vector.h"
CHAINS = [ # symbol, lines, what is stored: "inlined@line < .. < function@line"
    ("main", ["/src/a.cu:5"], "main@5"),
    ("main", [], "main@-"),
    (None, [], ""),
    (None, [("step", "/src/a.cu:2")], "step@2"),
    ("_Z4stepv", [("step", "/src/a.cu:5")], "step()@5"),
    ("main", [("weigh", "/src/a.cu:1"), ("step", "/src/a.cu:2"), ("main", "/src/a.cu:3")], "weigh@1 < step@2 < main@3"),
    # A library's header counts for the line that it was inlined into.
    ("main", [("at", SYSTEM + ":9"), ("step", "/src/a.cu:2"), ("begin", SYSTEM + ":8"), ("main", "/src/a.cu:3")],
     "step@2 < main@3"),
    ("sort", [("less", "/src/a.cu:2"), ("sort", SYSTEM + ":8")], "less@2 < sort@8"),
    ("main", [("at", SYSTEM + ":9"), ("main", "/src/a.cu:3")], "main@3"),
    # Without a name, and with that of the function around it, code belongs to that.
    ("main", ["/src/a.cu:1", ("step", "/src/a.cu:2"), ("main", "/src/a.cu:3")], "step@1 < main@3"),
    ("main", [("main", "/src/a.cu:1"), ("main", "/src/a.cu:3")], "main@1"),
    ("main.cold", [("step", "/src/a.cu:2"), ("main", "/src/a.cu:3")], "step@2 < main.cold@3"),
    ("main", [("step", "/src/a.cu:0"), ("main", "/src/a.cu:3")], "main@3"),
    ("main", [("step", "/src/a.cu:0"), ("main", f"/src/a.cu:{1 << 31}")], "main@-"),
    ("main", [(f"f{line}", f"/src/a.cu:{line}") for line in range(1, 60)],
     " < ".join(f"f{line}@{line}" for line in range(1, 25)) + " < main@59"),
    ("main", [("x" * 9000, "/src/a.cu:1"), ("y", "/src/a.cu:2"), ("main", "/src/a.cu:3")], "y@2 < main@3"),
    # The lines of nvcc's temporary files are none.
    ("scale", [("stub", "/tmp/tmpxft_01_00-6_a.cudafe1.stub.c:1"), ("scale", "/src/a.cu:4")], "scale@4"),
    ("scale", [("scale", "tmpxft_01_00-6_a.cudafe1.cpp:9")], "scale@-"),
    ("scale", [("scale", "tmpxft_01_00-6_a.cudafe1.cpp:9", "/src/a.cu:4")], "scale@4"),
]


def chains():
    """Functions that are inlined into one another, as a line table and a tree of functions have them."""
    for at, (symbol, lines, stored) in enumerate(CHAINS, 1):
        symbols = {symbol: 0x1000} if symbol else {}
        write("chain", program.elf(symbols, {0x1010: lines} if lines else {}))
        run = {**profile(), "modules": [{"path": os.path.join(FOLDER, "chain"), "build_id": program.build_id(symbols)}],
               "samples": []}
        run["sites"] = [site("h2d", 1, 1, 1, made.frame(0, 0x1011))]
        tap.run("resolve", write("chain.json", run))
        names = json.loads(read("chain.json")).get("names", [])
        seen = " < ".join(f"{name['function']}@{name['line'] or '-'}" for row in names
                          for name in [*row.get("inlined", []), row])
        check(f"chain {at}: {stored[:40]}", seen == stored, seen)


def files():
    """The file keeps its mode; a link stays a link; what is no file is refused."""
    write("run.json", everywhere())
    os.chmod(os.path.join(FOLDER, "run.json"), 0o600)
    os.symlink("run.json", os.path.join(FOLDER, "link.json"))
    says("several files, one of them bad", 1, "cannot read nothing.json", "resolve", "nothing.json", "link.json")
    status = os.lstat(os.path.join(FOLDER, "run.json"))
    check("a link stays", os.path.islink(os.path.join(FOLDER, "link.json")) and b'"names"' in read("run.json"))
    check("and so does the mode", stat.S_IMODE(status.st_mode) == 0o600, oct(status.st_mode))
    check("no other file is left", not [name for name in os.listdir(FOLDER) if name.startswith(".hotpin-")])
    says("a pipe", 1, "not a regular file", "resolve", "/dev/stdin", input="{}")
    write("bare.json", {**profile(), "modules": [], "sites": [], "samples": []})
    says("no places", 0, "^bare.json: it has no places$", "resolve", "bare.json")
    check("no names, but advice", "names" not in json.loads(read("bare.json")) and b'"advice"' in read("bare.json"))


def malformed():
    """Wrong names are refused or left out, and never shown for another place."""
    good = {"module": 0, "offset": MAIN + 0x10, "function": "main", "file": "/src/heat.c", "line": 40}
    for value in ({}, 7, "x", [7], [None], [[]], [{}], [{**good, "module": 3}], [{**good, "module": -1}],
                  [{**good, "module": 1 << 62}], [{**good, "module": None}], [{**good, "offset": None}],
                  [{**good, "offset": "5"}], [{**good, "function": 5}], [{**good, "file": []}], [{**good, "line": "1"}],
                  [{**good, "line": -1}], [{**good, "inlined": 5}], [{**good, "inlined": [None]}],
                  [{**good, "inlined": [{"function": "f", "file": None, "line": 1}]}],
                  [{**good, "inlined": [{"function": None, "file": "/f.c", "line": 1}]}],
                  [{**good, "inlined": [{"function": "f", "file": "/f.c", "line": 0}]}]):
        for command in ("report", "resolve"):
            says(f"{command} refuses {str(value):.60}", 1, "^hotpin: cannot read bad.json: .*, before byte", command,
                 write("bad.json", {**profile(), "names": value}))
    run = profile()
    run["modules"][0]["path"] = "/nowhere/heat"
    for value, place in ((None, r"heat\+0x2010"), ([], r"heat\+0x2010"), ([good], "main at heat.c:40"),
                         ([{"module": 0, "offset": MAIN + 0x10, "function": "main"}], r"main in heat"),
                         ([{**good, "line": 0}], "main in heat"), ([{**good, "line": 1 << 40}], "main in heat"),
                         ([{**good, "line": None}], "main in heat"), ([{**good, "function": None}], r"heat\+0x2010"),
                         ([good, {**good, "offset": 1}, {**good, "module": 2, "offset": 0}], "main at heat.c:40"),
                         ([{**good, "inlined": []}], "main at heat.c:40"),
                         ([{**good, "inlined": [{"function": "f", "file": "/src/f.c", "line": 7}] * 90}],
                          "f at f.c:7")):
        says(f"shown for {str(value):.60}", 0, place, "report", "--all", write("odd.json", {**run, "names": value}),
             COLUMNS=200)
    text = tap.run("report", "odd.json").stdout
    check("a program with names is not missed", "not on this" not in text, text)
    write("hostile.json", made.hostile())
    says("hostile names", 0, "hostile.json: ", "resolve", "hostile.json")
    check("can be read again", "names" in json.loads(read("hostile.json")))


def inlined():
    """Many inlined functions replace no other frame; ranks without their names are the same places."""
    def name(offset, count):
        inner = [{"function": f"f{at}", "file": "/src/f.c", "line": at + 1} for at in range(count)]
        return {"module": 0, "offset": offset, "function": "place", "file": "/src/heat.c", "line": 40, "inlined": inner}

    run = made.sampled()
    run["names"] = [name(offset, 100) for offset in (8, 0x101f, 0x10ff)]
    run["samples"] = [{"frames": [made.frame(0, 8), made.frame(2, 0x9000)], "first_thread": 5, "other_threads": 0}]
    run["sites"][0]["frames"], run["sites"][1]["frames"] = [made.frame(0, 0x1020)], [made.frame(0, 0x1100)]
    write("deep.json", run)
    stack = tap.run("report", "--folded", "deep.json").stdout
    check("callers of deep code stay", re.match(r"\[libcuda\.so\.580\.159\];place;f\d+;.*;f1;f0 5\n$", stack), stack)
    table = tap.run("report", "--csv", "sites", "deep.json").stdout
    check("two places in deep code are two sites", len(table.split("\n")) == 4, table)
    says("stored names", 0, "3 names", "resolve", "deep.json")
    check("stay as they are", json.loads(read("deep.json"))["names"] == run["names"])
    for number, names in enumerate(([name(0x401f, 2)], [name(0x401f, 0)], None)):
        rank = made.rank(number, 3)
        rank.update(sites=made.first()["sites"], names=names)
        write(f"rank{number}.json", rank)
    text = tap.run("report", "--all", *(f"rank{number}.json" for number in range(3)), COLUMNS=150).stdout
    text = text.split("ALL RANKS TOGETHER")[1]
    check("ranks of which some have names", re.findall(r"\d+(?= +72.0 GB +H2D pageable +f0 at f.c:1 )", text) == ["600"],
          text)


def fuzzed():
    """A file with bytes changed is refused and stays, or gets names and nothing else."""
    bad = []
    for turn, text in enumerate(tap.spoilt(120, spaced({**everywhere(), "names": []}).encode(), json.dumps(made.hostile()).encode())):
        write("fuzzed.json", text)
        done = tap.run("resolve", "fuzzed.json")
        if done.returncode == 0:
            left = [{**json.loads(part), "names": None, "advice": None} for part in (text, read("fuzzed.json"))]
        else:
            left = [text, read("fuzzed.json")]
        if done.returncode not in (0, 1) or left[0] != left[1] or not tap.no_control(done.stdout + done.stderr):
            bad.append((turn, done.returncode, done.stderr[-500:]))
    check("120 spoilt files", not bad, bad)


def main():
    prepare()
    elsewhere()
    two_machines()
    chains()
    files()
    malformed()
    inlined()
    fuzzed()
    tap.end()


main()
