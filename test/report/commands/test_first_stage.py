#!/usr/bin/env python3
"""Tests profiles of programs without CUDA: which processes write one, and what is sampled.

    test_first_stage.py HOTPIN LIBRARY BURN HEAT FOLDER-OF-THE-STAND-IN
"""
import ctypes
import os
import re
import struct
import sys

import tap
from tap import check

LIBRARY, BURN, HEAT, STANDIN = (os.path.abspath(path) for path in sys.argv[2:6])
REFUSALS = ("perf_event_paranoid", "refuses perf_event_open", "no perf events", "seccomp", "mlock", "sample_rate")


def filter_calls():
    """Installs a seccomp filter that ends the process for perf_event_open() and process_vm_readv()."""
    libc = ctypes.CDLL(None)
    load, equal, result, kill, allow = 0x20, 0x15, 0x06, 0x80000000, 0x7fff0000
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in (
        (load, 0, 0, 0), (equal, 1, 0, 298), (equal, 0, 1, 310), (result, 0, 0, kill), (result, 0, 0, allow))))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    program = Program(5, ctypes.addressof(code))
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.byref(program), 0, 0) != 0:
        os._exit(77)


def start(command, before=None, **options):
    return tap.on_stand_in(STANDIN, command, preexec_fn=before, **options)


def profiles():
    """Takes the profiles of the folder: by name, the process's program and the profile."""
    found = {}
    for name in sorted(os.listdir(tap.FOLDER.name)):
        if name.endswith(".json"):
            found[name] = tap.loaded(name)
            os.rename(tap.path(name), tap.path("kept"))
    return found


def run(*program, out="x.json", **more):
    return start([tap.HOTPIN, "run", "--library", LIBRARY, "-o", out, *program], **more)


def programs(found):
    return sorted(profile["process"]["program"] for profile in found.values())


def is_refused(profile):
    """True if this machine lets nobody sample: then the profile says so, and the report too."""
    return any(word in (profile["sampling"]["why"] or "") for word in REFUSALS)


def is_known(cpu_wait_ns):
    """True if the profile has the figure where the kernel has it."""
    try:
        with open("/proc/self/schedstat", encoding="ascii") as file:
            return (cpu_wait_ns is not None) == (file.read().split() != ["0"] * 3)
    except FileNotFoundError:
        return cpu_wait_ns is None


def own_samples():
    """Names the profile in the file `kept`.  Returns the samples of the program's functions, by name."""
    tap.run("resolve", "kept")
    profile = tap.loaded("kept")
    names = {(name["module"], name["offset"]): name["function"] for name in profile["names"]
             if (name["file"] or "").endswith("/burn.c")}
    found = {}
    for row in profile["samples"]:
        function = names.get((row["frames"][0]["module"], row["frames"][0]["offset"]))
        if function is not None:
            found[function] = found.get(function, 0) + row["first_thread"]
    return found


def sampled_program():
    done = run(BURN, "plain")
    found = profiles()
    one = found.get("x.json")
    check("one profile, and nothing said", list(found) == ["x.json"] and done.stderr == "" and done.returncode == 0,
          done.stderr, list(found))
    # The kernel may be built without this figure.
    check("the wait for a CPU, if it is known", is_known(one["process"]["cpu_wait_ns"]), one["process"])
    report = tap.run("report", "--why", "kept").stdout
    if is_refused(one):
        check("why there are no samples", one["samples"] is None and one["sampling"]["why"] in " ".join(report.split()), report)
        return True
    check("it is sampled from the start on", one["sampling"]["began_ns"] < one["wall_ns"] and
          one["sampling"]["threads_most"] == 1, one["sampling"])
    check("all samples are before any copy", one["samples"] and
          all(row["before_cuda"] == row["first_thread"] and row["after_cuda"] == row["other_threads"] == 0
              and "threads" not in row for row in one["samples"]), one["samples"])
    check("about as many as there is CPU time", 20 < one["sampling"]["samples"] < 200, one["sampling"])
    # Load decides when the timer interrupts, so the samples say which function must be named.
    own, named = own_samples(), re.search(r"(\w+) at burn\.c:\d+", " ".join(report.split()))
    check("what has most samples is named first", "smooth_rows" in own and named is not None and
          own.get(named[1]) == max(own.values()), own, report)
    return False


def threads_and_forks():
    run(BURN, "threads")
    one = profiles()["x.json"]
    apart = [sum(row["threads"][i] for row in one["samples"] if "threads" in row) for i in range(7)]
    check("two threads are told apart", apart[0] > 20 and apart[1] > 20 and sum(apart[2:]) == 0 and
          sum(apart) == sum(row["other_threads"] for row in one["samples"]), apart)
    check("none is hotpin's", one["sampling"]["threads_most"] == 3, one["sampling"])
    done = run(BURN, "fork")
    found = profiles()
    check("a forked child writes nothing", programs(found) == ["burn"] and done.returncode == 0, programs(found), done.stderr)
    one = found["x.json"]
    check("nor are its samples in the parent's profile", 20 < one["sampling"]["samples"] < 150, one["sampling"])


