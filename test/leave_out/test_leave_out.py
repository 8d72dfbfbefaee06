#!/usr/bin/env python3
"""test_leave_out.py - tests leave_out.py with a list and test programs of its own."""
import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
# The name of the test says what it does with each protection, and without one.
PROGRAM = r'''#!/bin/sh
do=${2%_*}
[ -z "$HOTPIN_LEAVE_OUT" ] || do=${2#*_}
case $do in
pass) ;;
fail) exit 1 ;;
skip) printf '# skipped: no device\nok 1 - it # SKIP\n' ;;
hang) echo $$ >"$PLACE" && exec sleep 600 ;;
none) exit 2 ;;
# Quick only at first.
slow) [ ! -e "$PLACE" ] || sleep 2; echo >>"$PLACE" ;;
esac
'''


def is_running(process):
    """False also for a process that has ended, but whose status nobody has asked for."""
    try:
        return pathlib.Path(f"/proc/{process}/cmdline").read_bytes() != b""
    except (FileNotFoundError, ProcessLookupError):
        return False


class LeaveOut(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)
        for name in "src/base", "test/leave_out", "build/test/preload", "temporary":
            (self.top / name).mkdir(parents=True)
        text = (HERE / "leave_out.py").read_text()
        self.assertIn("SHORTEST = 10, 5", text)
        shutil.copy2(HERE.parent / "stopping.py", self.top / "test")
        (self.top / "test/leave_out/leave_out.py").write_text(text.replace("SHORTEST = 10, 5", "SHORTEST = 10, 1"))
        program = self.top / "build/test/preload/preload_it"
        program.write_text(PROGRAM)
        program.chmod(0o755)

    def start(self, rows, *words):
        (self.top / "src/base/protections.def").write_text(rows)
        return subprocess.Popen([sys.executable, self.top / "test/leave_out/leave_out.py", *words,
                                 self.top / "build"], stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.STDOUT,
                                env={**os.environ, "TMPDIR": str(self.top / "temporary"),
                                     "PLACE": str(self.top / "place")})

    def says(self, status, expected, tests, *words, text="it"):
        """Runs it for one protection with these tests."""
        with self.start(f'PROTECTION(one, "{text}",\n\t   "it: {tests}")\n', *words) as done:
            said, _ = done.communicate()
        self.assertEqual(done.returncode, status, said)
        self.assertIn(expected, said)

    def test_a_test_that_fails_without(self):
        self.says(0, "ok 1 - one: it pass_fail", "pass_fail")
        self.says(0, "ok 1 - one: it pass_fail", "pass_pass pass_fail")

    def test_no_test_that_fails_without(self):
        self.says(1, "not ok 1 - one: NO TEST FAILS", "pass_pass")
        self.says(1, "not ok 1 - one: NO TEST FAILS", "")
        self.says(1, "not ok 1 - one: NO TEST FAILS", "pass_skip")
        self.says(1, "not ok 1 - one: NO TEST FAILS", "skip_skip pass_pass")

    def test_a_test_that_fails_with_it(self):
        self.says(1, "fails anyway", "fail_fail")
        self.says(1, "not ok 1 - it: fail_fail", "fail_fail", "--keep")

    def test_a_machine_that_becomes_slower(self):
        self.says(0, "ok 1 - one: it slow_fail", "slow_fail")

    def test_a_skip_has_a_reason(self):
        self.says(0, "ok 1 - one # SKIP no device", "skip_skip")
        self.says(0, "ok 1 - it: skip_skip # SKIP no device", "skip_skip", "--keep")

    def test_what_cannot_be_read(self):
        self.says(1, "0 of 1 rows", "pass_fail", text='\\"it\\"')
        self.says(1, "has no test", "none_none")
        self.says(1, "has no protection", "pass_fail", "one")

    def test_stopped(self):
        with self.start('PROTECTION(one, "it", "it: hang_hang")') as done:
            place = self.top / "place"
            while not place.exists() or place.read_text() == "":
                self.assertIsNone(done.poll())
                time.sleep(0.01)
            # Any thread may get a signal; the first one waits for the others.
            thread = max(map(int, os.listdir(f"/proc/{done.pid}/task")))
            self.assertEqual(ctypes.CDLL(None).tgkill(done.pid, thread, signal.SIGTERM), 0)
            said, _ = done.communicate()
        self.assertEqual((done.returncode, said), (128 + signal.SIGTERM, "1..1\n"))
        while is_running(place.read_text().strip()):
            time.sleep(0.01)
        self.assertEqual(os.listdir(self.top / "temporary"), [])


if __name__ == "__main__":
    unittest.main()
