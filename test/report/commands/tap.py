"""Common parts of the tests of commands: running hotpin, and TAP output."""
import atexit
import csv
import ctypes
import fcntl
import io
import json
import os
import pty
import random
import re
import struct
import subprocess
import sys
import tempfile
import termios

HOTPIN = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.join(os.path.dirname(HOTPIN), "profile.schema.json")
FOLDER = tempfile.TemporaryDirectory()
SLOWNESS = int(os.environ.get("TEST_SLOWNESS", "1"))
COUNT = FAILED = 0


def run(*arguments, PATH=os.environ["PATH"], COLUMNS=None, also=None, **more):
    """Returns a finished process with text in stdout and stderr."""
    environment = {"PATH": PATH, "LC_ALL": "C.UTF-8", **(also or {})}
    if COLUMNS is not None:
        environment["COLUMNS"] = str(COLUMNS)
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
        if name in os.environ:
            environment[name] = os.environ[name]
    return subprocess.run([HOTPIN, *arguments], env=environment, cwd=FOLDER.name, check=False,
                          capture_output=True, text=True, errors="surrogateescape",
                          timeout=120 * SLOWNESS, **more)


def at_terminal(columns, command, environment):
    """Returns the command's output on a terminal of its own, and its exit status."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(command, env=environment, cwd=FOLDER.name, stdin=child, stdout=child,
                          stderr=child, start_new_session=True) as process:
        os.close(child)
        seen = b""
        while True:
            try:
                part = os.read(parent, 65536)
            except OSError:
                part = b""
            if not part:
                break
            seen += part
    os.close(parent)
    return seen.decode(errors="surrogateescape").replace("\r\n", "\n"), process.returncode


def wider(text, columns):
    """Returns the lines that do not fit."""
    return [line for line in text.splitlines() if len(line) > columns]


def write(name, made):
    """Writes a file in the folder where hotpin runs: a profile, text or bytes; returns its name."""
    path = os.path.join(FOLDER.name, name)
    if isinstance(made, (dict, list)):
        made = json.dumps(made)
    with open(path, "wb") as file:
        file.write(made if isinstance(made, bytes) else made.encode())
    return name


def path(name):
    """Returns the path of a file in the folder where hotpin runs."""
    return os.path.join(FOLDER.name, name)


def loaded(name):
    """Returns the content of a JSON file of the folder."""
    with open(path(name), encoding="utf-8") as file:
        return json.load(file)


def table(name, *files):
    """Returns the rows of a table of `hotpin report --csv`."""
    return list(csv.DictReader(io.StringIO(run("report", "--csv", name, *files).stdout)))


def on_stand_in(standin, command, **options):
    """Returns a finished process that ran on the stand-in device; options: of hotpin or of subprocess.run()."""
    settings = {name: options.pop(name) for name in list(options) if name.isupper()}
    environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": standin, "HOTPIN_CUPTI": "off", "HOTPIN_THREADS": "2", **settings}
    return subprocess.run(command, **{"check": False, **options}, cwd=FOLDER.name, env=environment, capture_output=True,
                          text=True, timeout=120 * SLOWNESS)


def opens(path, act):
    """Returns the names of the files that act() opens in a folder; of a file, "" for each time."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    # The kernel merges equal consecutive events, so closing is watched, too.
    opened, closed, names = 0x20, 0x10, []
    assert watch >= 0 and libc.inotify_add_watch(watch, path.encode(), opened | closed) >= 0
    act()
    try:
        events = os.read(watch, 1 << 20)
    except BlockingIOError:
        events = b""
    os.close(watch)
    while events:
        _, mask, _, length = struct.unpack_from("iIII", events)
        if mask & opened:
            names.append(events[16:16 + length].rstrip(b"\0").decode())
        events = events[16 + length:]
    return names


def spoilt(count, *texts):
    """Yields texts with some bytes changed, removed or doubled; the same ones each time."""
    chance = random.Random(6)
    for _ in range(count):
        text = bytearray(chance.choice(texts))
        for _ in range(chance.choice((0, 1, 1, 3, 20))):
            at, size = chance.randrange(len(text)), chance.choice((0, 1, 2, 8, 100))
            text[at:at + size] = chance.choice((
                b"", b"0", b"9", b"-", b"null", b"[]", b"{}", b'"', b"\\", b",", b"\t", b"e5", b"1e999", b'"names":[],',
                b"99999999999999999999", bytes([chance.randrange(256)]), bytes(text[at:at + size]) * 2))
        yield bytes(text)


def is_sanitized():
    """True if hotpin has the runtime of AddressSanitizer, which reserves terabytes."""
    with open(HOTPIN, "rb") as file:
        return b"__asan_init" in file.read()


def text_of(path):
    """Returns the text of a file, or "" if it is not there any more."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def check(name, holds, *shown):
    global COUNT, FAILED
    COUNT += 1
    print(f"{'ok' if holds else 'not ok'} {COUNT} - {name}")
    if not holds:
        FAILED += 1
        for text in shown:
            print("".join(f"#   {line}\n" for line in str(text).splitlines()[:60]), end="")
    return holds


def says(name, status, pattern, *arguments, **more):
    """The command must end with `status`, its output must match `pattern`, and nothing of ours may
    crash."""
    done = run(*arguments, **more)
    both = done.stdout + done.stderr
    check(name, done.returncode == status and re.search(pattern, both, re.M) is not None,
          f"status {done.returncode}, not {status}, or nothing like {pattern!r} in:", both)
    return done


def no_control(text):
    """True if the text has no control sequence of a terminal."""
    return not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", text)


def left():
    print("Bail out! The script left before its end.")


# A TAP parser would count a script without a plan as passed.
atexit.register(left)


def skip_all(why):
    atexit.unregister(left)
    print(f"1..0 # SKIP {why}")
    FOLDER.cleanup()
    sys.exit(0)


def end():
    atexit.unregister(left)
    print(f"1..{COUNT}")
    FOLDER.cleanup()
    sys.exit(FAILED > 0)
