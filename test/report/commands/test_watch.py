#!/usr/bin/env python3
"""Tests `hotpin watch`: profiles that are written one after the other, shown in a pipe and on a
terminal.

    test_watch.py HOTPIN
"""
import codecs
import fcntl
import json
import os
import pty
import socket
import struct
import subprocess
import termios

import made
import tap
from tap import check

ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
AGE = 0


def profile(name, stage, state="running", pid=os.getpid()):
    """Writes a profile at once, as hotpin does, and newer than all earlier ones."""
    global AGE
    AGE += 1
    content = made.first()
    content.update(state=state, stage=stage)
    content["process"].update(pid=pid, host=socket.gethostname(), program=f"heat-{stage}")
    path = os.path.join(tap.FOLDER.name, name)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(content, file)
    os.utime(path + ".new", (AGE, AGE))
    os.rename(path + ".new", path)


def clear():
    for name in os.listdir(tap.FOLDER.name):
        os.unlink(os.path.join(tap.FOLDER.name, name))


class Watch:
    """A running `hotpin watch run.json`, whose output is read until a text appears."""

    def __init__(self, terminal=None):
        if terminal is None:
            self.there, output = os.pipe()
        else:
            self.there, output = pty.openpty()
            fcntl.ioctl(output, termios.TIOCSWINSZ, struct.pack("HHHH", *terminal, 0, 0))
        self.process = subprocess.Popen([tap.HOTPIN, "watch", "run.json"], cwd=tap.FOLDER.name,
                                        env=ENVIRONMENT, stdout=output, stderr=output)
        os.close(output)
        # A character may come in two parts.
        self.decode = codecs.getincrementaldecoder("utf-8")().decode
        self.text = ""

    def read(self):
        try:
            part = os.read(self.there, 65536)
        except OSError: # a terminal without another end
            part = b""
        self.text += self.decode(part)
        return part

    def until(self, text):
        """Returns the output since the last call, up to and including `text`; all of it if it ends
        before."""
        while text not in self.text:
            if not self.read():
                break
        before, found, self.text = self.text.partition(text)
        return before + found

    def end(self):
        """Returns its status and its remaining output."""
        while self.read():
            pass
        os.close(self.there)
        return self.process.wait(timeout=60 * tap.SLOWNESS), self.text


def plain():
    clear()
    with open(os.path.join(tap.FOLDER.name, "run-2.json"), "w", encoding="utf-8"):
        pass
    watch = Watch()
    check("it waits for a file that is not empty", watch.until("waiting for run.json\n") ==
          "hotpin: waiting for run.json\n")
    profile("run.json", "one")
    check("which it shows", "heat-one" in watch.until("heat-one"))
    profile("run-1.json", "two")
    check("and a younger one next to it", "heat-two" in watch.until("heat-two"))
    profile("run-x.json", "none")
    profile("run-1.json.json", "none")
    profile("run-10.json", "three")
    text = watch.until("heat-three")
    check("and no other file", "heat-three" in text and "none" not in text, text)
    profile("run.json", "end", "ended")
    status, text = watch.end()
    check("it ends with the program", status == 0 and "heat-end" in text, status, text)
    check("in a pipe nothing moves", "\033" not in text, text)
    status, text = Watch().end()
    check("what has ended is shown once", status == 0 and text.count("heat-end") == 1 and
          "waiting for run" not in text, status, text)


def killed():
    clear()
    ended = subprocess.Popen(["true"])
    ended.wait()
    profile("run.json", "one", pid=ended.pid)
    status, text = Watch().end()
    check("a program that was killed", status == 1 and "heat-one" in text and
          f"process {ended.pid} ended without a last profile" in text, status, text)
    clear()
    with open(os.path.join(tap.FOLDER.name, "run.json"), "w", encoding="utf-8") as file:
        file.write("{")
    status, text = Watch().end()
    check("what is no profile", status == 1 and "run.json" in text, status, text)


def special():
    clear()
    os.mkfifo(os.path.join(tap.FOLDER.name, "run.json"))
    status, text = Watch().end()
    check("what is no file", status == 1 and "run.json is not a regular file" in text, status, text)


def terminal():
    clear()
    profile("run.json", "one")
    watch = Watch(terminal=(10, 80))
    text = watch.until("\033[J")
    check("on a terminal: from its corner, no more lines than it has",
          text.startswith("\033[2J\033[H") and text.count("\r\n") == 9 and "heat-one" in text, repr(text))
    profile("run.json", "two")
    text = watch.until("\033[J")
    check("the next in its place", text.startswith("\r\n\033[H") and "heat-two" in text and
          "\033[2J" not in text, repr(text))
    profile("run.json", "end", "ended")
    status, text = watch.end()
    check("the last is whole", status == 0 and text.count("\r\n") > 12, status, text)


def main():
    plain()
    killed()
    special()
    terminal()
    tap.end()


main()
