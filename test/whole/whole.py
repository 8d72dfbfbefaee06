#!/usr/bin/env python3
"""Compares a program that contains the whole library with the plain one.  whole.py PLAIN WHOLE"""
import os
import subprocess
import sys

SETTINGS = [{},
            {"HOTPIN_PROFILE": "trace", "HOTPIN_CUPTI": "off", "HOTPIN_HASH": "1"},
            {"HOTPIN_RING": "0", "HOTPIN_PIN_BUDGET": "12M", "HOTPIN_ASYNC": "0",
             "STANDIN_PINS_LIMIT": "12M"}]


def run(program, options):
    env = {**os.environ, "HOTPIN_LOG": "warn", **options}
    return subprocess.run([program], env=env, capture_output=True, text=True, check=False)


plain = run(sys.argv[1], {})
failed = plain.returncode != 17
print(f"1..{len(SETTINGS)}")
for number, options in enumerate(SETTINGS, 1):
    done = run(sys.argv[2], options)
    same = done.returncode == 17 and done.stdout == plain.stdout
    failed |= not same
    print(f"{'ok' if same else 'not ok'} {number} - {options or 'as it is'}")
    if not same:
        print("\n".join(f"# {line}" for line in [f"status {done.returncode}"] +
                        done.stdout.splitlines() + done.stderr.splitlines()[-40:]))
sys.exit(failed)
