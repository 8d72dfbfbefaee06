"""A process whose output is read line by line, and which is killed when it hangs."""
import argparse
import os
import selectors
import signal
import subprocess
import time

in_flight = set()


def program(path):
    """The type of an argument that names a program.  Returns its absolute path."""
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        raise argparse.ArgumentTypeError(f"{path} is not a program")
    return os.path.abspath(path)


class Done:
    """The output of a process and how it ended: `status` is None if it was killed."""

    def __init__(self):
        self.out, self.err, self.status, self.seconds = b"", b"", None, 0.0

    def lines(self):
        return self.out.decode(errors="replace").splitlines()

    def remarks(self):
        return self.err.decode(errors="replace").splitlines()


def end(process):
    """Kills it with all its children: an orphan with a context slows down later processes."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def read(process, done, silent, most, told):
    """Reads until the process ends, prints nothing for SILENT seconds, or has taken MOST."""
    begun = heard = time.monotonic()
    at = 0
    with selectors.DefaultSelector() as both:
        both.register(process.stdout, selectors.EVENT_READ, "out")
        both.register(process.stderr, selectors.EVENT_READ, "err")
        while both.get_map():
            left = min(heard + silent, begun + most) - time.monotonic()
            ready = both.select(left) if left > 0 else []
            if not ready:
                # Its children may still hold its output.
                return process.poll()
            for key, _ in ready:
                heard = time.monotonic()
                some = os.read(key.fd, 1 << 16)
                if not some:
                    both.unregister(key.fileobj)
                setattr(done, key.data, getattr(done, key.data) + some)
            newline = done.out.rfind(b"\n") + 1
            if told and newline > at:
                for line in done.out[at:newline].decode(errors="replace").splitlines():
                    told(line)
                at = newline
    try:
        return process.wait(max(1, begun + most - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None


def run(command, environment, silent, most=float("inf"), told=None):
    """Runs it; calls TOLD with each line of its standard output, as it arrives."""
    done, begun = Done(), time.monotonic()
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    in_flight.add(process)
    with process.stdout, process.stderr:
        done.status = read(process, done, silent, min(most, 1e6), told)
        end(process)
    process.wait()
    in_flight.discard(process)
    done.seconds = time.monotonic() - begun
    return done


def leave(number, _):
    for process in list(in_flight):
        end(process)
    os._exit(128 + number)


signal.signal(signal.SIGTERM, leave)
signal.signal(signal.SIGINT, leave)
