#!/usr/bin/env python3
"""Makes every call of the library into libc, the kernel and the driver fail, one at a time.

    fault.py PROGRAM LIBHOTPIN LIBFAULT FOLDER_OF_DRIVER FOLDER_OF_CUPTI [--all] [--seed=N]
             [--seconds=S] [--only=TEXT] [--setting=N]

A place is a function and the address in the library that calls it.  A first run records all
places.  Then each place fails at its first call, at a later call, and at all calls.  The program's
output and status must stay as without the library.  --all tries every place; otherwise as many as S
seconds allow.
"""
import argparse
import concurrent.futures
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time

PLACES, ENTRY = 4096, struct.Struct("<QII48s")
EVER = 1 << 40
TIMEOUT = 60 * int(os.environ.get("TEST_SLOWNESS", "1"))

# Environments of the library; the first one is the usual one.
SETTINGS = [
    {},
    {"HOTPIN_PROFILE": "trace", "HOTPIN_OUT": "@/profile-%p.json",
     "HOTPIN_CUPTI": "force", "HOTPIN_HASH": "1"},
    {"HOTPIN_LOG": "debug", "HOTPIN_LOG_FILE": "@/log-%p",
     "HOTPIN_THREADS": "3", "HOTPIN_ROUTE": "stage"},
    {"HOTPIN_RING": "0", "HOTPIN_PIN_BUDGET": "12M", "HOTPIN_ASYNC": "0",
     "STANDIN_PINS_LIMIT": "12M"},
]


# Imports of the library that cannot fail, or whose failure is an ordinary result.
CANNOT_FAIL = set("""
__assert_fail __cxa_finalize __environ __errno_location __gmon_start__ __libc_current_sigrtmax
__libc_current_sigrtmin __libc_single_threaded
__progname __sched_cpucount __stack_chk_fail _PyRuntime _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable clock_gettime
dl_iterate_phdr dlerror environ exit fnmatch getenv geteuid getpid glob64 globfree64 gnu_get_libc_version memchr memcmp
memcpy memmem memmove memrchr memset program_invocation_short_name pthread_attr_destroy pthread_attr_init
pthread_attr_setdetachstate pthread_getcpuclockid pthread_getspecific pthread_mutex_lock pthread_mutex_unlock pthread_self pthread_setcancelstate
pthread_sigmask raise
sched_yield sigaddset sigaltstack sigdelset sigemptyset sigfillset sigismember sigpending snprintf strchr
strcmp strcspn strlen strncmp strnlen strrchr strsep strspn strstr strtol strtoul vsnprintf
""".split())


class Run:
    """One run of the program and its output."""

    def __init__(self, args, setting, at=None, table=None):
        with tempfile.TemporaryDirectory(prefix="hotpin-fault-") as folder:
            env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": f"{args.driver}:{args.cupti}"}
            if setting is not None:
                env["LD_PRELOAD"] = f"{args.library}:{args.fault}"
                env.update({k: v.replace("@", folder) for k, v in SETTINGS[setting].items()})
                env["FAULT_TABLE"] = table or make_table(folder)
            if at is not None:
                env["FAULT_AT"] = ":".join(map(str, at))
            try:
                done = subprocess.run([args.program], env=env, stdin=subprocess.DEVNULL,
                                      capture_output=True, timeout=TIMEOUT, check=False)
                self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
            except subprocess.TimeoutExpired as late:
                self.status, self.out, self.err = "hangs", late.stdout or b"", late.stderr or b""

    def seen(self):
        return self.status, self.out

    def trouble(self, plain):
        """Returns the difference from the plain run, in one line, or None."""
        if self.status != plain.status:
            return f"status {self.status} instead of {plain.status}: {self.tail()}"
        if self.out != plain.out:
            pairs = zip(plain.out.decode().splitlines(), self.out.decode().splitlines())
            parts = [a.split()[0] for a, b in pairs if a != b]
            return f"other output: {' '.join(parts) or 'its length'}"
        for line in self.err.decode(errors="replace").splitlines():
            if not line.startswith(("hotpin[", "==hotpin==", " ")) and line and not self.is_table(line):
                return f"on stderr: {line}"
        return None

    @staticmethod
    def is_table(line):
        """True for lines of the summary table, which is on stderr."""
        return "|" in line or line[0].isalnum() and not line.startswith("standin")

    def tail(self):
        return self.err.decode(errors="replace").strip()[-200:]


def make_table(folder):
    path = os.path.join(folder, "places")
    with open(path, "wb") as file:
        file.truncate(PLACES * ENTRY.size)
    return path


def places_of(path):
    with open(path, "rb") as file:
        entries = ENTRY.iter_unpack(file.read())
    return {key: (name.split(b"\0")[0].decode(), calls)
            for key, calls, _, name in entries if key != 0}


