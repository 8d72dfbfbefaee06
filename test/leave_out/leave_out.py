#!/usr/bin/env python3
"""Removes each protection of the library, one at a time, and checks that a test then fails.

    leave_out.py [--keep] BUILD [NAME...]

BUILD is a folder configured with -Dleave_out=true.  src/base/protections.def lists the protections
and the tests of each.  All of them pass with the protection; without it, one must fail, crash or
hang.  Exit status: 0 every protection has its test, 1 one has none, or a test fails anyway.

--keep only runs the tests of the protections, without removing any, in any build.
"""
import argparse
import concurrent.futures
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
import stopping # pylint: disable=wrong-import-position

LIST = HERE.parent.parent / "src" / "base" / "protections.def"
SECONDS = 60 * int(os.environ.get("TEST_SLOWNESS", "1"))
SLOWER, SHORTEST = 10, 5 # a test that takes so many times longer than with the protection hangs
TRIES = 6 # some tests depend on chance between threads
NO_SUCH_TEST, REACHED_ITS_END, SKIPPED = 2, 42, 77 # test/harness/check.h
STRINGS = r'((?:\s*"[^"]*",?)+)\)'


def protections():
    """Returns for each its name and its tests, as (program, test)."""
    text = re.sub(r"/\*.*?\*/", "", LIST.read_text(encoding="utf-8"), flags=re.DOTALL)
    rows = re.findall(r"PROTECTION\((\w+)," + STRINGS, text)
    if len(rows) != text.count("PROTECTION("):
        raise SystemExit(f"{LIST}: {len(rows)} of {text.count('PROTECTION(')} rows can be read")
    for name, strings in rows:
        tests = []
        for entry in re.findall(r'"([^"]*)"', strings)[1:]:
            program, names = entry.split(":")
            tests += [(program, test) for test in names.split()]
        yield name, tests


class Tests:
    """The test programs of a build."""

    def __init__(self, build, folder):
        self.known, self.lock = {}, threading.Lock()
        self.folder, self.running, self.starting = folder, set(), threading.Lock()
        self.build = pathlib.Path(build).resolve()
        folder = self.build / "test" / "preload"
        parts = [self.build / "src", folder / "hidden", self.build / "test" / "standin",
                 folder / "odd", folder / "lib"]
        self.environment = dict(os.environ, MALLOC_PERTURB_="0",
                                LD_LIBRARY_PATH=":".join(map(str, parts)),
                                PRELOAD_PATH=f"{folder / 'lib'}:{self.build / 'test' / 'standin'}",
                                PRELOAD_SO=str(self.build / "src" / "libhotpin.so"),
                                PRELOAD_CUPTI=str(folder / "hidden" / "libcupti.so.13"))

    def path(self, program):
        if program in ("defer", "hazards", "held"):
            return self.build / "test" / "hazards" / program
        if "/" in program:
            folder, name = program.split("/")
            return self.build / "test" / folder / f"test_{name}"
        return self.build / "test" / "preload" / f"preload_{program}"

    def run(self, program, test, without="", seconds=SECONDS):
        """Returns whether the test passes, None if it was skipped; and the output."""
        how, passed = ("--child", REACHED_ITS_END) if "/" in program else ("on", 0)
        folder, started = self.start([self.path(program), how, test], without)
        # A test that hangs is ended with its children, and its folder is removed.
        with started as done:
            try:
                said, _ = done.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(done.pid, signal.SIGKILL)
                return False, f"does not end within {seconds:.0f} s"
            finally:
                self.running.discard(done.pid)
                shutil.rmtree(folder, ignore_errors=True)
        if done.returncode == NO_SUCH_TEST:
            raise SystemExit(f"{program} has no test {test}")
        if "# SKIP" in said or done.returncode == SKIPPED:
            return None, said
        return done.returncode == passed, said

    def start(self, words, without):
        """Starts a test in a process group of its own; returns its folder and its process."""
        with self.starting:
            folder = tempfile.mkdtemp(dir=self.folder)
            done = subprocess.Popen(words, text=True, errors="replace", stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, start_new_session=True,
                                    env=dict(self.environment, HOTPIN_LEAVE_OUT=without,
                                             TMPDIR=folder))
            self.running.add(done.pid)
        return folder, done

    def stop(self, number):
        """Ends all tests, which a signal to this process's group does not reach, and this process."""
        with self.starting:
            for group in list(self.running):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)
            shutil.rmtree(self.folder, ignore_errors=True)
            os._exit(128 + number)

    def with_all(self, program, test, again=False):
        """Returns the result of the test with every protection, its output and its seconds."""
        with self.lock:
            known = self.known.get((program, test))
        if known is None or again:
            begun = time.monotonic()
            known = (*self.run(program, test), time.monotonic() - begun)
            with self.lock:
                self.known[program, test] = known
        return known


def reason_of(said):
    """Returns why a test was skipped."""
    found = re.search(r"^# (?:skipped: |row .*: skipped )(.*)$", said, re.MULTILINE)
    return found[1] if found else "no reason given"


def look(tests, name, wanted):
    """Returns the name of the protection with its result in words, and whether it is right."""
    reasons = []
    for program, test in wanted * TRIES:
        passes, said, seconds = tests.with_all(program, test)
        if passes is False:
            return f"{name}: {program} {test} fails anyway", False
        if passes is None:
            reasons.append(reason_of(said))
            continue
        most = min(SECONDS, max(SHORTEST, SLOWER * seconds))
        if tests.run(program, test, name, most)[0] is False:
            passes, _, seconds = tests.with_all(program, test, again=True)
            if not passes:
                return f"{name}: {program} {test} fails anyway", False
            # On a machine that has become so much slower, the time limit may have ended the test.
            if seconds < most:
                return f"{name}: {program} {test}", True
    if wanted and len(reasons) == len(wanted) * TRIES:
        return f"{name} # SKIP {reasons[0]}", True
    return f"{name}: NO TEST FAILS", False


def keep(tests, program, test):
    """Returns the result of a test with all protections in words, and whether it passed."""
    result, said = tests.run(program, test)
    words = f"{program}: {test}"
    if result is None:
        return f"{words} # SKIP {reason_of(said)}", True
    return words + "".join(f"\n# {line}" for line in ([] if result else said.splitlines())), result


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("build")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    known = dict(protections())
    for name in options.names:
        if name not in known:
            raise SystemExit(f"{LIST} has no protection {name}")
    chosen = [one for one in known.items() if not options.names or one[0] in options.names]
    if options.keep:
        work = [(keep, *one) for one in
                dict.fromkeys(test for _, wanted in chosen for test in wanted)]
    else:
        work = [(look, *one) for one in chosen]
    print(f"1..{len(work)}", flush=True)
    failed = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        tests = Tests(options.build, folder)
        stopping.heed((signal.SIGINT, signal.SIGTERM), tests.stop)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            answers = pool.map(lambda one: one[0](tests, *one[1:]), work)
            for number, (words, well) in enumerate(answers, 1):
                with tests.starting: # as long as stop() has not ended its test
                    print(f"{'ok' if well else 'not ok'} {number} - {words}", flush=True)
                failed += [] if well else [words]
    for words in failed:  # again, because only the end of a long log is kept
        print("# failed:", words)
    return failed != [] or not work


sys.exit(main())
