"""Ends a script that has threads when a signal comes."""
import os
import signal
import threading


def heed(numbers, stop):
    """Calls stop(number) in a thread of its own when one of these signals comes.

    Python's own handlers run in the main thread, which may be about to wait for the others when the
    signal comes; then the handler would run only after they have ended.
    """
    ours, its = os.pipe()
    os.set_blocking(its, False)

    def wait():
        while True:
            stop(os.read(ours, 1)[0])

    threading.Thread(target=wait, daemon=True).start()
    signal.set_wakeup_fd(its)
    for number in numbers:
        signal.signal(number, lambda *_: None)
