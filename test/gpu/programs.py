#!/usr/bin/env python3
"""Runs unmodified programs plainly and under the library, and compares all that they output.

    programs.py [--reps N] [--budget SECONDS] [--limit SECONDS] [--modes plain,default,trace]
                [--json FILE] [--only REGEX] LIBRARY LIST

LIST has one program a line; "#" begins a comment, paths are relative to the list's folder:

    name<TAB>command line[<TAB>option=value]...

    ignore=REGEX  lines of stdout and stderr that are not compared
    pass=REGEX    must match the output of a run, or the run is bad
    fail=REGEX    matches the output of a bad run
    data=FOLDER   is copied into the folder in which the program is run
    soft=1        numbers in the output may differ, which is reported but not counted
    env=A=B       a variable of its environment; may be repeated

Every run has a new folder, always with the same name.  Exit status, stdout, stderr and each file in
the folder are compared with those of a plain run that is not timed.  Numbers on lines about times
or rates, pointers, dates and process ids are not compared.  A mode that differs is run once more,
and plain twice more:

    own      plain runs differ from each other in the same way
    numbers  with soft=1: only numbers differ
    once     one run of several differed
    DIFFERS  two or more runs differed

A message of the library on stderr counts as a difference, except with `trace`, which is meant to
report.  "no profile" means that no process used a device, or that the library was not loaded.  The
table shows the median seconds of the plain runs and the ratio of the others.  Differences are
written to FILE, ending in .diff instead of .json, or to stderr.

Exit status: 0 nothing DIFFERS, 1 something does, 2 a program could not be run or none was compared.
"""
import argparse
import glob
import json
import os
import re
import resource
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from alike import VERDICTS, compare, worst

MODES = {"plain": {}, "default": {}, "trace": {"HOTPIN_PROFILE": "trace"}}
OPTIONS = {"ignore", "pass", "fail", "data", "soft", "env"}
OURS = re.compile(r"(==hotpin==|\bhotpin\[\d+\]).*\n?")


class Program:
    """A line of the list."""

    def __init__(self, line, folder):
        self.name, command, *options = line.split("\t")
        self.command, self.env, self.soft = shlex.split(command), {}, False
        self.ignore = self.passes = self.fails = self.data = None
        adjacent = os.path.join(folder, self.command[0])
        if "/" in self.command[0] and os.path.isfile(adjacent):
            self.command[0] = adjacent
        for option in options:
            name, value = option.split("=", 1)
            if name not in OPTIONS:
                raise ValueError(f"no such option: {name}")
            if name == "env":
                self.env.update([value.split("=", 1)])
            elif name == "data":
                self.data = os.path.join(folder, value)
            elif name == "soft":
                self.soft = value != "0"
            else:
                setattr(self, {"pass": "passes", "fail": "fails"}.get(name, name),
                        re.compile(value))

    def good(self, run):
        said = run.stdout + run.stderr
        return not run.late and (not self.passes or bool(self.passes.search(said))) and not (
            self.fails and self.fails.search(said))


