#!/usr/bin/env python3
"""publish.py - puts what was measured where readers find it, or says whether it stands there.

    publish.py [--check] [--to TREE] [RUN.json...]

The runs are kept in doc/measured.json; of them are made the table of README.md, between its marked
lines, doc/targets.md and doc/copies.svg.  Without a RUN the kept ones are taken, so that nothing
on these pages is ever written by hand.  --check writes nothing; status 1 if a page says otherwise.
"""

import argparse
import json
import os
import re
import sys

import chart
import tables

HERE = os.path.dirname(os.path.abspath(__file__))
MARKS = ("<!-- run.py --front -->", "<!-- end -->")
KEPT = os.path.join("doc", "measured.json")
HEADING = """# Targets

What hotpin is meant to reach and what was seen, each a ratio of figures taken side by side. Made by
`test/bench/publish.py`; to measure it anew: `test/bench/run.py --front --targets --budget 480`.

"""


def slim(store):
    """What the pages are made of: paths of the machine that measured are nobody's business."""
    keep = ("machine", "commit", "date", "command", "repeat", "benchmarks")
    result = {key: store[key] for key in keep if key in store}
    kernel = result["machine"]["kernel"].split("-")[0]
    result["machine"] = dict(result["machine"], kernel=kernel)
    # What could not run, or was never judged, has no part in any page.
    result["benchmarks"] = [
        {key: value for key, value in bench.items() if key != "variants"}
        for bench in result["benchmarks"]
        if "rows" in bench
    ]
    return result


def readme_with(text, table):
    begin, end = MARKS
    if text.count(begin) != 1:
        sys.exit("publish.py: README.md has no line %s" % begin)
    pattern = re.escape(begin) + ".*?" + re.escape(end)
    return re.sub(pattern, lambda _: "%s\n%s\n%s" % (begin, table, end), text, flags=re.S)


def pages(stores, readme):
    """path -> what must stand there."""
    result = {
        "README.md": readme_with(readme, "\n".join(tables.front(stores))),
        os.path.join("doc", "targets.md"): HEADING + "\n".join(tables.seen(stores)) + "\n",
    }
    for store in reversed(stores):
        try:
            result[os.path.join("doc", "copies.svg")] = chart.chart(store)
            break
        except chart.Unfit:
            continue
    return result


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
    wanted = pages(stores, read(os.path.join(options.to, "README.md")))
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