def record(args, plain, setting, runs):
    """Returns the places of several runs, because threads do not always reach the same ones."""
    with tempfile.TemporaryDirectory(prefix="hotpin-fault-") as folder:
        table = make_table(folder)
        for _ in range(runs):
            run = Run(args, setting, table=table)
            trouble = run.trouble(plain)
            if trouble:
                sys.exit(f"not ok - setting {setting}, and nothing failed: {trouble}")
        return {key: (name, calls // runs) for key, (name, calls) in places_of(table).items()}


def lines_of(library, keys):
    """Returns the place of each key in the source."""
    offsets = sorted({key & 0xffffffff for key in keys})
    text = "\n".join(hex(offset - 1) for offset in offsets)
    done = subprocess.run(["addr2line", "-a", "-f", "-i", "-s", "-e", library], input=text,
                          text=True, capture_output=True, check=False)
    found, lines = {}, done.stdout.splitlines()
    for i, line in enumerate(lines):
        if line.startswith("0x"):
            offset = int(line, 16) + 1
        elif i + 1 < len(lines) and ":" not in line:
            # The last one is the function into which the others are inlined.
            found[offset] = f"{lines[i + 1].split(' ')[0]} {line}"
    return found


def unlisted(args):
    """Returns imports of the library that are neither in calls.def nor listed as unable to fail."""
    done = subprocess.run(["nm", "-D", "--undefined-only", args.library], text=True,
                          capture_output=True, check=True)
    with open(os.path.join(os.path.dirname(__file__), "calls.def"), encoding="utf-8") as file:
        listed = set(re.findall(r"^CALL\((\w+)", file.read(), re.M))
    imports = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}
    # Compilers that fortify by default call functions that check sizes first.
    imports = {re.sub(r"^__(\w+)_chk$", r"\1", name) for name in imports}
    return sorted(imports - listed - CANNOT_FAIL)


def acts_without_fork_handlers(args, plain):
    """If pthread_atfork() fails, every call must pass through. Returns the trouble, or None."""
    runs = [Run(args, 0, at=(key, 1, 1))
            for key, (name, _) in record(args, plain, 0, 1).items() if name == "__register_atfork"]
    # Staging registers other handlers too. If that fails, it uses no workers.
    if not any(b"handlers of fork()" in run.err for run in runs):
        return "it does not say so"
    return next(filter(None, (run.trouble(plain) for run in runs)), None)


def tasks_of(places, chooser):
    for key, (_, calls) in sorted(places.items()):
        yield key, (1, 1)
        if calls > 1:
            yield key, (1, EVER)
            nth = chooser.randint(2, calls)
            yield key, (nth, chooser.choice((nth, EVER)))


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "library", "fault", "driver", "cupti"):
        parser.add_argument(name)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--setting", type=int)
    args = parser.parse_args()
    chooser = random.Random(args.seed)
    plain = Run(args, None)
    if plain.status != 17:
        sys.exit(f"not ok - plain: {plain.status} {plain.tail()}")
    settings = [args.setting] if args.setting is not None else list(range(len(SETTINGS)))
    if not args.all and args.setting is None:
        settings = [chooser.choice(settings)]

    tasks, places = [], {}
    for setting in settings:
        found = record(args, plain, setting, 3 if args.all else 1)
        # Also with these options, but the same place not twice.
        if args.all:
            found = {key: value for key, value in found.items() if key not in places}
        places.update(found)
        tasks += [(setting, key, turns) for key, turns in tasks_of(found, chooser)
                  if args.only in found[key][0]]
    where = lines_of(args.library, places)
    began = time.monotonic()
    if not args.all:
        chooser.shuffle(tasks)

    def describe(key):
        name, number = places[key][0], key >> 32 & 0xffff
        return f"{name}{f' {number}' if name == 'syscall' else ''} at {where.get(key & 0xffffffff, '?')}"

    def one(task):
        if not args.all and time.monotonic() - began > args.seconds and task not in tasks[:4]:
            return None
        setting, key, (first, last) = task
        return task, Run(args, setting, at=(key, first, last)).trouble(plain)

    failed = done = 0
    tried = set()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for result in pool.map(one, tasks):
            if result is None:
                continue
            (setting, key, (first, last)), trouble = result
            done += 1
            tried.add(key)
            if args.all and done % 50 == 0:
                print(f"# {done} of {len(tasks)} runs", flush=True)
            if trouble:
                failed += 1
                print(f"# {describe(key)}, call {first}{' on' if last == EVER else ''}, "
                      f"setting {setting}: {trouble}", flush=True)
                print(f"#   FAULT_AT={key}:{first}:{last}", flush=True)
    print(f"# {len(tried)} of {len(places)} places, {done} runs, seed {args.seed}, "
          f"{time.monotonic() - began:.0f} s")
    left, stays = unlisted(args), acts_without_fork_handlers(args, plain)
    print("1..3")
    print(f"{'not ' if failed or not done else ''}ok 1 - failures go unseen")
    print(f"{'not ' if left else ''}ok 2 - every call is one that fails, or cannot {left or ''}")
    print(f"{'not ' if stays else ''}ok 3 - without handlers of fork() the library does nothing {stays or ''}")
    sys.exit(failed != 0 or done == 0 or left != [] or stays is not None)


main()
