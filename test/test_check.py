#!/usr/bin/env python3
"""test_check.py - tests check.py and its parts, with commands in place of meson and ninja.

A check must never be green if tests did not run, and must leave nothing running when it is stopped.
"""
import ctypes
import fcntl
import json
import os
import pathlib
import pty
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent

# `meson setup` and `meson test`; what the latter does is in the variables BAD and DO.
MESON = r'''#!/usr/bin/env python3
import json, os, pathlib, signal, subprocess, sys, time

words = sys.argv[1:]
if words[0] == "setup":
    folder = pathlib.Path(words[1])
    if (folder / "meson-private/coredata.dat").exists() and "--reconfigure" not in words:
        sys.exit(0) # as meson does
    for name in ("meson-private", "meson-info", "meson-logs"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name in ("meson-private/coredata.dat", "build.ninja"):
        (folder / name).touch()
    (folder / "words").write_text(" ".join(words))
    tests = [{"name": name, "suite": ["hotpin:" + suite for suite in suites.split()], "priority": 0,
              "cmd": [name]} for name, suites in json.loads(os.environ["TESTS"]).items()]
    (folder / "meson-info/intro-tests.json").write_text(json.dumps(tests))
    sys.exit(0)
folder, base = pathlib.Path(words[words.index("-C") + 1]), words[words.index("--logbase") + 1]
do = os.environ["DO"] if folder.name == "check-" + os.environ["IN"] else "pass"
names = words[words.index("--logbase") + 2:]
if do == "hang":
    with subprocess.Popen(["sleep", "600"]) as sleep:
        pathlib.Path(os.environ["SLEEP"]).write_text(str(sleep.pid))
        sleep.wait()
with open(folder / "meson-logs" / (base + ".json"), "w") as log:
    for number, name in enumerate(names, 1):
        result = {"fail": "FAIL", "skip": "SKIP"}.get(do, "OK")
        print(f" {number}/{len(names)} hotpin:unit / {name}    {result}    0.01s", flush=True)
        log.write(json.dumps({"name": "hotpin:unit / " + name, "result": result,
                              "stdout": os.environ["SAID"]}) + "\n")
        if do == "die":
            log.flush()
            os.kill(os.getpid(), signal.SIGKILL)
'''
NINJA = "#!/bin/sh\n[ \"$DO\" != broken ] || { echo 'error: it does not compile' && exit 1; }\n"
TESTS = {"first": "unit", "second": "unit", "protections": "protections", "heap": "unit room-heap",
         "pin on": "preload", "pin plain": "preload without", "third": "unit all"}


def is_running(process):
    """False also for a process that has ended, but whose status nobody has asked for."""
    try:
        return pathlib.Path(f"/proc/{process}/cmdline").read_bytes() != b""
    except (FileNotFoundError, ProcessLookupError):
        return False


class Tree:
    """A folder with check.py, whose tests do what `do` says."""

    def __init__(self, folder):
        self.root = pathlib.Path(folder) / "a tree"
        self.commands = pathlib.Path(folder) / "bin"
        for name, text in ("meson", MESON), ("ninja", NINJA):
            self.commands.mkdir(exist_ok=True)
            (self.commands / name).write_text(text)
            (self.commands / name).chmod(0o755)
        (self.root / "test").mkdir(parents=True)
        for name in "check.py", "progress.py", "results.py", "stopping.py":
            shutil.copy2(HERE / name, self.root / "test" / name)
        self.sleep = pathlib.Path(folder) / "sleep"
        self.logs = self.root / "build" / "check-logs"

    def start(self, *words, do="pass", build="debug", said="", out=subprocess.PIPE, **settings):
        path = f"{self.commands}:{os.environ['PATH']}"

        def heed():
            """The caller of this test may ignore them, as nohup and shells in the background do."""
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)

        return subprocess.Popen([sys.executable, "-B", self.root / "test" / "check.py", *words],
                                stdout=out, stderr=subprocess.STDOUT, text=True, preexec_fn=heed,
                                env={**os.environ, "PATH": path, "TESTS": json.dumps(TESTS), "DO": do,
                                     "IN": build, "SAID": said, "SLEEP": str(self.sleep),
                                     "TEST_WRAPPER": "", "TEST_SLOWNESS": "1", "TERM": "xterm",
                                     **settings})

    def run(self, *words, **settings):
        """Returns the exit status and the lines that are printed."""
        with self.start(*words, **settings) as child:
            said, _ = child.communicate()
        return child.returncode, said.splitlines()

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a", *words], cwd=self.root,
                       env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"},
                       check=True, stdout=subprocess.DEVNULL)


