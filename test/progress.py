"""What a check does at present, for check.py."""
import os
import shutil
import sys
import threading
import time


class Progress:
    """What happens at present: on a terminal one line that changes, elsewhere a line each 10 s."""

    SECONDS = 10

    def __init__(self):
        self.lock, self.begun, self.printed = threading.Lock(), time.monotonic(), time.monotonic()
        self.done = self.total = 0
        self.doing = "configuring"
        self.terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"

    def say(self, words):
        """Prints a line that stays."""
        with self.lock:
            self.erase()
            print(f"hotpin: {words}", flush=True)

    def erase(self):
        """Makes room for a line that stays."""
        if self.terminal:
            print("\r\033[K", end="")

    def step(self, doing, done=0):
        """Notes what happens now, and that `done` more tests have ended."""
        with self.lock:
            self.done += done
            self.doing = doing
            now = time.monotonic()
            if self.terminal and (done or now - self.printed > 0.2):
                width = shutil.get_terminal_size().columns - 1
                print(f"\r\033[K{self.line()[:width]}", end="", flush=True)
                self.printed = now

    def line(self):
        """Returns the state in one line."""
        seconds = int(time.monotonic() - self.begun)
        return f"[{self.done}/{self.total}] {self.doing} ({seconds} s)"

    def report(self, ended):
        """Prints the state every few seconds until `ended`, for a pipe or a file."""
        while not self.terminal and not ended.wait(self.SECONDS):
            with self.lock:
                print(self.line(), flush=True)
