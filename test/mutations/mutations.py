#!/usr/bin/env python3
"""Puts a wrong figure into the code, one at a time, and checks that a named test then fails.

    mutations.py ROOT [WORD...]      all edits of the file `edits`, or those that contain a WORD
    mutations.py --check ROOT        only checks that every edit still applies; builds nothing

Builds a copy of ROOT in TMPDIR.  Prints a line for each edit: `ok` if its test is red with it.
Exit status: 0 all tests were green without an edit and red with theirs.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EDITS = pathlib.Path(__file__).resolve().parent / "edits"
SECONDS = 180 * int(os.environ.get("TEST_SLOWNESS", "1"))


class Edit:
    """One stanza of the file: the test, the file, the lines that go, and those that come."""

    def __init__(self, stanza):
        lines = stanza.splitlines()
        self.test, self.name = lines[0].split(": ", 1)
        self.path = lines[1]
        self.old = "\n".join(line[1:] for line in lines[2:] if line[0] == "-")
        self.new = "\n".join(line[1:] for line in lines[2:] if line[0] == "+")
        if self.old == "" or any(line[0] not in "-+" for line in lines[2:]):
            raise SystemExit(f"{EDITS}: this is no edit:\n{stanza}")

    def __str__(self):
        return f"{self.path}: {self.test}: {self.name}"

    def fault(self, root):
        """Returns why the edit does not apply; None if it does."""
        if not self.path.startswith(("src/", "tools/")):
            return f"{self}: not a part of the product"
        count = (root / self.path).read_text(encoding="utf-8").count(self.old)
        if count != 1:
            return f"{self}: its old text occurs {count} times:\n{self.old}"
        programs = list(root.glob(f"test/*/test_{self.test}.c"))
        if programs and not any(re.search(rf"^TEST\w*\({self.name}\b", program.read_text(encoding="utf-8"), re.M)
                                for program in programs):
            return f"{self}: there is no such test"
        if self.test == "scripts" and not (root / "test/report/scripts" / self.name).is_file():
            return f"{self}: there is no such script"
        # The names of a script's cases are often made up of parts.
        if not programs and not list(root.glob(f"test/**/*{self.test}.py")):
            return f"{self}: there is no test {self.test}"
        return None


def all_edits():
    text = "\n".join(line for line in EDITS.read_text(encoding="utf-8").splitlines()
                     if not line.startswith("#"))
    return [Edit(stanza) for stanza in re.split(r"\n\n+", text.strip())]


def check(root):
    """True if all edits apply."""
    faults = [edit.fault(root) for edit in all_edits()]
    for fault in filter(None, faults):
        print(fault)
    print(f"# {len(faults)} edits")
    return faults != [] and not any(faults)


class Build:
    """A copy of the tree, with a build of its own."""

    def __init__(self, root, folder):
        self.root, self.build = folder / "tree", folder / "build"
        files = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others",
                                "--exclude-standard"], check=True, capture_output=True, text=True)
        for name in filter(None, files.stdout.split("\0")):
            if (root / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, self.root / name)
        subprocess.run(["meson", "setup", self.build, self.root, "-Doptimization=1"], check=True,
                       stdout=subprocess.DEVNULL)
        tests = subprocess.run(["meson", "introspect", "--tests", self.build], check=True,
                               capture_output=True, text=True)
        self.tests = {test["name"]: test for test in json.loads(tests.stdout)}

    def make(self, test):
        """Builds what the test runs.  True if that was possible."""
        parts = [pathlib.Path(word) for word in self.tests[test]["cmd"]]
        targets = [str(part.relative_to(self.build)) for part in parts
                   if part.is_relative_to(self.build) and not part.is_dir()]
        done = subprocess.run(["ninja", "-C", self.build, *targets], stdout=subprocess.DEVNULL)
        return done.returncode == 0

    def run(self, test):
        """Returns the result of each case of the test, by its name."""
        what = self.tests[test]
        try:
            done = subprocess.run(what["cmd"], env={**os.environ, **what["env"]}, text=True,
                                  cwd=what["workdir"] or self.build, errors="replace", timeout=SECONDS,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return {}
        lines = re.findall(r"^(not ok|ok) \d+ - (.*?)(?: # SKIP.*)?$", done.stdout, re.MULTILINE)
        return {name: result == "ok" for result, name in lines}

    def red(self, edit):
        """Returns the names of the cases that fail with the edit; None if it does not compile."""
        path = self.root / edit.path
        before = path.read_text(encoding="utf-8")
        path.write_text(before.replace(edit.old, edit.new), encoding="utf-8")
        try:
            return [name for name, well in self.run(edit.test).items() if not well] \
                if self.make(edit.test) else None
        finally:
            path.write_text(before, encoding="utf-8")


def main():
    words = sys.argv[1:]
    only_check = words[:1] == ["--check"]
    if len(words) < 1 + only_check:
        print(__doc__)
        return 2
    root = pathlib.Path(words[only_check]).resolve()
    if only_check:
        return int(not check(root))
    edits = [edit for edit in all_edits() if not words[1:] or any(word in str(edit) for word in words[1:])]
    failed = not check(root) or not edits
    with tempfile.TemporaryDirectory() as folder:
        build = Build(root, pathlib.Path(folder))
        green = {}
        for test in {edit.test for edit in edits}:
            green[test] = build.run(test) if build.make(test) else {}
        print(f"1..{len(edits)}")
        for number, edit in enumerate(edits, 1):
            red = build.red(edit) if green[edit.test].get(edit.name) else None
            well = red is not None and edit.name in red
            print(f"{'ok' if well else 'not ok'} {number} - {edit}", flush=True)
            if not green[edit.test].get(edit.name):
                print("# fails anyway, or is not there")
            elif red is None:
                print("# does not compile")
            elif not well:
                print(f"# red: {', '.join(red) or 'nothing'}")
            failed |= not well
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