def around_the_port():
    """What runs before the first copy and after the last one is told apart."""
    run(BURN, "cuda")
    one = profiles()["x.json"]
    before, after, everything = (sum(sum(row[field] for field in fields) for row in one["samples"]) for fields in (
        ["before_cuda"], ["after_cuda"], ["first_thread", "other_threads"]))
    check("input, port and output", one["backend"]["kind"] != "none" and min(before, after, everything - before - after) > 9,
          before, after, everything)


def descriptors_of_the_program():
    done = run(BURN, "files")
    check("files have the numbers of a plain run", done.returncode == 0 and programs(profiles()) == ["burn"],
          done.returncode, done.stderr)


def chains_of_programs():
    run(BURN, "plain", "/bin/true")
    check("the program that another becomes", programs(profiles()) == ["true"])
    run(BURN, "plain", HEAT)
    found = profiles()
    check("it may use CUDA", programs(found) == ["heat"] and
          found["x.json"]["sampling"]["began_ns"] < found["x.json"]["wall_ns"], programs(found))
    done = run("/bin/sh", "-c", f"{BURN} plain; {HEAT}; {BURN} plain", out="x-%p.json")
    check("a shell is silent behind its child, with any names", programs(profiles()) == ["heat"], done.stderr)
    folder = os.path.join(tap.FOLDER.name, "a[1]")
    os.mkdir(folder)
    run("/bin/sh", "-c", f"{HEAT}; exit 0", out="a[1]/x-%p.json")
    check("and in any folder", len(os.listdir(folder)) == 1, os.listdir(folder))
    run("/bin/sh", "-c", f"{BURN} plain; /bin/true")
    found = profiles()
    check("no child without CUDA writes one", programs(found) == ["sh"], programs(found))
    report = tap.run("report", "--why", "kept").stdout
    check("which is told", "a program that it had started" in " ".join(report.split()) or is_refused(found["x.json"]), report)
    done = run(BURN, "pthread_exit")
    found = profiles()
    check("an end with the last thread", (done.returncode, done.stdout, done.stderr) == (0, "flushed", "") and
          programs(found) == ["burn"] and found["x.json"]["process"]["exit_status"] == 0, done)
    done = run(BURN, "SYS_exit")
    found = profiles()
    check("an end with the only thread", (done.returncode, done.stderr) == (3, "") and programs(found) == ["burn"] and
          found["x.json"]["process"]["exit_status"] == 3, done)
    done = run(BURN, "_exit")
    found = profiles()
    check("an end by _exit()", done.returncode == 3 and done.stderr == "" and programs(found) == ["burn"] and
          found["x.json"]["process"]["exit_status"] == 3, done.stderr)


def where_nothing_is_allowed():
    done = run(BURN, "plain", before=filter_calls)
    found = profiles()
    if done.returncode == 77:
        return
    check("no samples under a filter", done.returncode == 0 and programs(found) == ["burn"] and
          found["x.json"]["sampling"]["why"] == "a seccomp filter is active", done.stderr)
    report = tap.run("report", "--why", "kept").stdout
    check("which the report tells", re.search(r"Not known: which functions take the [\d.]+ m?s of host code \(a seccomp filter",
                                              " ".join(report.split())), report)
    run(BURN, "plain", HOTPIN_SAMPLE="off")
    check("nor when switched off", profiles()["x.json"]["sampling"]["why"] == "HOTPIN_SAMPLE is off")


def bare_preload():
    def alone(*program, **options):
        return start(program, LD_PRELOAD=LIBRARY, **options)

    done = alone(BURN, "plain", HOTPIN_OUT="y.json", HOTPIN_ONLY="bu*")
    check("a preloaded program has a profile", programs(profiles()) == ["burn"] and done.stderr == "", done.stderr)
    done = alone(BURN, "plain", HOTPIN_PROFILE="summary", HOTPIN_ONLY="bu*")
    check("or a table", re.search(r"^==hotpin== burn  pid \d+  [\d.]+ m?s  no device used$", done.stderr, re.M), done.stderr)
    alone("/bin/sh", "-c", f"{BURN} plain; true", HOTPIN_OUT="y-%p.json", HOTPIN_ONLY="burn")
    check("HOTPIN_ONLY chooses the program", programs(profiles()) == ["burn"])
    alone("/bin/sh", "-c", f"{BURN} plain; exit 0", HOTPIN_OUT="y-%p.json", HOTPIN_ONLY="*")
    check("a shell is silent behind its child", programs(profiles()) == ["burn"])
    done = alone("/bin/sh", "-c", f"{BURN} plain; exit 0", HOTPIN_OUT="y.json", HOTPIN_PROFILE="summary")
    check("so is each program that nobody named", not profiles() and done.stderr == "", done.stderr)
    alone(BURN, "plain", HEAT, HOTPIN_OUT="y.json")
    found = profiles()
    check("unless it uses CUDA", programs(found) == ["heat"], programs(found))
    done = alone(BURN, "plain")
    check("nobody asked", not profiles() and done.stderr == "", done.stderr)
    done = alone(BURN, "plain", HOTPIN_OUT="y.json", HOTPIN="0")
    check("switched off", not profiles() and done.stderr == "", done.stderr)


refused = sampled_program()
if not refused:
    threads_and_forks()
    around_the_port()
descriptors_of_the_program()
chains_of_programs()
where_nothing_is_allowed()
bare_preload()
tap.end()
