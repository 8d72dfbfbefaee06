#!/usr/bin/env python3
"""Compares the output of every command on recorded and made profiles with the files of golden/.

    golden.py HOTPIN            as a test
    golden.py HOTPIN --update   writes the files: look at `git diff`, and say in the commit why they differ

A page is compared by its visible text, and a timeline by a digest.  Some profiles are variants of another one: their
files have the lines that differ from the output of that one, each with the line before it.  The files of recorded
profiles have what the commands of TEXTS print.  `digests` has digests of what all commands print of recorded profiles,
and of the one with hostile names.
"""
import difflib
import hashlib
import html.parser
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "commands"))
import made # pylint: disable=wrong-import-position
import made_python # pylint: disable=wrong-import-position
import schema # pylint: disable=wrong-import-position
import tap # pylint: disable=wrong-import-position

ROOT = os.path.dirname(os.path.dirname(HERE))
GOLDEN = os.path.join(HERE, "golden")
RECORDED = ["doc/recorded/hecbench_wyllie.json", "doc/recorded/pytorch_training.json",
            *(f"doc/porting/{stage}-{turn}.json" for stage in ("stage1", "stage2", "stage2_hotpin", "stage3", "stage4")
              for turn in (1, 2, 3))]
TABLES = ["summary", "states", "lines", "copies", "sizes", "kernels", "launches", "sites", "buffers", "repeats", "ranges", "counters", "calls", "advice"]
COMMANDS = [["report"], ["report", "--why"], ["report", "--all"], *(["report", "--csv", table] for table in TABLES), ["report", "--folded"],
            ["annotate"], ["html"], ["trace"]]
# Of recorded profiles; what the other commands print are the same figures.
TEXTS = [["report"], ["report", "--why"], ["report", "--all"], ["annotate"]]
# Profiles of made.py, with those that are the same except for a part of them.
VARIANTS = {"first": ("lossy", "unsampled", "sampled", "ported_next"), "second": (), "third": (), "launcher": (),
            "without_device": ("killed",), "full": ()}


class Visible(html.parser.HTMLParser):
    """The text that a reader of a page sees: an element that is a block is a line."""
    BLOCKS = {"p", "div", "tr", "h1", "h2", "h3", "li", "section", "header", "footer", "summary", "details",
              "figure", "figcaption", "table", "svg", "text", "title", "nav", "pre", "dt", "dd", "a"}

    def __init__(self, page):
        super().__init__()
        self.parts, self.hidden = [], 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in ("style", "script")
        self.parts.append("\n" if tag in self.BLOCKS else "  " if tag in ("td", "th") else "")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("style", "script")
        self.parts.append("\n" if tag in self.BLOCKS - {"a"} else "")

    def handle_data(self, data):
        if not self.hidden:
            self.parts.append(data.replace("\n", " "))

    def lines(self):
        found = (" | ".join(" ".join(cell.split()) for cell in line.split("  ") if cell.strip())
                 for line in "".join(self.parts).split("\n"))
        return [line for line in found if line]


def digest(text):
    return [f"{text.count(chr(10))} lines, SHA-256 {hashlib.sha256(text.encode(errors='surrogateescape')).hexdigest()[:16]}"]


def difference(base, lines):
    """Returns the lines that only one of two outputs has, each with the line before it; none if they are the same."""
    found, base = [], [lines[0], *base[1:]]
    for kind, *at in difflib.SequenceMatcher(None, base, lines, autojunk=False).get_opcodes():
        if kind != "equal":
            found += [" " + lines[at[2] - 1], *("-" + line for line in base[at[0]:at[1]]),
                      *("+" + line for line in lines[at[2]:at[3]])]
    return [lines[0], *found, ""] if found else []


def shown(command, files):
    """Returns what the command prints, as lines."""
    columns = command[0].partition("COLUMNS=")[2] or None
    words = command[1:] if columns else command
    done = tap.run(*words, *files, PATH="/nowhere", COLUMNS=columns)
    if command[0] == "html":
        lines = Visible(done.stdout).lines()
    else:
        lines = done.stdout.splitlines()
    if done.stdout and command[0] == "trace":
        lines = digest("\n".join(lines))
    if words == ["report"] and not columns:
        long = [line for line in lines if len(line) > 80]
        tap.check(f"the first screen of {' '.join(files)} fits 24 lines of 80 columns", len(lines) <= 24 and not long,
                  len(lines), *long)
        cut = [line for line in lines if re.match(r"  (\d  [^<~]*\.\. +[<~]|(Left|Not known): .*\.\.$)", line)]
        tap.check(f"and it has whole suggestions and clauses of {' '.join(files)}", not cut, *cut)
    status = [f"exit status {done.returncode}"] if done.returncode else []
    return [f"$ {command[0] + ' ' if columns else ''}hotpin {' '.join([*words, *files])}", *lines,
            *("! " + line for line in done.stderr.splitlines()), *status, ""]


