#!/usr/bin/env python3
"""Checks the models of the block word, the gate and deferral with spin.

    run.py [--deep] [--trail] [TEXT...]

Each line of TAP is one run: a model and its threads, or a rule that the model is left without.  In a
run without a rule spin must find an error, so each rule is needed, and the model can fail.  TEXT
selects the runs whose line contains it.  --trail prints the steps to each error that was found.
--deep runs the large runs instead: some minutes, and up to 4 GiB of memory.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ["-O0", "-w", "-DSAFETY", "-DMEMLIM=900"]
DEEP_FLAGS = ["-O1", "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=4000"]
# For runs without end: all threads of a model end, so there must be none.
CYCLE_FLAGS = ["-O1", "-w", "-DNP", "-DNFAIR=3", "-DCOLLAPSE", "-DMEMLIM=4000"]
CYCLES = "CYCLES "

# Parts of assertions that must fail.
HANGS = "running==0"
IN_USE = "in_driver[b]==0"  # error 719
WORD = "word[b]"  # the word of a block is in a state that it must not be in
GONE = "alive[context]"  # a registration in a context that has ended

# (model, its threads and settings, the error that spin must find; "": none)
RUNS = [
    ("block_word", "BLOCKS=1 PINNED=1 COPIES=1 PINS=1 CHANGES=1 QUERIES=1", ""),
    ("block_word", "BLOCKS=1 PINNED=1 COPIES=1 PINS=1 CHANGES=1 KEEPER=1", ""),
    ("block_word", "BLOCKS=1 PINNED=1 COPIES=1 QUERIES=1 ENDS=1 KEEPER=1", ""),
    ("block_word", "BLOCKS=1 QUEUED=1 COPIES=1 CHANGES=1 KEEPER=1", ""),
    ("block_word", "BLOCKS=1 QUEUED=1 PINS=1 ENDS=1 KEEPER=1", ""),
    ("block_word", "BLOCKS=1 QUEUED=1 PAGEABLE=1 KEEPER=1", ""),
    ("block_word", "BLOCKS=1 PINNED=1 COPIES=1 PINS=1 ENDS=1 CHANGES=1", ""),
    ("block_word", "BLOCKS=1 PINNED=1 COPIES=1 PINS=1 ENDS=2", ""),
    ("block_word", "BLOCKS=2 PINNED=2 OTHER=1 COPIES=1 ENDS=1 ENDS_OTHER=1", ""),
    ("block_word", "BLOCKS=2 PINNED=2 COPIES=1 BATCHES=1 ENDS=1", ""),
    ("block_word", "BLOCKS=2 PINNED=2 BATCHES=2 ENDS=1", ""),
    ("block_word", "BLOCKS=2 PINNED=2 PAGEABLE=1 PINS=1 COPIES=1", ""),
    ("block_word", "BLOCKS=2 PINNED=1 PAGEABLE=1 PINS=1 ENDS=1", ""),
    ("block_word", "BLOCKS=1 PINNED=1 CLEARS=1 CHANGES=1 PINS=1 COPIES=1", ""),
    ("block_word", "BLOCKS=1 PINNED=1 PAGEABLE=1 PINS=1 COPIES=1 QUERIES=1", ""),
    ("block_word", "BLOCKS=1 PINNED=1 STOPS=1 PINS=1 COPIES=1", ""),
    ("block_word", "BLOCKS=1 PINNED=1 LEAVERS=1 COPIES=1 CHANGES=1", ""),
    ("block_word", "BLOCKS=1 LEAVERS_ALONE=1 COPIES=1 CHANGES=1", ""),
    ("block_word", "BLOCKS=1 PINNED=1 FORKS=1 COPIES=1 CHANGES=1", ""),
    # Bounded waits may expire.
    ("block_word", "BLOCKS=1 PINNED=1 COPIES=1 PINS=1 CHANGES=2 SECONDS=1", ""),
    ("block_word", "BLOCKS=1 PINNED=1 LOST=1 COPIES=1 CHANGES=2 SECONDS=1", ""),
    ("block_word", "BLOCKS=1 PINNED=1 COPIES=1 ENDS=1 CHANGES=1 SECONDS=1", ""),
    ("block_word", "BLOCKS=1 PINNED=1 PAGEABLE=2 COPIES=1 SECONDS=1", ""),
    ("block_word", "BLOCKS=1 PINNED=1 CLEARS=1 CHANGES=1 PINS=1 COPIES=1 SECONDS=1", ""),
    ("block_word", "BLOCKS=1 STOPS=1 PINS=1 COPIES=1 SECONDS=1", ""),
    ("block_word", "BLOCKS=2 PINNED=2 PAGEABLE=1 PINS=1 COPIES=1 SECONDS=1", ""),
    # Limits: a wait that has expired may end in error 719; a context's end waits without bound for a
    # thread that has left its copy, or its registration, and makes no other call.
    ("block_word", "BLOCKS=1 PINNED=1 COPIES=1 CHANGES=1 SECONDS=1 STRICT=1", IN_USE),
    ("block_word", "BLOCKS=1 PINNED=1 LOST=1 ENDS=1 SECONDS=1", HANGS),
    ("block_word", "BLOCKS=1 LOST_ALONE=1 ENDS=1 SECONDS=1", HANGS),

    ("block_word", "COMPARE_BEFORE_SLEEP BLOCKS=1 PINNED=1 COPIES=1 ENDS=1", HANGS),
    ("block_word", "WAKE_BY_LAST_USER BLOCKS=1 PINNED=1 COPIES=1 CHANGES=1", HANGS),
    ("block_word", "WAKE_AT_RELEASE BLOCKS=1 PINS=1 CHANGES=1", HANGS),
    ("block_word", "TAKEN_KEEPS_OUT BLOCKS=1 PINNED=1 COPIES=1 CHANGES=1", WORD),
    ("block_word", "TRY_WITHOUT_USERS BLOCKS=1 COPIES=1 PINS=1", WORD),
    ("block_word", "HOLDS_AFTER_TAKING BLOCKS=1 PINS=1 ENDS=1", GONE),
    ("block_word", "HOLDS_BEFORE_LOOKING BLOCKS=1 PINS=1 ENDS=1", GONE),
    ("block_word", "END_DRAINS BLOCKS=1 PINNED=1 COPIES=1 ENDS=1", WORD),
    ("block_word", "END_WAITS_FOR_TAKEN BLOCKS=1 PINS=1 ENDS=1", GONE),
    ("block_word", "END_SKIPS_OTHERS BLOCKS=2 PINNED=2 OTHER=1 ENDS=1 ENDS_OTHER=1", "registered[b]"),
    ("block_word", "MARK BLOCKS=1 QUEUED=1 KEEPER=1", "wanted[b]"),
    ("block_word", "RING_AFTER_HANDING BLOCKS=1 QUEUED=1 KEEPER=1", WORD),
    ("block_word", "HANDED_IS_RELEASED BLOCKS=1 QUEUED=1 ENDS=1 KEEPER=1", WORD),
    ("block_word", "HANDED_IS_RELEASED BLOCKS=1 QUEUED=1 CHANGES=1 KEEPER=1", HANGS),
    ("block_word", "BELL_BEFORE_LOOKING BLOCKS=1 QUEUED=1 KEEPER=1", WORD),
    ("block_word", "ALTERED_FIRST BLOCKS=1 PINS=1 CHANGES=1 SECONDS=1", "stale[b]"),
    ("block_word", "ALTERED_AT_RELEASE BLOCKS=1 PINS=1 CHANGES=1 SECONDS=1", WORD),
    ("block_word", "ALTERING_UNMARKS BLOCKS=1 QUEUED=1 CHANGES=1 KEEPER=1", WORD),
    ("block_word", "FORGET_BY_GENERATION BLOCKS=1 PINNED=1 COPIES=1 CHANGES=1 SECONDS=1", WORD),
    ("block_word", "QUERY_AVOIDS_PINNED BLOCKS=1 PINNED=1 QUERIES=1", "registered[b]"),
    ("block_word", "BATCH_GIVES_UP BLOCKS=2 PINNED=2 BATCHES=1 ENDS=1", HANGS),
    ("block_word", "PAGEABLE_HOLDS BLOCKS=2 PINNED=2 PAGEABLE=1 PINS=1", "late"),
    ("block_word", "GIVE_BACK BLOCKS=1 PINNED=1 LEAVERS=1", HANGS),
    ("block_word", "RESET_IN_CHILD BLOCKS=1 PINNED=1 FORKS=1", "childs"),
    ("block_word", "STOP_LOOKS BLOCKS=1 STOPS=1 PINS=1", "registered[b]"),

    ("gate", "DUE=2 SUBMITTERS=2", ""),
    ("gate", "DUE=1 SUBMITTERS=2 SECONDS=1 SUSPENDED=1", ""),
    ("gate", "DUE=2 SUBMITTERS=2 PRESSURE=1", ""),
    ("gate", "DUE=1 SUBMITTERS=2 SECONDS=1 PRESSURE=1", ""),
    ("gate", "DUE=2 SUBMITTERS=1 FORKS=1", ""),
    ("gate", "DUE=1 HOLDERS=2 FORKS=1", ""),
    # Limits: only the bound of a second ends the wait for a kernel that waits for the program.
    ("gate", "DUE=2 SUBMITTERS=2 SUSPENDED=1", HANGS),

    ("gate", "COMPARE_BEFORE_SLEEP DUE=2 SUBMITTERS=1", HANGS),
    ("gate", "REST DUE=2 SUBMITTERS=1", "unregistering"),
    ("gate", "REST DUE=2 SUBMITTERS=1 PRESSURE=1", "unregistering"),
    ("gate", "LOOK_BEFORE_EACH DUE=2 SUBMITTERS=1", "unregistering"),
    ("gate", "CLOSED_KEEPS_OUT DUE=2 SUBMITTERS=1", "unregistering"),
    ("gate", "WAITER_CLEARS_WATCHED DUE=2 SUBMITTERS=1", "begun"),
    ("gate", "WAKE_AT_OPEN DUE=2 SUBMITTERS=1", HANGS),
    ("gate", "HOLDS_AFTER_ASKING DUE=1 HOLDERS=1 FORKS=1", "excluded"),
    ("gate", "HOLD_WAITS_FOR_QUERY DUE=1 HOLDERS=1 FORKS=1", "excluded"),
    ("gate", "WAKE_AFTER_QUERY DUE=1 HOLDERS=1 FORKS=1", HANGS),
    ("gate", "BELL_BEFORE_LOOKING DUE=1 HOLDERS=1 FORKS=1", HANGS),

    ("deferral", "CALLERS=2 CALLS=3", ""),
    ("deferral", "CALLERS=3 CALLS=2", ""),
    ("deferral", "CALLERS=3 CALLS=1 TWO_WORDS=1", ""),
    ("deferral", "FENCE CALLERS=2 CALLS=1 TWO_WORDS=1", "early"),
    # With a second upload, the store that publishes it hides that another thread records the event.
    ("deferral", "CALLERS=2 CALLS=2 TWO_WORDS=1", HANGS),
    ("deferral", "END_BEFORE_LOOKING CALLERS=2 CALLS=2", "early"),
    ("deferral", "PUBLISH_LOOKS CALLERS=2 CALLS=1", "early"),
    ("deferral", "RECORD_BEFORE_WORK CALLERS=2 CALLS=1", HANGS),
    ("deferral", "RECORDING_EXCLUDES CALLERS=2 CALLS=1", HANGS),
    ("deferral", "ALL_WAIT CALLERS=3 CALLS=1", "early"),
]

DEEP = [
    ("block_word", "BLOCKS=1 PINNED=1 COPIES=2 PINS=1 QUERIES=1 CHANGES=1 KEEPER=1", ""),
    ("block_word", "BLOCKS=1 QUEUED=2 CHANGES=1 KEEPER=1", ""),
    ("block_word", "BLOCKS=1 QUEUED=2 PAGEABLE=1 KEEPER=1", ""),
    ("block_word", "BLOCKS=1 QUEUED=2 ENDS=1 KEEPER=1", ""),
    ("block_word", "BLOCKS=1 PINNED=1 PINS=1 COPIES=1 ENDS=1 CHANGES=1 KEEPER=1", ""),
    ("block_word", "BLOCKS=1 PINNED=1 PINS=1 ENDS=2 CHANGES=1", ""),
    ("block_word", "BLOCKS=2 PINNED=2 COPIES=1 PINS=1 CHANGES=1 BATCHES=1 SECONDS=1", ""),
    ("block_word", "BLOCKS=2 PINNED=2 OTHER=1 COPIES=1 BATCHES=1 ENDS=1 ENDS_OTHER=1", ""),
    ("block_word", "BLOCKS=2 PINNED=2 OTHER=1 PINS=1 ENDS=1 ENDS_OTHER=1 CHANGES=1", ""),
    ("block_word", "BLOCKS=2 PINNED=2 PAGEABLE=2 PINS=1", ""),
    ("block_word", "BLOCKS=2 PINNED=2 LOST=1 COPIES=1 PINS=1 CHANGES=1 ENDS_OTHER=1 SECONDS=1", ""),
    ("block_word", "BLOCKS=2 PINNED=2 LEAVERS=1 BATCHES=1 CHANGES=1 COPIES=1", ""),
    ("gate", "DUE=1 SUBMITTERS=3", ""),
    ("gate", "DUE=2 SUBMITTERS=2 FORKS=1", ""),
    ("gate", "DUE=2 SUBMITTERS=1 HOLDERS=1 FORKS=1", ""),
    ("gate", "DUE=2 SUBMITTERS=2 SECONDS=1 SUSPENDED=1", ""),
    ("gate", "DUE=2 SUBMITTERS=2 SECONDS=1 PRESSURE=1", ""),
    ("deferral", "CALLERS=3 CALLS=4", ""),
    ("block_word", CYCLES + "BLOCKS=2 PINNED=2 OTHER=1 BATCHES=1 ENDS=1 ENDS_OTHER=1", ""),
    ("block_word", CYCLES + "BLOCKS=2 PINNED=2 PAGEABLE=1 PINS=1 COPIES=1", ""),
    ("block_word", CYCLES + "BLOCKS=1 PINNED=1 QUEUED=1 CHANGES=1 KEEPER=1", ""),
]


def skip(why):
    print("1..0 # SKIP " + why)
    sys.exit(0)


def say(text):
    print("".join("# %s\n" % line for line in text.splitlines()), end="")


def command(arguments, folder):
    done = subprocess.run(arguments, cwd=folder, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        say("%s\n%s" % (" ".join(arguments), done.stdout))
        sys.exit(1)


class Model:
    """A model, compiled once with these flags."""

    def __init__(self, name, compiler, flags, folder):
        self.path = os.path.join(HERE, name + ".pml")
        self.folder = tempfile.mkdtemp(dir=folder)
        command(["spin", "-P%s -E -x c" % compiler, "-a", self.path], self.folder)
        command([compiler, *flags, "-o", "pan", "pan.c"], self.folder)
        with open(self.path, encoding="utf-8") as file:
            self.rules = dict(re.findall(r"^#define (\w+) +(\d+)$", file.read(), re.M))

    def pan(self, settings, *arguments):
        """Runs the verifier; the first word of the settings may be a rule."""
        env = {"PATH": os.environ.get("PATH", "")}
        for word in settings.split():
            name, _, value = word.partition("=")
            if value:
                env[name] = value
            else:
                env["WITHOUT"] = self.rules[name]
        return subprocess.run(["./pan", *arguments], cwd=self.folder, env=env, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False).stdout

    def trail(self, settings):
        """The steps to the error that the last run has found."""
        name = os.path.basename(self.path) + ".trail"
        return self.pan(settings, "-S", name).partition("global vars:")[0]


def judge(output, wanted):
    """Returns whether the run has ended as wanted, and what it has found."""
    found = re.search(r"^pan:1: (.*) \(at depth", output, re.M)
    states = re.search(r"^ *(\S+) states, stored", output, re.M)
    whole = "errors: 0" in output and "Search not completed" not in output and \
        "max search depth too small" not in output and states is not None
    if found:
        return wanted != "" and wanted in found[1].replace(" ", ""), found[1]
    return whole and wanted == "", "%s states" % states[1] if whole else output


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deep", action="store_true")
    parser.add_argument("--trail", action="store_true")
    parser.add_argument("text", nargs="*")
    options = parser.parse_args()
    compiler = os.environ.get("CC", "cc").split()[-1]
    if shutil.which("spin") is None:
        skip("spin is not installed")
    if shutil.which(compiler) is None:
        skip("there is no C compiler")
    runs = [run for run in (DEEP if options.deep else RUNS)
            if not options.text or any(text in " ".join(run[:2]) for text in options.text)]
    print("1..%d" % len(runs), flush=True)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        models = {}
        for number, (name, settings, wanted) in enumerate(runs, 1):
            cycles = settings.startswith(CYCLES)
            flags = CYCLE_FLAGS if cycles else DEEP_FLAGS if options.deep else FLAGS
            model = models.get((name, cycles)) or Model(name, compiler, flags, folder)
            models[name, cycles] = model
            threads = settings.removeprefix(CYCLES)
            output = model.pan(threads, "-m100000", "-w26" if options.deep else "-w20",
                               *(["-l", "-f"] if cycles else []))
            good, found = judge(output, wanted)
            failed += not good
            print("%s %d - %s %s: %s" % ("ok" if good else "not ok", number, name, settings,
                                         found.strip().splitlines()[0]), flush=True)
            if "pan:1:" in output and (options.trail or not good):
                say(model.trail(threads))
            elif not good:
                say(output)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
