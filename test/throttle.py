#!/usr/bin/env python3
"""Runs a command, and stops it with all its child processes for a part of the time.

    throttle.py SHARE COMMAND...

It is an approximation for machines without cgroups.  Unlike with a scheduler quota, the processes
receive SIGSTOP and SIGCONT, and their parents may see stopped children.
"""
import os
import signal
import subprocess
import sys
import time

PERIOD = 0.1


def below(root):
    """The process and its descendants."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                    parent = int(stat.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(name))
    found = [root]
    for process in found:
        found += children.get(process, [])
    return found


def tell(processes, number):
    for process in processes:
        try:
            os.kill(process, number)
        except ProcessLookupError:
            pass


def main():
    share, command = float(sys.argv[1]), sys.argv[2:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # pylint: disable=consider-using-with
    child = subprocess.Popen(command)
    stopped = []
    try:
        while child.poll() is None:
            stopped = below(child.pid)
            tell(stopped, signal.SIGSTOP)
            time.sleep(PERIOD * (1 - share))
            tell(stopped, signal.SIGCONT)
            stopped = []
            time.sleep(PERIOD * share)
    finally:
        tell(stopped, signal.SIGCONT)
        if child.poll() is None:
            tell(below(child.pid), signal.SIGTERM)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


sys.exit(main())
