#!/usr/bin/env python3
"""Tests how `hotpin run --profile` waits for a program, and what it prints afterwards.
test_run.py HOTPIN LIBRARY KEEPER
"""
import glob
import os
import signal
import subprocess
import sys
import time

import tap
from tap import check

LIBRARY = os.path.abspath(sys.argv[2])
KEEPER = os.path.abspath(sys.argv[3])
FIRST = "Host code "  # in the first screen of a report

# Prints a line when it is ready, and one for each signal; ends with 3 at SIGTERM.  A signal that comes
# between two waits is pending for the next one.
LISTENER = """
import os, signal, sys
signals = [getattr(signal, "SIG" + name) for name in ("INT", "QUIT", "HUP", "USR1", "TERM", "CONT")]
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", os.getpid(), flush=True)
while True:
    number = signal.sigwait(signals)
    os.write(1, f"{number.name}\\n".encode())
    if number == signal.SIGTERM:
        sys.exit(3)
"""


def environment(**more):
    return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **more}


def command(*words, flags=("--profile",)):
    return [tap.HOTPIN, "run", "--library", LIBRARY, *flags, "--", *words]


def ran(*words, flags=("--profile",), also=None, **more):
    return subprocess.run(command(*words, flags=flags), env=environment(**(also or {})), check=False,
                          cwd=tap.FOLDER.name, capture_output=True, text=True,
                          timeout=120 * tap.SLOWNESS, **more)


def started(*words, flags=("--profile",), **more):
    return subprocess.Popen(command(*words, flags=flags), env=environment(), text=True,
                            cwd=tap.FOLDER.name, stdout=subprocess.PIPE, **more)


