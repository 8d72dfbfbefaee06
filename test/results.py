#!/usr/bin/env python3
"""The results of `meson test`: passed, failed and skipped tests, with logs and reasons.

    results.py TESTLOG.json...

check.py imports it.  Ends with "N passed, N failed[, N skipped]"; the exit status is 0 only if
something passed and nothing failed.
"""
import json
import pathlib
import re
import sys

NO_REASON = "no reason given"
LINES = 60 # of a failed test's output that are shown
NOT_WORD = re.compile(r"\W+")
SKIPPED_ROW = re.compile(r"^ok \d+ ?-? ?(.*?) *# SKIP *(.*)$", re.IGNORECASE)
SKIPPED_PART = re.compile(r"^(?:# )?skipped: (.+)$") # of a test, also of one that prints no rows
SKIPPED_PLAN = re.compile(r"^1\.\.0 *# SKIP *(.*)$", re.IGNORECASE)


class Results:
    """Counts tests; each skip is a test with a reason, and the rows that it skips."""

    def __init__(self):
        self.passed, self.failures, self.skips = 0, [], []

    def read(self, build, path):
        """Adds the tests of a log that meson wrote, a JSON object a line; returns how many, and how
        many failed."""
        folder, before = pathlib.Path(path).parent, len(self.failures)
        with open(path, encoding="utf-8") as log:
            tests = [json.loads(line) for line in log]
        for test in tests:
            name = test["name"].split(" / ")[-1] # without the suites
            said = test.get("stdout", "").rstrip(), test.get("stderr", "").rstrip()
            rows = skipped_rows(said[0])
            for reason, names in rows.items():
                self.skips.append((build, name, reason, names))
            if test["result"] in ("OK", "EXPECTEDFAIL"):
                self.passed += 1
            elif test["result"] != "SKIP":
                whole = folder / f"failed-{NOT_WORD.sub('-', name)}.log"
                whole.write_text("\n".join(said) + "\n", encoding="utf-8")
                self.failures.append((f"{build}: {name}: {test['result']}", said, whole))
            elif not rows:
                self.skips.append((build, name, reason_of(*said), []))
        return len(tests), len(self.failures) - before

    def broken(self, what, log):
        """Adds a failure that is no test's, such as a build that did not compile."""
        self.failures.append((what, (pathlib.Path(log).read_text(errors="replace"),), log))

    def show(self):
        """Prints skips, failures and the last line; returns the exit status."""
        for build, test, reason, rows in self.skips:
            many = f" ({', '.join(rows)})" if rows else ""
            print(f"skipped: {build}: {test}{many}: {reason}")
        for title, said, log in self.failures:
            print(f"\n== {title}")
            for text in said:
                print("\n".join(text.splitlines()[-LINES:]))
            print(f"== whole log: {log}")
        skipped = f", {len(self.skips)} skipped" if self.skips else ""
        print(f"{self.passed} passed, {len(self.failures)} failed{skipped}", flush=True)
        return self.failures != [] or self.passed == 0


def skipped_rows(stdout):
    """Returns {reason: [row...]}; a comment before a row can have its reason, or that of a part of
    the test that has no row."""
    rows, part, comment = {}, None, None
    for line in [*stdout.splitlines(), ""]:
        row, another = SKIPPED_ROW.match(line), SKIPPED_PART.match(line)
        if row:
            rows.setdefault(row[2] or part or comment or NO_REASON, []).append(row[1])
            part = None
        elif part and (another or not line.startswith("#")):
            rows.setdefault(part, [])
            part = None
        if another:
            part = another[1]
        comment = re.sub("^.*skipped:? ", "", line[2:]) if line.startswith("# ") else None
    return rows


def reason_of(stdout, stderr):
    """Returns the reason of a test that was skipped wholly: its plan's, or what it said last."""
    for line in stdout.splitlines():
        plan = SKIPPED_PLAN.match(line)
        if plan and plan[1]:
            return plan[1]
    return (stderr.splitlines() or stdout.splitlines() or [NO_REASON])[-1].removeprefix("# ")


def main():
    sys.stdout.reconfigure(errors="backslashreplace")
    results = Results()
    for path in sys.argv[1:]:
        results.read(pathlib.Path(path).resolve().parent.parent.name, path)
    return results.show()


if __name__ == "__main__":
    sys.exit(main())
