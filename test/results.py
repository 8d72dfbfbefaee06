#!/usr/bin/env python3
"""Reads the logs of `meson test` and prints one line: "N passed, N failed[, N skipped]".

    results.py [--failures] [--broken N] TESTLOG.json...

--failures first prints the output of each test that failed.  --broken adds N failures, such as
builds that did not compile.  Exit status 0 only if something passed and nothing failed.
"""
import argparse
import json
import os
import sys

LINES = 60


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--failures", action="store_true")
    parser.add_argument("--broken", type=int, default=0)
    parser.add_argument("logs", nargs="*")
    options = parser.parse_args()
    passed, failed, skipped = 0, options.broken, 0
    for path in options.logs:
        build = os.path.basename(os.path.dirname(os.path.dirname(os.path.abspath(path))))
        with open(path, encoding="utf-8") as log:
            tests = [json.loads(line) for line in log]
        for test in tests:
            if test["result"] in ("OK", "EXPECTEDFAIL"):
                passed += 1
            elif test["result"] == "SKIP":
                skipped += 1
            else:
                failed += 1
                if options.failures:
                    print(f"\n== {build}: {test['name']}: {test['result']}")
                    for stream in ("stdout", "stderr"):
                        print("\n".join(test.get(stream, "").rstrip().splitlines()[-LINES:]))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return failed > 0 or passed == 0


sys.exit(main())