class Checks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Tree(folder.name)

    def ends(self, status, last, *words, **settings):
        """Runs a check, which must end with that status and line; returns all lines as a text."""
        found, lines = self.tree.run(*words, **settings)
        self.assertEqual((found, lines[-1]), (status, last), "\n".join(lines))
        return "\n".join(lines)

    def test_all_pass(self):
        self.ends(0, "7 passed, 0 failed")
        self.assertTrue((self.tree.root / "build/check-debug/without.stamp").exists())

    def test_a_failure(self):
        said = self.ends(1, "3 passed, 4 failed", do="fail", said="not ok 1 - it")
        self.assertIn("FAILED debug: first", said)
        self.assertIn("not ok 1 - it", said)
        self.assertFalse((self.tree.root / "build/check-debug/without.stamp").exists())

    def test_skips_have_reasons(self):
        said = self.ends(0, "3 passed, 0 failed, 4 skipped", do="skip", said="there is no tool")
        self.assertIn("skipped: debug: first: there is no tool", said)

    def test_skipped_rows_have_reasons(self):
        said = self.ends(0, "2 passed, 0 failed, 2 skipped", "--quick", "heap",
                         said="1..2\n# skipped: no device\nok 1 - row # SKIP\nok 2 - other\n")
        self.assertIn("skipped: debug: heap (row): no device", said)

    def test_skipped_parts_have_reasons(self):
        for said in "skipped: pages: no tool\n", "ok 1 - it\n# skipped: pages: no tool\nok 2 - other\n":
            said = self.ends(0, "2 passed, 0 failed, 2 skipped", "--quick", "heap", said=said)
            self.assertIn("skipped: debug: heap: pages: no tool", said)

    def test_nothing_but_skips_is_no_success(self):
        self.ends(1, "0 passed, 0 failed, 2 skipped", "--quick", "heap", do="skip", said="no tool")

    def test_what_is_not_built(self):
        said = self.ends(1, "0 passed, 1 failed", do="broken")
        self.assertIn("it does not compile", said)

    def test_meson_ends_early(self):
        said = self.ends(1, "5 passed, 1 failed", do="die", build="asan")
        self.assertIn("asan: 1 of 3 tests were run", said)

    def test_a_log_that_cannot_be_written(self):
        (self.tree.logs / "asan-tests.log").mkdir(parents=True)
        status, _ = self.tree.run()
        self.assertEqual(status, 1)

    def test_setup_that_was_ended(self):
        (self.tree.root / "build/check-debug/meson-private").mkdir(parents=True)
        (self.tree.root / "build/check-debug/meson-private/coredata.dat").touch()
        self.ends(0, "7 passed, 0 failed")

    def test_settings_stay_when_set_up_again(self):
        self.tree.run("--all")
        settings = [file.read_text() for file in (self.tree.root / "build").glob("check-*/words")]
        self.assertEqual(len(settings), 5)
        for words in settings:
            self.assertFalse("--buildtype" in words and "-Doptimization" in words, words)

    def stops(self, number, *words):
        with self.tree.start(*words, do="hang") as child:
            while not self.tree.sleep.exists() or self.tree.sleep.read_text() == "":
                self.assertIsNone(child.poll())
                time.sleep(0.01)
            other, said = self.tree.run("--quick")
            self.assertEqual((other, len(said)), (1, 1), said)
            self.assertIn("already runs", said[0])
            # Any thread may get a signal; the first one may wait for the others.
            thread = max(map(int, os.listdir(f"/proc/{child.pid}/task")))
            self.assertEqual(ctypes.CDLL(None).tgkill(child.pid, thread, number), 0)
            said, _ = child.communicate()
        self.assertEqual(child.returncode, 128 + number)
        self.assertTrue(said.endswith(f"stopped by {number.name}\n"), said)
        self.assertNotIn("FAILED", said)
        while is_running(self.tree.sleep.read_text()):
            time.sleep(0.01)
        self.tree.sleep.unlink()

    def test_stopped(self):
        self.stops(signal.SIGINT)
        self.stops(signal.SIGTERM)
        self.stops(signal.SIGHUP, "--quick")

    def test_narrow_terminals(self):
        for columns in 0, 1, 10:
            ours, its = pty.openpty()
            fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 0, columns, 0, 0))
            with self.tree.start(out=its) as child:
                os.close(its)
                said = b""
                try:
                    while part := os.read(ours, 4096):
                        said += part
                except OSError: # its other end is closed
                    pass
            os.close(ours)
            self.assertTrue(said.endswith(b"7 passed, 0 failed\r\n"), said)
            self.assertEqual(child.returncode, 0)

    def test_a_terminal_without_the_characters(self):
        self.ends(1, "3 passed, 4 failed", do="fail", said="a \u2192 b", PYTHONIOENCODING="ascii")

    def test_quick_takes_what_differs(self):
        if shutil.which("git") is None:
            return print("# skipped: git is not installed\nok 1 - what differs # SKIP")
        root = self.tree.root
        for name in "src/heap/a b.c", "src/pin/c.c", "test/unit/test_first.c":
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(f"a file with some text: {name}\n")
        (root / ".gitignore").write_text("build\n")
        self.tree.git("init", "-q")
        self.tree.git("add", ".")
        self.tree.git("commit", "-qm", "a")
        self.ends(0, "1 passed, 0 failed", "--quick")
        # From one room to another.
        self.tree.git("mv", "src/heap/a b.c", "src/pin/a b.c")
        self.ends(0, "2 passed, 0 failed", "--quick")
        self.tree.git("reset", "-q", "--hard")
        (root / "test/unit/test_first.c").unlink()
        self.ends(0, "2 passed, 0 failed", "--quick")
        self.tree.git("reset", "-q", "--hard")
        (root / "test/preload").mkdir()
        (root / "test/preload/test_pin.c").touch()
        self.ends(0, "2 passed, 0 failed", "--quick")
        (root / "test/preload/test_pin.c").rename(root / "test/preload/a \n\u00e9.c")
        said = self.ends(0, "1 passed, 0 failed", "--quick")
        self.assertIn("only tools/check has the tests of test/preload/a \n\u00e9.c", said)
        shutil.rmtree(root / ".git")
        self.assertIn("git does not say", self.ends(0, "1 passed, 0 failed", "--quick"))


if __name__ == "__main__":
    unittest.main()
