"""Replaces this Python process by the command hotpin, which lies next to this file."""
import os
import signal
import sys


def undo_locale():
    """Restores LC_CTYPE, which Python sets in the C locale (PEP 538)."""
    try:
        with open("/proc/self/environ", "rb") as file:
            began = dict(entry.partition(b"=")[::2] for entry in file.read().split(b"\0"))
    except OSError:
        return
    os.environb.pop(b"LC_CTYPE", None)
    if b"LC_CTYPE" in began:
        os.environb[b"LC_CTYPE"] = began[b"LC_CTYPE"]


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "hotpin")
    # Python ignores these, and a program would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    undo_locale()
    try:
        os.execv(path, ["hotpin"] + sys.argv[1:])
    except OSError as error:
        sys.exit("hotpin: cannot run %s (%s); install the wheel again" % (path, error.strerror))


if __name__ == "__main__":
    main()
