#!/usr/bin/env python3
"""Runs random programs plainly and with the library: their observations must be the same.

    walk.py WALK LIBRARY [--first=SEED] [--count=N] [--batch=N] [--runs=N] [--jobs=N] [--budget=N]
            [--seconds=N] [--steps=random:SEED]

Each batch of seeds runs in one process without the library, in one with streams advancing at every
step (on the stand-in: a difference there is the walk's own mistake), and in --runs processes with
the library and options that the seed chooses.  A difference is run again alone, reduced to the
steps that it needs, and printed as calls.  If it does not recur, the letters that walk prints show
the first call with another observation.  If a batch does not end within --seconds without the
library, nor in a second try, it proves nothing and is counted separately.  The report of a
difference says so if runs without the library also differ from each other.

In a quarter of the batches, chosen by the seed, STANDIN_STEPS=random makes the stand-in's streams
advance by themselves, both plainly and with the library.  --steps sets it for all batches.  With
--set STANDIN_JITTER=300, calls of the stand-in take effect late at random: wrong orders of two
threads are seen more often, and programs take three times as long.  LD_LIBRARY_PATH selects the
driver.  After --budget seconds no batch is begun and no difference is reduced; that is reported, and
is no failure.
"""
import argparse
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

# The values of each option; usually the option is not set.
OPTIONS = {
    "HOTPIN_ASYNC": ["0"],
    "HOTPIN_ROUTE": ["pass", "direct", "bounce", "stage", "defer"],
    "HOTPIN_RING": ["0", "1M", "2M", "64M"],
    "HOTPIN_THREADS": ["0", "1", "4"],
    "HOTPIN_PIN": ["0"],
    "HOTPIN_HEAP_MIN": ["0", "1K", "4K", "4K", "64K"],
    "HOTPIN_PIN_BUDGET": ["0", "64K", "1M"],
    "HOTPIN_PROFILE": ["summary", "trace"],
    "HOTPIN_HASH": ["1"],
}
USUAL = {"HOTPIN_ROUTE": 2, "HOTPIN_HEAP_MIN": 1}
OVER = "over its time"
CALLS_BEFORE = 20
PLAIN_RUNS = 30


def draw_options(rng):
    drawn = {}
    for name, values in OPTIONS.items():
        if rng.randrange(6) < USUAL.get(name, 0) + 1 or name == "HOTPIN_HEAP_MIN":
            drawn[name] = rng.choice(values)
    if rng.randrange(8) == 0:
        drawn = {}
    return drawn


