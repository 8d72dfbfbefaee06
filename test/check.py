#!/usr/bin/env python3
"""Builds hotpin in several ways and runs the tests of each build.

    check.py [--all] [--build-only] [BUILD...]     for tools/check
    check.py --quick [--list] [ROOM...]            for tools/quick

tools/check and tools/quick describe the arguments and prepare the machine.
"""
import argparse
import concurrent.futures
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import threading

import stopping
from progress import Progress
from results import Results

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "check-logs"
SLOWNESS = int(os.environ.get("TEST_SLOWNESS") or 1)
PROCESSES = int(os.environ.get("TEST_PROCESSES") or os.cpu_count() * 2)
WRAPPER = os.environ.get("TEST_WRAPPER", "")
USUAL = {"check": "4 to 8 minutes on two cores",
         "--all": "15 to 25 minutes on two cores"}
NO_TESTS = "the build has no tests: they need the headers of CUDA 13"
# Sanitized code is optimized no further than -O1: more doubles the time to compile and finds nothing
# more.  The compiler then warns of paths that cannot be taken, so warnings are no errors.
# -Doptimization never stands next to --buildtype: when meson configures again, the latter prevails, so
# that everything would be compiled again, with -O2.  The type is the project's, debugoptimized.
SANITIZED = ["-Doptimization=1", "-Dc_args=-g1", "-Db_lundef=false", "-Dwerror=false"]


class Build:
    """A way to build hotpin, and which of its tests a check runs."""

    # The runtime of ThreadSanitizer of gcc 12 does not know the address layout of newer kernels.
    STILL = "setarch -R"

    def __init__(self, name, compiler, limits, settings, few, more):
        self.name, self.compiler, self.limits, self.settings = name, compiler, limits, settings
        # Suites -> whether the test runs in a check (None: this build does not), and with --all.
        self.few, self.more = few, more
        self.folder = ROOT / "build" / f"check-{name}"
        self.tests = {} # name: suites, in the order of their priority
        self.kinds = {} # name: the first suite
        self.commands = {} # name: what meson runs

    def is_set_up(self):
        """True if meson considers the build set up, and has generated its files."""
        return (self.folder / "meson-private" / "coredata.dat").exists() and \
            (self.folder / "build.ninja").exists()

    def find(self, wants):
        """Reads those tests of the configured build whose set of suites `wants` is true of."""
        told = (self.folder / "meson-info" / "intro-tests.json").read_text(encoding="utf-8")
        tests = sorted(json.loads(told), key=lambda test: -test["priority"])
        self.tests = {}
        for test in tests:
            suites = [suite.split(":")[-1] for suite in test["suite"]]
            if wants(set(suites)):
                self.tests[test["name"]] = set(suites)
                self.kinds[test["name"]] = suites[0]
                self.commands[test["name"]] = test["cmd"]

    def wrapper(self):
        """Returns the command before each test."""
        still = self.name == "tsan" and subprocess.run(
            shlex.split(self.STILL) + ["true"], capture_output=True, check=False).returncode == 0
        return " ".join(filter(None, [self.STILL if still else "", WRAPPER]))


# `all`: only --all runs it.  `without`: a run without the library, or with HOTPIN=0, which no change of
# src/ can alter.  `once`: one build is enough.  `sources`: it reads the sources alone.
BUILDS = [Build(*row) for row in (
    # With asserts and the switches of test/leave_out.  Without optimization, the stand-in driver would
    # take most of the time.
    ("debug", "gcc", 2,
     ["-Doptimization=1", "-Dleave_out=true", "-Dwerror=true"],
     lambda suites: not suites & {"all", "without", "protections"},
     lambda suites: not suites & {"protections"}),
    # Only programs that link our code: a sanitizer's runtime precedes every preloaded library.
    ("asan", "gcc", 3, SANITIZED + ["-Db_sanitize=address,undefined"],
     lambda suites: suites & {"unit", "engine"} and not suites & {"all"},
     lambda suites: suites & {"unit", "engine", "report"} and not suites & {"once"}),
    # Without asserts, and optimized as distributed.  Other suites find nothing more here.
    ("release", "gcc", 2, ["--buildtype=release", "-Dwerror=true"], None,
     lambda suites: suites & {"unit", "preload", "fault", "walk"} and
     not suites & {"without", "once", "sources"}),
    ("tsan", "gcc", 3, SANITIZED + ["-Db_sanitize=thread"], None,
     lambda suites: suites & {"threads"}),
    # A second compiler has other warnings and generates other code.  Reports are the same by two
    # builds of the first one.
    ("clang", "clang", 2, ["--buildtype=debug", "-Dwerror=true"], None,
     lambda suites: suites & {"unit", "rules"} and not suites & {"once", "sources"}),
)]
BY_NAME = {build.name: build for build in BUILDS}


