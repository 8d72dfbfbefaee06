#!/usr/bin/env python3
"""Tests how walk.py handles programs that hang; a plain run that hangs proves nothing about the
library.

A script replaces the walk.  Its folder determines which seeds hang, plain or with the library.
"""
import os
import stat
import subprocess
import sys
import tempfile

WALK = """#!/bin/sh
# fake [--...] FIRST COUNT: a line a seed; hangs at a seed that has a file, one taken away each time.
cd "$(dirname "$0")" || exit 1
mode=plain
[ -z "$LD_PRELOAD" ] || mode=with
unset LD_PRELOAD
for word; do
	case $word in --seeds=*) [ ! -f varies ] || echo $$; exit 0 ;; --*) continue ;; esac
	[ -n "$first" ] && count=$word || first=$word
done
while [ "$count" -gt 0 ]; do
	for turn in 1 2 3; do
		[ ! -f "$mode-$first-$turn" ] || { rm "$mode-$first-$turn"; exec sleep 60; }
	done
	echo "$first"
	first=$((first + 1)) count=$((count - 1))
done
"""

# A program that hangs is ended after so many seconds.
SECONDS = 2 * int(os.environ.get("TEST_SLOWNESS", "1"))
failed = 0


def expect(what, hangs, status, *texts, library="libc.so.6"):
    """Runs walk.py over 40 programs in batches of ten.  Any library will do."""
    global failed
    with tempfile.TemporaryDirectory() as folder:
        fake = os.path.join(folder, "fake")
        with open(fake, "w", encoding="utf-8") as out:
            out.write(WALK)
        os.chmod(fake, stat.S_IRWXU)
        for name in hangs:
            with open(os.path.join(folder, name), "w", encoding="utf-8"):
                pass
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "walk.py")
        done = subprocess.run([sys.executable, script, fake, library, "--count=40", "--no-eager",
                               "--batch=10", "--no-shrink", f"--seconds={SECONDS}", "--jobs=4"],
                              text=True, capture_output=True, check=False)
    good = done.returncode == status and all(text in done.stdout for text in texts)
    print(f"{'ok' if good else 'FAILED'} {what}")
    if not good:
        print(f"status {done.returncode}\n{done.stdout}{done.stderr}")
        failed += 1


expect("all end", [], 0, "40 programs, 40 comparisons, 0 differences\n")
expect("one hangs plain, once", ["plain-13-1"], 0, "40 comparisons, 0 differences\n")
expect("one always hangs plain", ["plain-13-1", "plain-13-2"], 0, "walk 10 10: did not end plain",
       "30 comparisons, 0 differences; 1 batches did not end plain\n")
expect("one hangs with the library", ["with-13-1"], 1, "40 comparisons, 1 differences\n",
       "+ over its time", "LD_PRELOAD=libhotpin.so\n- 13")
expect("one hangs with the library, and plain runs differ", ["with-13-1", "varies"], 1,
       "runs without the library differ from each other, too")
expect("all hang plain", [f"plain-{seed}-{turn}" for seed in (3, 13, 23, 33) for turn in (1, 2)], 1,
       "0 comparisons, 0 differences; 4 batches did not end plain\n")
expect("no such library", [], 2, library="/nowhere/libhotpin.so")
sys.exit(failed != 0)
