"""Runs a program many times without the library and with it, and compares all its output.

    repeat.py [-j SHARDS] [-b BUDGET] [-k PATTERN] [-m MODE,...] [-r TURNS]
              LIBRARY PROGRAM N [ARGUMENT...]

If a program lists its tests (--list, as `defer` and `hazards` do), the tests whose name matches
PATTERN are run.  A test that needs a process of its own is one unit, and all others are another
unit.  Each process runs its tests TURNS times.  There are N processes with the library and N / 10
plain ones, or N of each MODE (plain, on; off: HOTPIN_ASYNC=0).  They run one after the other,
because on a device several at once take many times as long, or SHARDS at a time.

One turn without the library is the reference: every other turn must have the same standard output
and status.  Lines of comments ("# ...") are not compared, observations ("# see ...") are.  If a
unit's TURNS turns in one plain process differ, or if the program has ARGUMENTs, there are N * TURNS
processes of one turn.  A process hangs if it is silent for ten times as long as one plain turn
took, or takes ten times as long as all its turns should, but at least 20 s.  After two that hang,
no more of that unit are started in that mode.  After BUDGET seconds no process is started, and
running ones are discarded.

Exit status: 0 all runs were the same, 1 some were not, or a unit had no run in some mode.
"""
import argparse
import collections
import concurrent.futures
import itertools
import os
import re
import subprocess
import sys
import time

import runs

MODES = {"plain": None, "on": "1", "off": "0"}
USUAL = ["plain", "on"]
LEAST_SECONDS, FIRST_SECONDS = 20, 120
HANGS_MOST = 2


class Unit:
    """The tests of one process: a name, its tests or arguments, its environment; and its output."""

    def __init__(self, name, tests=(), arguments=(), settings=()):
        self.name, self.tests, self.arguments = name, list(tests), list(arguments)
        self.settings = dict(setting.split("=", 1) for setting in settings)
        self.turns, self.wanted, self.status, self.one_turn = 1, None, None, 0.0

    def command(self, turns):
        return ["--run", *self.tests * turns] if self.tests else self.arguments

    def expected(self, turns):
        return [*self.wanted * turns, self.status]


def say(text):
    print(text, flush=True)


def units_of(program, pattern):
    listed = subprocess.run([program, "--list"], text=True, capture_output=True, check=False)
    if listed.returncode != 0:
        sys.exit(f"{program} lists no tests: say its arguments")
    together, units = [], []
    for line in listed.stdout.splitlines():
        name, *settings = line.split("\t")
        if not re.search(pattern, name):
            continue
        if settings:
            units.append(Unit(name, [name], settings=settings))
        else:
            together.append(name)
    if together:
        name = f"{len(together)} tests together" if len(together) > 1 else together[0]
        # Comes last, because it takes longest.
        units.append(Unit(name, together))
    return units