def end_group(child):
    """Ends a command and the commands that it has started."""
    with contextlib.suppress(ProcessLookupError):
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGTERM)


class Check:
    """One run of builds and their tests."""

    COMPILED = re.compile(r"^\[(\d+)/(\d+)\]")
    TESTED = re.compile(r"^ *\d+/\d+ (?:.* / )?(.+?) +(OK|FAIL|SKIP|TIMEOUT|ERROR|EXPECTEDFAIL|"
                        r"UNEXPECTEDPASS|INTERRUPT) +[\d.]+s")

    def __init__(self):
        self.progress, self.results = Progress(), Results()
        self.lock, self.running = threading.Lock(), set()
        self.stopped = 0 # by this signal

    def command(self, words, log, see=lambda line: None, **settings):
        """Runs a command with its output in a file, shows each line to `see`; returns the status."""
        with open(log, "w", encoding="utf-8", errors="replace") as file:
            with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  stdin=subprocess.DEVNULL, errors="replace", cwd=ROOT,
                                  start_new_session=True,
                                  env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1",
                                       "NINJA_STATUS": "[%f/%t] ", **settings}) as child:
                with self.lock:
                    self.running.add(child)
                if self.stopped:
                    end_group(child)
                for line in child.stdout:
                    file.write(line)
                    see(line)
            with self.lock:
                self.running.discard(child)
        return child.returncode

    def stop(self, number):
        """Ends what is running; ninja ends its compilers, and meson its tests."""
        self.stopped = number
        for child in list(self.running):
            end_group(child)

    def fail(self, what, log):
        """Notes a failure that is no test's."""
        if self.stopped:
            return False
        self.progress.say(f"FAILED {what}")
        with self.lock:
            self.results.broken(what, log)
        return False

    def log(self, build, name):
        """Returns the path of a log of that build."""
        return LOGS / f"{build.name}-{name}.log"

    def configure(self, build):
        """Sets the build up, also again, because CUDA_PATH may have changed."""
        # meson refuses to set up such a folder again, also if a signal has ended it before build.ninja.
        again = ["--reconfigure"] if (build.folder / "meson-private" / "coredata.dat").exists() else []
        log = self.log(build, "setup")
        status = self.command(["meson", "setup", build.folder, *again, *build.settings], log,
                              CC=build.compiler)
        return status == 0 or self.fail(f"{build.name}: the build could not be set up", log)

    def regenerate(self, build):
        """Sets the build up as before if a file of meson has changed since."""
        log = self.log(build, "setup")
        status = self.command(["ninja", "-C", build.folder, "build.ninja"], log)
        return status == 0 or self.fail(f"{build.name}: the build could not be set up", log)

    def compile(self, build):
        """Compiles everything; with -Dwerror=true, a warning is a failure."""
        log = self.log(build, "compile")
        status = self.command(["ninja", "-C", build.folder], log, self.watch(build))
        return status == 0 or self.fail(f"{build.name}: the build failed", log)

    def watch(self, build):
        """Returns what follows the output of ninja and of meson."""
        def see(line):
            if self.stopped:
                return
            compiled = self.COMPILED.match(line)
            tested = self.TESTED.match(line)
            if compiled:
                self.progress.step(f"{build.name}: compiling, step {compiled[1]} of {compiled[2]}")
            elif tested:
                kind = build.kinds.get(tested[1], "test")
                if tested[2] not in ("OK", "SKIP", "EXPECTEDFAIL"):
                    self.progress.say(f"FAILED {build.name}: {tested[1]}")
                self.progress.step(f"{kind}: {tested[1]}, {build.name}", 1)
        return see

    def test(self, build, tests, processes, name="tests"):
        """Builds what the tests need and runs them; returns whether all passed."""
        if not tests:
            return True
        limits = build.limits * SLOWNESS
        words = ["meson", "test", "-C", build.folder, "--timeout-multiplier", str(2 * limits),
                 "--logbase", name]
        if build.wrapper():
            words += ["--wrapper", build.wrapper()]
        log = self.log(build, name)
        found = build.folder / "meson-logs"
        for old in found.glob(f"{name}*.json"):
            old.unlink()
        # Tests often wait for processes and threads, so more tests than cores run at once.
        self.command([*words, *tests], log, self.watch(build), TEST_SLOWNESS=str(limits),
                     MESON_TESTTHREADS=str(processes),
                     UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")
        if self.stopped:
            return False
        # With a wrapper, its name is part of the log's.
        ran = failed = 0
        for path in found.glob(f"{name}*.json"):
            with self.lock:
                ran, failed = self.results.read(build.name, path)
        # meson has no other sign of tests that it did not start, such as after it was killed.
        if ran < len(tests):
            return self.fail(f"{build.name}: {ran} of {len(tests)} tests were run", log)
        return failed == 0

    def together(self, functions):
        """Runs functions at the same time; returns whether all succeeded."""
        with concurrent.futures.ThreadPoolExecutor(max(1, len(functions))) as pool:
            return all(list(pool.map(lambda function: function(), functions)))

    def end(self):
        """Prints failures and the last line; returns the exit status."""
        if self.stopped:
            self.progress.say(f"stopped by {signal.Signals(self.stopped).name}")
            return 128 + self.stopped
        self.progress.erase()
        if self.results.failures:
            print("To run a test again: meson test -C build/check-BUILD 'TEST'.  test/README.md says "
                  "how to debug it.")
        return self.results.show()

    def choose(self, builds, everything, tests_have_changed):
        """Chooses the tests of each build."""
        for build in builds:
            wants = build.more if everything else build.few
            again = tests_have_changed and build.name == "debug"
            build.find(lambda suites, wants=wants, again=again: wants(suites) or
                       again and "without" in suites and "all" not in suites)
            self.progress.total += len(build.tests)
        if self.progress.total == 0:
            self.progress.say(NO_TESTS)

    def in_turn(self, builds, processes):
        """Builds and runs the tests of one build after the other."""
        return all([self.test(build, list(build.tests), processes) for build in builds])

    def compile_all(self, builds):
        """Compiles everything and runs nothing."""
        if self.together([lambda build=build: self.configure(build) for build in builds]):
            for build in builds:
                self.compile(build)
        return self.end() if self.results.failures or self.stopped else 0

    def run(self, builds, everything):
        """Runs the builds: debug first, and the others at the same time as the tests of debug."""
        if not self.together([lambda build=build: self.configure(build) for build in builds]):
            return self.end()
        stamp, debug = Stamp(), BY_NAME["debug"]
        self.choose(builds, everything, stamp.differs())
        if debug not in builds:
            self.in_turn(builds, PROCESSES)
            return self.end()
        if not self.compile(debug):
            return self.end()
        # So no core idles while a build links or runs its last test.
        others = [build for build in builds if build != debug]
        if self.together([lambda: self.test_debug(debug),
                          lambda: self.in_turn(others, max(1, PROCESSES // 2))]):
            stamp.write()
        return self.end()

    def test_debug(self, debug):
        """Runs the tests of the stand-in driver, and then those that rely on it."""
        first = [name for name, suites in debug.tests.items() if "standin" in suites]
        if not self.test(debug, first, PROCESSES, "standin"):
            self.progress.say("the stand-in driver is broken, so debug tests that run on it were left out")
            return False
        return self.test(debug, [name for name in debug.tests if name not in first], PROCESSES)


class Stamp:
    """The state of test/ that the runs without the library have passed with.

    Continuous integration has checked that of a fresh clone.
    """

    def __init__(self):
        self.path = BY_NAME["debug"].folder / "without.stamp"
        digest = hashlib.sha256()
        for path in sorted((ROOT / "test").rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
        self.state = digest.hexdigest()

    def differs(self):
        """True if the tests have changed since."""
        return self.path.exists() and self.path.read_text(encoding="ascii") != self.state

    def write(self):
        """Notes that the tests, as they were when the check began, have passed."""
        self.path.write_text(self.state, encoding="ascii")


def rooms_of(tests):
    """Returns {room: [test...]}; a test's suite room-NAME says which room it belongs to."""
    rooms = {}
    for name, suites in tests.items():
        for suite in suites:
            if suite.startswith("room-"):
                rooms.setdefault(suite.removeprefix("room-"), []).append(name)
    return rooms


def differing(check):
    """Returns the rooms of the files that differ from HEAD, and those of them that are tests'."""
    told = subprocess.run("git diff -z --name-only --no-renames --relative HEAD && "
                          "git ls-files -z --others --exclude-standard",
                          shell=True, capture_output=True, check=False, cwd=ROOT)
    if told.returncode != 0:
        check.progress.say("git does not say what differs from HEAD, so only protections are tested")
    rooms, tests = set(), set()
    for path in map(pathlib.PurePath, filter(None, os.fsdecode(told.stdout).split("\0"))):
        top = path.parts[0]
        if top == "src" and len(path.parts) > 2:
            rooms.add(path.parts[1])
        elif top in ("tools", "packaging", "doc"):
            rooms.add(top)
        elif top == "include":
            rooms.add("trace")
        elif path.parts[:2] == ("test", "standin"):
            rooms.add("standin")
        elif top == "test":
            tests.add(path)
    return rooms, tests


def is_source(path, name, command):
    """True if the file is a part of the test, judged by their names."""
    source, test = path.stem.removeprefix("test_"), re.split("[ .-]", name)[0]
    return source == test or source.startswith(f"{test}_") or str(ROOT / path) in command


def quick(check, words):
    """Runs the tests of all protections, and the unit and engine tests of rooms."""
    build = BY_NAME["debug"]
    if not (check.regenerate(build) if build.is_set_up() else check.configure(build)):
        return check.end()
    build.find(lambda suites: "all" not in suites)
    rooms = rooms_of(build.tests)
    if "--list" in words:
        for room, names in sorted(rooms.items()):
            print(f"{room}: {', '.join(names)}")
        return 0
    # "src/heap/" and "heap/" are heap.
    named = [word.removesuffix("/").split("/")[-1] for word in words]
    for word in named:
        if word not in rooms:
            print(f"hotpin: there is no room '{word}'; tools/quick --list shows all", file=sys.stderr)
            return 1
    changed, files = (named, set()) if named else differing(check)
    chosen = [name for name, suites in build.tests.items() if "protections" in suites or
              any(name in rooms.get(room, []) for room in changed) or
              "without" not in suites and
              any(is_source(path, name, build.commands[name]) for path in files)]
    others = [str(path) for path in files if not any(is_source(path, *one) for one in
                                                     build.commands.items())]
    if others:
        check.progress.say(f"only tools/check has the tests of {', '.join(sorted(others))}")
    check.progress.total = len(chosen)
    if not build.tests:
        check.progress.say(NO_TESTS)
    check.test(build, chosen, PROCESSES, "quick")
    return check.end()


def only_one():
    """Returns a file that keeps other runs out of build/ while it is open; None if one has it."""
    LOGS.mkdir(parents=True, exist_ok=True)
    # pylint: disable-next=consider-using-with
    lock = open(LOGS / "lock", "w", encoding="ascii")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    return lock


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--list", action="store_const", const=["--list"], default=[])
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    # Names and output of tests can have characters that the terminal lacks.
    sys.stdout.reconfigure(errors="backslashreplace")
    lock = only_one()
    if lock is None:
        print("hotpin: tools/check or tools/quick already runs in this folder", file=sys.stderr)
        return 1
    check, ended = Check(), threading.Event()
    # nohup sets SIGHUP to be ignored.
    stopping.heed([number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
                   if signal.getsignal(number) != signal.SIG_IGN], check.stop)
    reporter = threading.Thread(target=check.progress.report, args=(ended,), daemon=True)
    reporter.start()
    try:
        if options.quick:
            return quick(check, options.list + options.words)
        if options.words:
            chosen = [build for build in BUILDS if build.name in options.words]
        else:
            chosen = [build for build in BUILDS if options.all or build.few is not None]
            if not options.build_only:
                print(f"hotpin: this takes about {USUAL['--all' if options.all else 'check']}",
                      flush=True)
        if options.build_only:
            return check.compile_all(chosen)
        return check.run(chosen, options.all or options.words != [])
    finally:
        ended.set()
        reporter.join()


sys.exit(main())