def recorded(path):
    """Copies a profile, whose programs are then not on this machine; returns its name."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        profile = json.load(file)
    for module in profile["modules"]:
        if module["path"].startswith("/"):
            module["path"] = "/nowhere" + module["path"]
    return tap.write(os.path.basename(path), profile)


def is_first(file):
    """True if the file is no repeat of a run."""
    return not file.endswith(("-2.json", "-3.json"))


def cases():
    """Yields the name of a golden file, its commands with their files, and the case that it is a variant of, if any."""
    files = [recorded(path) for path in RECORDED]
    for file in filter(is_first, files):
        yield file.removesuffix(".json"), TEXTS, [file]
    compares = [["compare"]]
    yield "compare_porting", compares, files[2:]
    for base, variants in VARIANTS.items():
        yield f"made_{base}", COMMANDS, [tap.write(f"{base}.json", getattr(made, base)())]
        for name in variants:
            yield f"made_{name}", COMMANDS, [tap.write(f"{base}.json", getattr(made, name)())], f"made_{base}"
    yield "made_looped", COMMANDS, [tap.write("looped.json", made.looped(4))]
    yield "made_two_devices", [["report"], ["report", "--csv", "kernels"], ["html"], ["trace"]], [tap.write("two_devices.json", made.two_devices())]
    ranks = [tap.write(f"rank{number}.json", made.rank(number, 4, number * made.MILLI)) for number in range(4)]
    yield "made_ranks", [["report"], ["report", "--all"], ["html"], ["compare", "--force"]], ranks
    stages = [tap.write(f"{name}.json", getattr(made, name)()) for name in ("first", "second", "third")]
    yield "made_compare", [*compares, ["html"]], stages
    yield "made_slower", [["compare", "--noise", "2"]], [stages[2], stages[1]]
    wide = [["COLUMNS=120", "report"], *COMMANDS]
    yield "python", wide, [tap.write("python.json", made_python.profile())]
    for name in ("one_line", "imports", "callers"):
        yield f"python_{name}", wide, [tap.write("python.json", getattr(made_python, name)())], "python"
    ranks = [tap.write(f"python_rank{number}.json", made_python.rank(number)) for number in range(3)]
    yield "python_ranks", [["COLUMNS=120", "report"], ["report"], ["html"]], ranks[:2]
    yield "python_ranks_blind", [["report"]], ranks


def texts():
    """Yields the names and the lines of the golden files."""
    outputs = {}
    for name, commands, files, *base in cases():
        outputs[name] = [shown(command, files) for command in commands]
        parts = map(difference, outputs[base[0]], outputs[name]) if base else outputs[name]
        yield name, [line for part in parts for line in part]
    files = [os.path.basename(path) for path in RECORDED]
    alone = [*files, tap.write("hostile.json", made.hostile())]
    groups = [(COMMANDS, [file]) for file in alone] + [([["compare"]], list(filter(is_first, files[2:]))), ([["html"]], files[2:])]
    yield "digests", [line for commands, group in groups
                       for line in (" ".join(group), *digest("\n".join(line for command in commands for line in shown(command, group))))]


def sound():
    """The made profiles are as the library writes them."""
    with open(tap.SCHEMA, encoding="utf-8") as file:
        rules = json.load(file)
    for name in ("first", "second", "third", "without_device"):
        profile = getattr(made, name)()
        found = [*schema.errors(profile, rules), *schema.contradictions(profile)]
        tap.check(f"made.{name} follows the schema", not found, "\n".join(found[:9]))


def main():
    sound()
    update = "--update" in sys.argv
    names = []
    for name, lines in texts():
        names.append(name + ".out")
        text = "\n".join(lines)
        path = os.path.join(GOLDEN, name + ".out")
        if update:
            with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            wanted = file.read()
        different = [f"-{a}\n+{b}" for a, b in zip(wanted.splitlines(), text.splitlines()) if a != b]
        tap.check(name, text == wanted, "\n".join(different) or "lengths differ")
    tap.check("no other file is there", sorted(names) == sorted(os.listdir(GOLDEN)))
    tap.end()


main()