class Run:
    """One run, and the files in its folder."""

    def __init__(self, scratch, program, mode, library, limit):
        here = os.path.join(scratch, "run")
        work = os.path.join(here, "folder")
        os.mkdir(here)
        if program.data:
            shutil.copytree(program.data, work, symlinks=True)
        else:
            os.mkdir(work)
        env = {name: value for name, value in os.environ.items()
               if name != "LD_PRELOAD" and not name.startswith("HOTPIN")}
        env.update(program.env, PWD=work, **MODES[mode])
        if mode != "plain":
            env["LD_PRELOAD"] = ":".join(filter(None, [library, env.get("LD_PRELOAD")]))
        if mode == "trace":
            env["HOTPIN_OUT"] = os.path.join(here, "profile-%p.json")
        self.mode, self.late = mode, False
        with open(f"{here}/stdout", "wb") as stdout, open(f"{here}/stderr", "wb") as stderr:
            begun = time.monotonic()
            process = subprocess.Popen(program.command, cwd=work, env=env, start_new_session=True,
                                       stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
            try:
                process.wait(limit)
            except subprocess.TimeoutExpired:
                self.late = True
            self.seconds = time.monotonic() - begun
            try:
                os.killpg(process.pid, signal.SIGKILL)  # with all its child processes
            except ProcessLookupError:
                pass
            self.status, self.pid = process.wait(), process.pid
        self.folder = os.path.join(scratch, str(process.pid) + "-" + str(len(os.listdir(scratch))))
        os.rename(here, self.folder)
        self.profiles = len(glob.glob(f"{self.folder}/profile-*.json"))
        self.stdout = self.content("stdout").decode(errors="replace")
        self.stderr = self.content("stderr").decode(errors="replace")
        self.ours = [] if mode in ("plain", "trace") else OURS.findall(self.stderr)
        if mode == "trace":
            self.stderr = OURS.sub("", self.stderr)
        work = os.path.join(self.folder, "folder")
        paths = [os.path.join(top, name) for top, folders, names in os.walk(work)
                 for name in names + [f for f in folders if os.path.islink(os.path.join(top, f))]]
        self.files = {re.sub(rf"\b{self.pid}\b", "PID", os.path.relpath(path, work)): path
                      for path in paths}

    def content(self, name):
        path = self.files[name] if name not in ("stdout", "stderr") else f"{self.folder}/{name}"
        if os.path.islink(path):
            return b"a link to " + os.fsencode(os.readlink(path))
        if not os.path.isfile(path):
            return b"not a plain file"
        with open(path, "rb") as file:
            return file.read()

    def ending(self):
        if self.late:
            return "hangs"
        return f"signal {-self.status}" if self.status < 0 else f"status {self.status}"


def judge(program, turn, options, scratch):
    """Returns all runs of one program, and the report about them."""
    def run(mode, limit):
        return Run(scratch, program, mode, options.library, limit)

    plain = run("plain", options.limit)
    record = {"name": program.name, "plain": plain.ending(), "good": program.good(plain),
              "seconds": {}, "verdicts": {}, "found": {}, "profiles": 0}
    if plain.late:
        return record
    limit = min(options.limit, 10 * plain.seconds + 20)
    runs = {mode: [] for mode in options.modes}
    for i in range(options.reps):
        first = (turn + i) % len(options.modes)
        for mode in options.modes[first:] + options.modes[:first]:
            runs[mode].append(run(mode, limit))
    others = runs["plain"]
    record["seconds"] = {mode: statistics.median(each.seconds for each in of)
                         for mode, of in runs.items()}
    record["profiles"] = sum(each.profiles for each in runs.get("trace", []))
    modes = [mode for mode in options.modes if mode != "plain"]
    if any(compare(program, it, plain, others) for mode in modes for it in runs[mode]):
        others = others + [run("plain", limit) for _ in range(2)]
    for mode in modes:
        found = [compare(program, it, plain, others) for it in runs[mode]]
        if any(worst(d.verdict for d in of) == "DIFFERS" for of in found):
            found.append(compare(program, run(mode, limit), plain, others))
        verdicts = [worst(d.verdict for d in of) for of in found]
        once = verdicts.count("DIFFERS") == 1
        record["verdicts"][mode] = "once" if once else worst(verdicts)
        record["found"][mode] = list({d[:2]: d for of in found for d in of}.values())
    return record


def show(record, report):
    for mode, found in record["found"].items():
        for verdict, what, shown in found:
            if verdict == "DIFFERS":
                verdict = record["verdicts"][mode]  # may be `once`
            print(f"{record['name']}: {mode}: {verdict}: {what}",
                  *(f"    {line}" for line in shown), sep="\n", file=report, flush=True)


def head(modes):
    print(f"{'program':28} {'plain s':>8}", *(f"{mode:>8}" for mode in modes), " verdict", flush=True)


def row(record, modes):
    """Prints a program's row at once, so that a run that is cut off leaves those before."""
    seconds, remarks = record["seconds"], []
    verdicts = record["verdicts"]
    words = sorted(set(verdicts.values()))
    if len(words) > 1:
        words = [f"{mode} {word}" for mode, word in verdicts.items() if word != "same"]
    if not record["good"] or record["plain"] != "status 0":
        remarks.append(f"plain: {record['plain']}" + ("" if record["good"] else ", not good"))
    if "trace" in verdicts and not record["profiles"]:
        remarks.append("no profile")
    ratios = [seconds[mode] / seconds["plain"] if seconds else float("nan") for mode in modes]
    verdict = ", ".join(words) or ("same" if seconds else "not compared")
    print(f"{record['name']:28} {seconds.get('plain', float('nan')):8.3f}",
          *(f"{ratio:8.2f}" for ratio in ratios),
          f" {verdict}{' (' + '; '.join(remarks) + ')' if remarks else ''}", flush=True)


def read_list(path):
    programs = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith("#"):
                continue
            try:
                programs.append(Program(line.rstrip("\n"), os.path.dirname(os.path.abspath(path))))
            except (ValueError, IndexError, re.error) as wrong:
                sys.exit(f"{path}:{number}: {wrong}")
    return programs


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reps", type=int, default=1)
    parser.add_argument("--budget", type=float, default=float("inf"))
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--modes", type=lambda words: words.split(","), default=list(MODES))
    parser.add_argument("--json")
    parser.add_argument("--only", type=re.compile, default=re.compile(""))
    parser.add_argument("library", type=os.path.abspath)
    parser.add_argument("list")
    options = parser.parse_args()
    if not os.path.isfile(options.library) or set(options.modes) - set(MODES) or options.reps < 1:
        parser.error("no such library or mode, or no runs")
    if "plain" not in options.modes:
        options.modes.insert(0, "plain")
    programs = [p for p in read_list(options.list) if options.only.search(p.name)]
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    modes = [mode for mode in options.modes if mode != "plain"]
    begun, records, left, unable = time.monotonic(), [], [], []
    head(modes)
    report = open(re.sub(r"\.json$", "", options.json) + ".diff", "w",
                  encoding="utf-8") if options.json else sys.stderr
    for program in programs:
        if time.monotonic() - begun > options.budget:
            left.append(program.name)
            continue
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            try:
                records.append(judge(program, len(records), options, scratch))
            except OSError as wrong:
                unable.append(f"{program.name} ({wrong})")
                continue
        row(records[-1], modes)
        show(records[-1], report)
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump({"library": options.library, "programs": records}, file, indent=1)
    compared = [record for record in records if record["seconds"]]
    verdicts = [worst(record["verdicts"].values()) for record in compared]
    timed = [record for record, verdict in zip(compared, verdicts)
             if record["good"] and verdict not in ("once", "DIFFERS")]
    print(f"sums of the {len(timed)} that are good and the same:", ", ".join(
        f"{mode} {sum(r['seconds'][mode] for r in timed):.2f} s" for mode in options.modes))
    print(f"programs: {len(compared)} compared,", ", ".join(
        f"{verdicts.count(word)} {word}" for word in VERDICTS),
        f"in any mode; {time.monotonic() - begun:.0f} s")
    for words, names in (("not begun in time", left), ("could not be run", unable)):
        if names:
            print(f"{words}:", ", ".join(names))
    if "DIFFERS" in verdicts:
        return 1
    return 2 if unable or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