def statuses():
    for status in (0, 7, 255):
        done = ran(sys.executable, "-c", f"raise SystemExit({status})")
        check(f"status {status}", done.returncode == status, done)
    check("the report is on standard error", FIRST in done.stderr and done.stdout == "", done)
    for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
        done = ran("sh", "-c", f"kill -{number.value} $$")
        check(f"death by {number.name}", done.returncode == -number, done)
    done = ran(sys.executable, "-c", "raise SystemExit(7)", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    check("status where SIGCHLD is ignored", done.returncode == 7 and FIRST in done.stderr, done)
    done = ran("sh", "-c", "exit 7")
    check("a program that ends by _exit()", done.returncode == 7 and FIRST in done.stderr, done)
    done = ran("sh", "-c", "kill -9 $$")
    check("a program that is killed", done.stderr.count("\n") == 1 and "no profile of sh is here" in done.stderr, done)
    done = ran(os.path.join(tap.FOLDER.name, "nothing"))
    check("a program that is missing", done.returncode == 127 and
          done.stderr.count("\n") == 1 and "there is no such program" in done.stderr, done)
    tap.write("broken", "#!/nothing/of/that/name\n")
    os.chmod(os.path.join(tap.FOLDER.name, "broken"), 0o755)
    done = ran("./broken")
    check("one that cannot start", done.returncode == 127 and done.stderr.count("\n") == 1, done)


def signals():
    with started(sys.executable, "-c", LISTENER, stderr=subprocess.PIPE) as process:
        program = int(process.stdout.readline().split()[1])
        check("the program runs in a child", program != process.pid)
        check("of the same process group", os.getpgid(program) == os.getpgid(process.pid))
        for name in ("HUP", "INT", "QUIT", "USR1", "CONT", "TERM"):
            process.send_signal(getattr(signal, "SIG" + name))
            line = process.stdout.readline()
            check(f"SIG{name} is passed on", line == f"SIG{name}\n", line)
        rest, report = process.communicate(timeout=60 * tap.SLOWNESS)
    check("none of them twice", rest == "", rest)
    check("and the status is the program's", process.returncode == 3 and FIRST in report, report)


def of_the_terminal():
    """^C and ^Z reach the program once; hotpin stops with it, and continues it."""
    sys.stdout.flush() # or the children print it, too
    pid, terminal = os.forkpty()
    if pid == 0:
        os.chdir(tap.FOLDER.name)
        # The session's leader stays: without one, the terminal stops nothing.
        job = os.fork()
        if job == 0:
            os.setpgid(0, 0)
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(0, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            os.execve(tap.HOTPIN, command(sys.executable, "-c", LISTENER), environment())
        _, status = os.waitpid(job, os.WUNTRACED)
        print("stopped", os.WIFSTOPPED(status), flush=True)
        os.killpg(job, signal.SIGCONT)
        _, status = os.waitpid(job, 0)
        print("ended", os.WEXITSTATUS(status), flush=True)
        os._exit(0)
    seen = ""

    def wait_for(text):
        nonlocal seen
        while text not in seen:
            try:
                seen += os.read(terminal, 65536).decode()
            except OSError:
                break
        return text in seen

    wait_for("ready")
    os.write(terminal, b"\x03")
    check("^C reaches the program", wait_for("SIGINT"), seen)
    os.write(terminal, b"\x1a")
    check("^Z stops hotpin", wait_for("stopped True"), seen)
    check("and what goes on continues", wait_for("SIGCONT"), seen)
    program = int(seen.split("ready", 1)[1].split()[0])
    os.kill(program, signal.SIGTERM)
    check("until the end", wait_for("ended 3"), seen)
    check("with the report", FIRST in seen, seen)
    check("^C was seen once", seen.count("SIGINT") == 1, seen)
    os.waitpid(pid, 0)
    os.close(terminal)


def killed_with_it():
    with started(sys.executable, "-c", LISTENER, stderr=subprocess.DEVNULL) as process:
        process.stdout.readline()
        process.kill()
        # The program alone still holds the pipe.
        check("the program is killed with hotpin", process.stdout.read() == "")


def files_of_the_program():
    ours, theirs = os.pipe()
    with started("sh", "-c", f"exec {theirs}>&-; read line; echo $line", stdin=subprocess.PIPE,
                 stderr=subprocess.PIPE, pass_fds=[theirs]) as process:
        os.close(theirs)
        check("a pipe ends when the program closes it", os.read(ours, 1) == b"")
        out, _ = process.communicate("a line\n", timeout=60 * tap.SLOWNESS)
    os.close(ours)
    check("standard input is the program's", out == "a line\n", out)
    done = ran("sh", "-c", "exit 7", also={"LD_PRELOAD": KEEPER})
    check("descriptors that another tool's library keeps stay open", done.returncode == 7 and FIRST in done.stderr, done)
    done = ran(sys.executable, "-c", "import os, sys; os.close(2); sys.exit(4)")
    check("a program may close standard error", done.returncode == 4 and FIRST in done.stderr, done)
    done = subprocess.run(["sh", "-c", 'exec 2>&-; "$@"', "-", *command("echo", "x")], check=False,
                          env=environment(), cwd=tap.FOLDER.name, stdout=subprocess.PIPE, text=True,
                          timeout=120 * tap.SLOWNESS)
    check("without it there is no report", done.returncode == 0 and done.stdout == "x\n", done)


def folders():
    # A % in the folder is no mark, and * no pattern.
    folder = os.path.join(tap.FOLDER.name, "100%p [*")
    os.mkdir(folder)
    done = ran("true", also={"TMPDIR": folder})
    check("profiles have a folder of their own", FIRST in done.stderr, done)
    check("which is gone", os.listdir(folder) == [], os.listdir(folder))
    done = ran("true", also={"TMPDIR": "/nothing/of/that/name"})
    check("without a folder the library prints its table", done.stderr.startswith("==hotpin== "), done)
    done = ran("sh", "-c", "echo $PPID; exec true", also={"TMPDIR": folder})
    check("the library prints none otherwise", "==hotpin==" not in done.stderr, done)
    done = ran("true", flags=("--profile", "-o", "kept-%p.json"))
    kept = [name for name in os.listdir(tap.FOLDER.name) if name.startswith("kept-")]
    check("-o keeps the profile", len(kept) == 1 and f"hotpin report {tap.FOLDER.name}/{kept[0]}" in
          done.stderr.replace("\n    ", " "), done, kept)
    os.utime(os.path.join(tap.FOLDER.name, kept[0]), (1, 1))
    done = ran("true", flags=("--profile", "-o", "kept-%p.json"))
    check("an older one is not shown", done.stderr.count("true") == 1, done)


def interrupted():
    """A report that nobody reads waits; ^C then ends it, and its folder goes."""
    folder = os.path.join(tap.FOLDER.name, "interrupted")
    os.mkdir(folder)
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    try:
        while os.write(theirs, b" " * 4096):
            pass
    except BlockingIOError:
        os.set_blocking(theirs, True)
    process = subprocess.Popen(command("true"), env=environment(TMPDIR=folder), cwd=tap.FOLDER.name, stderr=theirs,
                               start_new_session=True)

    child = f"({os.path.basename(tap.HOTPIN)}) S {process.pid} "
    deadline, waits = time.monotonic() + 60 * tap.SLOWNESS, False
    while not waits and time.monotonic() < deadline:
        time.sleep(0.02)
        # The program has written its profile, and the child that sleeps is the report.
        if glob.glob(f"{folder}/*/*.json"):
            waits = any(child in stat for stat in map(tap.text_of, glob.glob("/proc/[0-9]*/stat")))
    check("the report waits for its reader", waits)
    os.killpg(process.pid, signal.SIGINT)
    check("^C ends it, and the status is the program's", process.wait(60 * tap.SLOWNESS) == 0)
    check("its folder is gone", os.listdir(folder) == [], os.listdir(folder))
    os.close(ours)
    os.close(theirs)


def executes():
    """Without a report to print, the program is this process."""
    for flags in ((), ("-o", "x.json"), ("--observe", "-o", "x.json")):
        with started("sh", "-c", "echo $$", flags=flags, stderr=subprocess.DEVNULL) as process:
            check(f"{' '.join(flags) or 'run'} executes", int(process.stdout.read()) == process.pid)
    tap.write("mpirun", "#!/bin/sh\necho $$\n")
    os.chmod(os.path.join(tap.FOLDER.name, "mpirun"), 0o755)
    with started("./mpirun", stderr=subprocess.DEVNULL) as process:
        check("a launcher without -o, too", int(process.stdout.read()) == process.pid)
    inner = " ".join(f"'{word}'" for word in command("true"))
    done = ran("sh", "-c", f"{inner}; true")
    check("one report of hotpin inside hotpin", done.stderr.count(FIRST) == 1, done)


def ranks():
    done = ran("true", also={"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"})
    check("a rank has one line", done.stderr.startswith("rank 2: true ") and
          done.stderr.count("\n") == 1, done)
    done = ran("true", also={"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"})
    check("but not if it is the only one", FIRST in done.stderr, done)
    tap.write("mpirun", "#!/bin/sh\nfor rank in 0 1 2; do\n"
                        "OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=3 \"$@\"\ndone\n")
    done = subprocess.run(["./mpirun", *command("true", flags=("--profile", "-o", "rank-%h.json"))],
                          env=environment(), cwd=tap.FOLDER.name, capture_output=True, text=True,
                          check=False, timeout=120 * tap.SLOWNESS)
    lines = done.stderr.splitlines()
    check("each rank has its own", [line.split()[1] for line in lines] == ["0:", "1:", "2:"], done)


statuses()
signals()
of_the_terminal()
killed_with_it()
files_of_the_program()
folders()
interrupted()
executes()
ranks()
tap.end()