def pin_limit(options):
    """Returns how many bytes the library may pin with these options, as the stand-in reads it."""
    if "0" in (options.get("HOTPIN"), options.get("HOTPIN_PIN")):
        return "0"
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return options.get("HOTPIN_PIN_BUDGET", str(memory // 2))


class Walk:
    """The two ways to run a list of seeds."""

    def __init__(self, args):
        self.program = args.walk
        self.library = os.path.abspath(args.library)
        self.base = {name: value for name, value in os.environ.items()
                     if not name.startswith(("HOTPIN", "STANDIN_", "LD_PRELOAD"))}
        self.base["MALLOC_PERTURB_"] = "0"
        self.seconds = args.seconds

    def run(self, arguments, options=None, steps=None):
        """Returns the lines of the output, with the end of the process as the last one."""
        environment = dict(self.base)
        if steps:
            environment["STANDIN_STEPS"] = steps
        if options is not None:
            environment.update(options, LD_PRELOAD=self.library, HOTPIN_LOG="error",
                               HOTPIN_LOG_FILE="/dev/null", STANDIN_PINS_LIMIT=pin_limit(options))
        try:
            done = subprocess.run([self.program, *arguments], env=environment, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=self.seconds, errors="replace",
                                  check=False)
        except subprocess.TimeoutExpired as late:
            text = (late.stdout or b"").decode(errors="replace")
            return text.splitlines() + [OVER]
        # Other lines on stderr come from the library; the walk's own begin like this.
        own = [line for line in done.stderr.splitlines()
               if line.startswith(("walk:", "standin:"))]
        return done.stdout.splitlines() + own + [f"status {done.returncode}"]


def ended(lines):
    return lines[-1] != OVER


def ranges(numbers):
    text = []
    for number in sorted(numbers):
        if text and text[-1][1] == number - 1:
            text[-1][1] = number
        else:
            text.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in text)


def shrink(items, differs):
    """Returns the fewest items that still differ, by leaving out ever smaller parts."""
    size = max(1, len(items) // 2)
    while True:
        at, smaller = 0, False
        while at < len(items):
            less = items[:at] + items[at + size:]
            if differs(less):
                items, smaller = less, True
            else:
                at += size
        if size == 1 and not smaller:
            return items
        size = max(1, size // 2)


class Difference:
    """Two runs of the same seeds that differ, and the smallest program that shows it."""

    def __init__(self, walk, seeds, options, eager, steps, seen):
        self.walk, self.options, self.eager, self.seen = walk, options, eager, seen
        self.steps_of_streams = None if eager else steps
        self.seeds, self.steps, self.text = seeds, None, ""

    def arguments(self, seeds, steps, verbose):
        found = ["--seeds=" + ",".join(map(str, seeds))]
        if steps is not None:
            found.append("--keep=" + (ranges(steps) or "1023"))
        return found + (["--verbose"] if verbose else [])

    def both(self, seeds, steps, verbose=False):
        arguments = self.arguments(seeds, steps, verbose)
        plain = self.walk.run(arguments, None, self.steps_of_streams)
        if self.eager:
            return plain, self.walk.run(["--eager", *arguments])
        return plain, self.walk.run(arguments, self.options, self.steps_of_streams)

    def first_seen(self):
        """Prints the observations, and the calls before the first different one."""
        plain, other = self.seen
        seen = [*("- " + line for line in plain[:2]), *("+ " + line for line in other[:2])]
        told = [lines[0].split()[2:] if lines else [] for lines in self.seen]
        if told[0] and told[1]:
            point = len(os.path.commonprefix([told[0][0], told[1][0]]))
            seen.append(f"told something else for the first time, or just before, at {point}:")
            lines = self.walk.run([f"--point={point}", *self.arguments(self.seeds[-1:], None, True)])
            at = next((i for i, line in enumerate(lines) if line[:1] == ">"), len(lines) - 1)
            seen += lines[max(0, at - CALLS_BEFORE):at + 2]
        return "\n".join(seen)

    def plain_differs(self):
        """True if runs without the library differ from each other."""
        arguments = self.arguments(self.seeds, self.steps, False)
        first, *others = (self.walk.run(arguments, None, self.steps_of_streams)
                          for _ in range(PLAIN_RUNS))
        return any(other != first and ended(other) for other in others)

    def differs(self, seeds, steps, tries=2):
        for _ in range(tries):
            plain, other = self.both(seeds, steps)
            if plain != other and ended(plain):
                return True
        return False

    def reduce(self):
        if self.differs(self.seeds[-1:], None, 3):
            self.seeds = self.seeds[-1:]
        elif self.differs(self.seeds, None, 3):
            last = self.seeds[-1]
            before = shrink(self.seeds[:-1], lambda less: self.differs(less + [last], None))
            self.seeds = before + [last]
        else:
            self.text = "not seen again; it was\n" + self.first_seen()
            return
        steps = list(range(300))
        if len(self.seeds) == 1 and self.differs(self.seeds, steps, 3):
            self.steps = shrink(steps, lambda less: self.differs(self.seeds, less))
        for _ in range(5):
            plain, other = self.both(self.seeds, self.steps, True)
            if plain != other and ended(plain):
                break
        lines = []
        for i in range(max(len(plain), len(other))):
            a = plain[i] if i < len(plain) else ""
            b = other[i] if i < len(other) else ""
            lines += [a] if a == b else ["- " + a, "+ " + b]
        self.text = "\n".join(lines[-400:])

    def report(self):
        how = " ".join(f"{name}={value}" for name, value in sorted(self.options.items()))
        call = " ".join(self.arguments(self.seeds, self.steps, True))
        if self.steps_of_streams:
            how = f"STANDIN_STEPS={self.steps_of_streams} {how}"
        with_it = "--eager" if self.eager else f"{how} LD_PRELOAD=libhotpin.so"
        own = ("== runs without the library differ from each other, too: "
               "a mistake of the walk or of the stand-in\n" if self.plain_differs() else "")
        return f"== walk {call}\n== {with_it}\n{own}{self.text}\n"


def try_batch(walk, args, first):
    """Returns the differences of one batch, the number of compared programs, and of those that
    never ended plainly."""
    rng = random.Random(first * 1000003)
    seeds = list(range(first, min(first + args.batch, args.first + args.count)))
    arguments = [str(seeds[0]), str(len(seeds))]
    found, compared = [], 0
    steps = args.steps or (f"random:{first}" if rng.randrange(4) == 0 else None)
    plain = walk.run(arguments, None, steps)
    if not ended(plain):
        plain = walk.run(arguments, None, steps)
    if not ended(plain):
        return [], 0, len(seeds)
    if plain[-1] != "status 0" or len(plain) <= len(seeds):
        sys.exit(f"walk {first}: without the library the program stops before its end: {plain[-3:]}")
    for number in range(args.runs + 1):
        eager = number == args.runs
        if eager and (args.no_eager or first // args.batch % 4 != 0):
            break
        options = {} if eager else draw_options(rng)
        other = walk.run(["--eager", *arguments]) if eager else walk.run(arguments, options, steps)
        compared += len(seeds)
        if plain == other:
            continue
        at = 0
        while at < len(seeds) - 1 and plain[at:at + 1] == other[at:at + 1]:
            at += 1
        difference = Difference(walk, seeds[:at + 1], options, eager, steps,
                                (plain[at:], other[at:]))
        if not args.no_shrink and time.monotonic() < args.end:
            difference.reduce()
        else:
            difference.text = difference.first_seen()
        found.append(difference)
    return found, compared, 0


def file(path):
    """The type of an argument; the loader searches for a name, and only warns of a missing file."""
    if "/" in path and not os.path.isfile(path):
        raise argparse.ArgumentTypeError(f"{path} does not exist")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("walk", type=file)
    parser.add_argument("library", type=file)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--most", type=int, default=10, help="end after so many differences")
    parser.add_argument("--budget", type=float, default=float("inf"))
    parser.add_argument("--seconds", type=float, help="of a process at most",
                        default=120 * int(os.environ.get("TEST_SLOWNESS", "1")))
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--no-eager", action="store_true")
    parser.add_argument("--steps", help="STANDIN_STEPS of every batch")
    parser.add_argument("--set", action="append", default=[], help="NAME=VALUE for every run")
    args = parser.parse_args()
    args.end = time.monotonic() + args.budget
    walk = Walk(args)
    for setting in args.set:
        OPTIONS[setting.split("=")[0]] = [setting.split("=", 1)[1]]
        USUAL[setting.split("=")[0]] = 6
    found, compared, tried, endless = [], 0, 0, 0
    starts = range(args.first, args.first + args.count, args.batch)
    with ThreadPoolExecutor(args.jobs) as pool:
        answers = pool.map(lambda first: try_batch(walk, args, first)
                           if len(found) < args.most and time.monotonic() < args.end else None,
                           starts)
        for first, answer in zip(starts, answers):
            if answer is None:
                continue
            differences, count, never = answer
            compared += count
            tried += min(args.batch, args.first + args.count - first)
            if never:
                endless += 1
                print(f"walk {first} {never}: did not end plain, twice", flush=True)
            for difference in differences:
                found.append(difference)
                print(difference.report(), flush=True)
    text = f"{args.count} programs, {compared} comparisons, {len(found)} differences"
    if endless:
        text += f"; {endless} batches did not end plain"
    if tried < args.count:
        text += f"; {args.count - tried} programs left out"
    print(text)
    # If nothing was compared, nothing was proven.
    return 1 if found or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
