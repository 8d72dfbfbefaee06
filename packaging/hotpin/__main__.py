"""Replaces this Python process by the command hotpin, which lies next to this file."""
import os
import signal
import sys


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "hotpin")
    # Python ignores these, and a program would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(path, ["hotpin"] + sys.argv[1:])
    except OSError as error:
        sys.exit("hotpin: cannot run %s (%s); install the wheel again" % (path, error.strerror))


if __name__ == "__main__":
    main()
