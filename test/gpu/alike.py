"""Finds differences between runs of a program, and checks whether plain runs differ in the same
way.

A run has a mode, a status, a pid, stdout, stderr and files; see programs.py, which also explains
the verdicts.
"""
import collections
import difflib
import functools
import operator
import re

VERDICTS = ["same", "own", "numbers", "once", "DIFFERS"]  # from good to bad
TIMES = re.compile(r"(?i)time(?![- ]?steps?\b)|elapsed|bandwidth|throughput|speed|latency|overhead|"
                   r"\b[mun]?sec(ond)?s?\b|\b[mun]s\b|\d[mun]?s\b|[kmgt]i?b/s|/s(ec)?\b|flop|"
                   r"\bclocks?\b|\bcycles?\b|\bperf(ormance)?\b|\brates?\b|[kmg]hz\b")
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
NO_NUMBER = re.compile(r"[-+]?\b(nan|inf)\b")
BARE = re.compile(r"\s*[\d.]+\s*")
DATE = re.compile(r"\b\d{1,4}[-/]\d{1,2}[-/]\d{1,4}\b|\b\d{1,2}:\d\d(:\d\d)?\b")
POINTER = re.compile(r"0x[0-9a-fA-F]{6,}")

Difference = collections.namedtuple("Difference", "verdict what shown")


class Text:
    """Lines to compare, of a process with this id."""

    def __init__(self, text, pid, ignore=None):
        kept = [line for line in text.splitlines() if not ignore or not ignore.search(line)]
        # "seconds:", and on the next line nothing but the number
        self.lines = [f"{before} {line}" if BARE.fullmatch(line) and TIMES.search(before) else line
                      for before, line in zip(["", *kept], kept)]
        self.pid = re.compile(rf"\b{pid}\b")
        self.masks = {}  # by `numbers`: all lines, since each text is compared several times

    def masked(self, line, numbers=False):
        line = DATE.sub("DATE", POINTER.sub("POINTER", self.pid.sub("PID", line)))
        timed = TIMES.search(line)
        if timed:
            line = NO_NUMBER.sub("#", line)
        if timed or numbers:
            line = re.sub(r"[\s|]+", " ", NUMBER.sub("#", line)).strip()
        return line

    def mask(self, numbers=False):
        if numbers not in self.masks:
            self.masks[numbers] = [self.masked(line, numbers) for line in self.lines]
        return self.masks[numbers]

    def bag(self, numbers=False):
        return collections.Counter(self.mask(numbers))

    def differing(self, other, numbers=False):
        """Returns the numbers of lines that differ; None if one text has more lines."""
        if len(self.lines) != len(other.lines):
            return None
        if self.lines == other.lines:
            return set()
        both = zip(self.lines, other.lines, self.mask(numbers), other.mask(numbers))
        return {i for i, (here, there, mine, its) in enumerate(both)
                if here != there and mine != its}

    def is_own(self, other, plains):
        """True if this text differs from the other no more than plain runs do among each other."""
        if all(other.differing(plain) == set() for plain in plains):
            return False
        if any(plain.differing(self) == set() for plain in plains):
            return True
        for numbers in (False, True):  # the same lines, and of their form
            mine = other.differing(self, numbers)
            theirs = [other.differing(plain, numbers) for plain in plains]
            if mine is None or None in theirs or mine - set().union(*theirs):
                break
        else:
            return True
        bags = [plain.bag() for plain in (other, *plains)]
        if all(bag == bags[0] for bag in bags):  # another order
            return self.bag() == bags[0]
        if functools.reduce(operator.and_, bags) - self.bag():
            return False
        forms = [set(plain.bag(True)) for plain in (other, *plains)]
        return any(form != forms[0] for form in forms) or set(self.bag(True)) <= forms[0]

    def diff(self, other):
        """Returns the differences from the other text, in a few lines."""
        start = next((i for i, (here, there) in enumerate(zip(other.lines, self.lines))
                      if here != there and other.masked(here) != self.masked(there)),
                     min(len(other.lines), len(self.lines)))
        parts = [text.lines[max(start - 1, 0):start + 100] for text in (other, self)]
        return [line[:200] for line in difflib.unified_diff(*parts, lineterm="", n=1)][2:22]


def compare_texts(what, texts, soft):
    """texts: of the run, of the plain one that it is compared with, and of other plain ones"""
    it, plain, *others = texts
    if plain.differing(it) == set():
        return []
    if it.is_own(plain, others):
        return [Difference("own", what, [])]
    verdict = "numbers" if soft and plain.differing(it, True) == set() else "DIFFERS"
    return [Difference(verdict, what, it.diff(plain))]


def compare_files(name, runs, soft):
    it, plain, *others = runs
    there = [name in run.files for run in runs]
    if not all(there[:2]):
        verdict = "own" if there[0] in there[2:] else "DIFFERS"
        return [Difference(verdict, f"file {name} is {'new' if there[0] else 'missing'}", [])]
    runs = [run for run in runs if name in run.files]
    contents = [run.content(name) for run in runs]
    if contents[0] == contents[1]:
        return []
    try:
        if any(b"\0" in content for content in contents):
            raise ValueError
        texts = [Text(content.decode(), run.pid) for content, run in zip(contents, runs)]
    except ValueError:
        own = any(content != contents[1] for content in contents[2:])
        sizes = f"binary, {len(contents[1])} bytes plain, {len(contents[0])} {it.mode}"
        return [Difference("own" if own else "DIFFERS", f"file {name}", [] if own else [sizes])]
    return compare_texts(f"file {name}", texts, soft)


def compare(program, it, plain, others):
    """Returns the differences between a run and a plain one, given other plain ones."""
    runs, found = [it, plain, *others], []
    if it.ending() != plain.ending():
        own = it.ending() in {run.ending() for run in others}
        found.append(Difference("own" if own else "DIFFERS",
                                f"{it.ending()}, plain {plain.ending()}",
                                it.stderr.splitlines()[-5:]))
    if program.good(plain) and not program.good(it):
        own = not all(map(program.good, others))
        found.append(Difference("own" if own else "DIFFERS", "does not pass", []))
    if it.ours:
        found.append(Difference("DIFFERS", "the library speaks", []))
    for what in ("stdout", "stderr"):
        texts = [Text(getattr(run, what), run.pid, program.ignore) for run in runs]
        found += compare_texts(what, texts, program.soft)
    for name in sorted(set(it.files) | set(plain.files)):
        found += compare_files(name, runs, program.soft)
    return found


def worst(verdicts):
    return max(verdicts, key=VERDICTS.index, default="same")
