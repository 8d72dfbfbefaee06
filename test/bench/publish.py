#!/usr/bin/env python3
"""publish.py - writes measured figures into the pages, or checks that the pages have them.

    publish.py [--check] [--to TREE] [RUN.json...]

Runs are kept in doc/measured.json.  From them come the marked parts of doc/measurements.md,
doc/targets.md and doc/pytorch.md, and the picture doc/copies.svg, so that nobody writes figures
manually.  Without RUN.json the kept runs are used.  A missed target links the section of
doc/targets.md that has the name of its benchmark and explains it; if there is none, a message on
stderr says so.  --check writes nothing, and exits with 1 if a page differs.
"""

import argparse
import json
import os
import re
import sys

import chart
import tables

HERE = os.path.dirname(os.path.abspath(__file__))
# Each begins a generated part, which ends at END.
FRONT, TOLD, LOOPS = ("<!-- run.py --%s -->" % n for n in ("front", "targets, short", "pytorch"))
END = "<!-- end -->"
KEPT = os.path.join("doc", "measured.json")
MEASUREMENTS = os.path.join("doc", "measurements.md")
TARGETS = os.path.join("doc", "targets.md")
PYTORCH = os.path.join("doc", "pytorch.md")


def slim(store):
    """Keeps the data that pages need; paths of the machine, and the library of --against,
    are dropped."""
    keep = ("machine", "commit", "date", "command", "repeat", "benchmarks")
    result = {key: store[key] for key in keep if key in store}
    kernel = result["machine"]["kernel"].split("-")[0]
    result["machine"] = dict(result["machine"], kernel=kernel)
    # Benchmarks that could not run, or were never judged, are in no page.
    result["benchmarks"] = [
        {key: value for key, value in bench.items() if key != "variants"}
        for bench in result["benchmarks"]
        if "rows" in bench
    ]
    for bench in result["benchmarks"]:
        samples = bench["samples"].items()
        bench["samples"] = {key: value for key, value in samples if not key.endswith("@other")}
    return result


def with_lines(text, begin, lines, page):
    if text.count(begin) != 1:
        sys.exit("publish.py: %s has no line %s" % (page, begin))
    pattern = re.escape(begin) + ".*?" + re.escape(END)
    made = "\n".join([begin, *lines, END])
    return re.sub(pattern, lambda _: made, text, flags=re.S)


def pages(stores, measurements, told, pytorch):
    """Returns path -> expected contents; the arguments are the present contents."""
    sections = re.findall(r"^### (\S+)$", told, flags=re.M)
    result = {
        MEASUREMENTS: with_lines(measurements, FRONT, tables.front(stores), MEASUREMENTS),
        TARGETS: with_lines(told, TOLD, tables.short(stores, sections), TARGETS),
    }
    loops = tables.pytorch(stores)
    if loops:
        result[PYTORCH] = with_lines(pytorch, LOOPS, loops, PYTORCH)
    for store in reversed(stores):
        try:
            result[os.path.join("doc", "copies.svg")] = chart.chart(store)
            break
        except chart.Unfit:
            continue
    return result


def unexplained(page):
    """Returns missed lines of the short table without a link to an explanation."""
    short = page.split(TOLD)[1].split(END)[0].splitlines()
    return [line.split(" | ")[0].strip("| ") for line in short
            if line.endswith("** |") and "[why]" not in line]


def read(path):
    try:
        with open(path) as page:
            return page.read()
    except FileNotFoundError:
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--to", default=os.path.join(HERE, "..", ".."), metavar="TREE")
    parser.add_argument("runs", nargs="*", metavar="RUN.json")
    options = parser.parse_args()
    kept = os.path.join(options.to, KEPT)
    if options.runs:
        stores = [slim(json.loads(read(path))) for path in options.runs]
    else:
        stores = [slim(store) for store in json.loads(read(kept))]
    told = (read(os.path.join(options.to, p)) for p in (MEASUREMENTS, TARGETS, PYTORCH))
    wanted = pages(stores, *told)
    for case in unexplained(wanted[TARGETS]):
        print("%s does not say why this was missed: %s" % (TARGETS, case), file=sys.stderr)
    wanted[KEPT] = json.dumps(stores, separators=(",", ":")) + "\n"
    stale = [p for p, text in wanted.items() if read(os.path.join(options.to, p)) != text]
    if options.check:
        for path in stale:
            print("%s is not what publish.py makes of %s" % (path, KEPT))
        return 1 if stale else 0
    os.makedirs(os.path.join(options.to, "doc"), exist_ok=True)
    for path in stale:
        with open(os.path.join(options.to, path), "w") as page:
            page.write(wanted[path])
        print("wrote %s" % path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