class Repeat:
    """All runs and their results."""

    def __init__(self, options, units):
        self.options, self.units, self.begun = options, units, time.monotonic()
        self.done, self.wrong, self.hung = (collections.Counter() for _ in range(3))
        self.spent = collections.Counter()

    def left(self):
        return self.begun + self.options.budget - time.monotonic()

    def run(self, unit, mode, turns):
        """Returns the run's result, with its lines to compare; None if there is no time for it."""
        if self.left() <= 0:
            return None
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("PRELOAD_SO", "LD_PRELOAD", "HOTPIN_ASYNC")}
        environment.update(unit.settings)
        if MODES[mode] is not None:
            environment.update(LD_PRELOAD=self.options.library, HOTPIN_ASYNC=MODES[mode])
        silent = max(LEAST_SECONDS, 10 * unit.one_turn) if unit.one_turn else FIRST_SECONDS
        most = max(LEAST_SECONDS, 10 * unit.one_turn * turns) if unit.one_turn else FIRST_SECONDS
        # Two seconds more, because a process that starts in the last one could never end.
        until = self.left() + 2
        done = runs.run([self.options.program, *unit.command(turns)], environment,
                        min(silent, until), min(most, until))
        if done.status is None and self.left() <= 0:
            return None
        kept = [line for line in done.lines() if counts(line)]
        return done, [*kept, "hangs" if done.status is None else f"status {done.status}"]

    def learn(self, unit):
        """Runs one turn plainly, then as many as a process will run, which must have equal output.
        """
        answer = None
        for _ in range(2):
            answer = self.run(unit, "plain", 1)
            if answer is None or answer[0].status is not None:
                break
        if answer is None:
            return
        done, kept = answer
        if done.status is None:
            say(f"{unit.name}: plain: hangs; {last_over(done)}: nothing to compare with")
            return
        for line in kept:
            if ": FAILED" in line or ": not ok" in line:
                say(f"{unit.name}: plain: {line}")
        unit.wanted, unit.status, unit.one_turn = kept[:-1], kept[-1], done.seconds
        if self.options.turns == 1 or not unit.tests:
            return
        answer = self.run(unit, "plain", self.options.turns)
        if answer is not None and answer[1] == unit.expected(self.options.turns):
            unit.turns = self.options.turns
        elif answer is not None:
            say(f"{unit.name}: plain: {self.options.turns} turns in one process are not as one: "
                "one a process")

    def jobs(self):
        for number in range(self.options.runs):
            for unit, mode in itertools.product(self.units, self.options.modes):
                if mode == "plain" and number % 10 != 0:
                    continue
                for _ in range(self.options.turns // unit.turns):
                    yield unit, mode

    def asked(self, mode):
        """Returns the turns of each unit."""
        count = (self.options.runs + 9) // 10 if mode == "plain" else self.options.runs
        return count * self.options.turns

    def one(self, job):
        unit, mode = job
        if unit.wanted is None or self.hung[job] >= HANGS_MOST:
            return
        answer = self.run(unit, mode, unit.turns)
        if answer is None:
            return
        done, kept = answer
        self.spent[unit] += done.seconds
        if done.status is None:
            self.hung[job] += 1
            say(f"{unit.name}: {mode}: HANGS, after {done.seconds:.0f} s; {last_over(done)}")
            return
        self.done[job] += unit.turns
        if kept == unit.expected(unit.turns):
            return
        self.wrong[job] += 1
        if self.wrong[job] == 1:
            at, text = first_difference(unit, kept)
            say(f"{unit.name}: {mode}: DIFFERS: {text}")
            for line in [*remarks_before(done.lines(), at)[-6:],
                         *(f"stderr: {line}" for line in done.remarks()[:6])]:
                say(f"    {line}")

    def sums(self):
        for job, count in self.wrong.items():
            say(f"{job[0].name}: {job[1]}: {count} processes differ")
        for unit, seconds in self.spent.most_common(5):
            say(f"slowest: {unit.name}: {seconds:.1f} s, one turn plain {unit.one_turn:.2f} s")
        missing = collections.defaultdict(list)
        for unit in self.units:
            lacks = [f"{mode} {self.asked(mode) - self.done[unit, mode]}"
                     for mode in self.options.modes if self.done[unit, mode] < self.asked(mode)]
            if lacks:
                missing[", ".join(lacks)].append(unit.name)
        for lacks, names in missing.items():
            say(f"left out: turns: {lacks}: {', '.join(names)}")
        turns = []
        for mode in self.options.modes:
            each = [self.done[unit, mode] for unit in self.units]
            every = f"{min(each)}" + (f" to {max(each)}" if min(each) != max(each) else "")
            turns.append(f"{mode} {sum(each)} of {self.asked(mode) * len(self.units)} turns "
                         f"({every} of each)")
        say(f"repeat: {len(self.units)} units, {'; '.join(turns)}; "
            f"{sum(self.wrong.values())} DIFFER, {sum(self.hung.values())} HANG; "
            f"{time.monotonic() - self.begun:.0f} s")


def last_over(done):
    """Says which test had ended last."""
    over = [line for line in done.lines() if not line.startswith("#")]
    return f"the last to end was {over[-1]!r}, number {len(over)}" if over else "none had ended"


def counts(line):
    return not line.startswith("#") or line.startswith("# see ")


def remarks_before(lines, number):
    """Returns the program's comments on the line with this number among the compared ones."""
    remarks = []
    for line in lines:
        if not counts(line):
            remarks.append(line)
        elif number == 0:
            break
        else:
            number, remarks = number - 1, []
    return remarks


def first_difference(unit, got):
    """Returns the number of the first line that differs, and the difference."""
    wanted = unit.expected(unit.turns)
    for number, line in enumerate(wanted):
        if number >= len(got) or got[number] != line:
            turn = min(number // max(1, len(unit.wanted)), unit.turns - 1) + 1
            now = repr(got[number]) if number < len(got) else "nothing"
            return number, f"turn {turn}: {line!r}, now {now}"
    return len(wanted), f"nothing more, now {got[len(wanted)]!r}"


def modes(text):
    wanted = text.split(",")
    if not set(wanted) <= set(MODES):
        raise argparse.ArgumentTypeError(f"of {', '.join(MODES)}")
    return wanted


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-j", dest="shards", type=int, default=1)
    parser.add_argument("-b", dest="budget", type=float, default=float("inf"))
    parser.add_argument("-k", dest="pattern", default="")
    parser.add_argument("-m", dest="modes", type=modes, default=USUAL)
    parser.add_argument("-r", dest="turns", type=int, default=1)
    parser.add_argument("library", type=os.path.abspath)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("runs", type=int)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.arguments:
        units = [Unit(" ".join(options.arguments), arguments=options.arguments)]
    else:
        units = units_of(options.program, options.pattern)
    if not units:
        sys.exit("no test has such a name")
    repeat = Repeat(options, units)
    with concurrent.futures.ThreadPoolExecutor(options.shards) as pool:
        list(pool.map(repeat.learn, units))
        list(pool.map(repeat.one, list(repeat.jobs())))
    repeat.sums()
    none = [job for job in itertools.product(units, options.modes) if repeat.done[job] == 0]
    return bool(repeat.wrong or repeat.hung or none)


sys.exit(main())
