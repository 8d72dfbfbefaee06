"""machine.py - describes where a run takes place: device, driver, commit, command, memory."""

import ctypes
import mmap
import os
import platform
import shlex
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


def warm_memory(wanted):
    """Touches all of the machine's memory.  A virtual machine may get its pages from the host only
    at the first touch, which would count as time of the first program."""
    try:
        with open("/proc/meminfo") as meminfo:
            for line in meminfo:
                if line.startswith("MemAvailable:"):
                    wanted = min(wanted, int(line.split()[1]) * 1024 // 2)
    except OSError:
        return
    held = []
    for start in range(0, wanted, 1 << 30):
        size = min(1 << 30, wanted - start)
        piece = mmap.mmap(-1, size)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            piece.madvise(mmap.MADV_HUGEPAGE)
        piece[::4096] = b"\1" * len(range(0, size, 4096))
        held.append(piece)
    for piece in held:
        piece.close()


def driver_cuda():
    """Returns the CUDA version that the driver implements, without initializing it."""
    version = ctypes.c_int()
    try:
        if ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version)) != 0:
            return None
    except (OSError, AttributeError):
        return None
    return "%d.%d" % (version.value // 1000, version.value % 1000 // 10)


def describe():
    said = {"cpu_count": os.cpu_count(), "kernel": platform.release(), "device": None}
    try:
        answer = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=60,
        )
        said["device"] = answer.stdout.strip() or None
    except (OSError, subprocess.TimeoutExpired):
        pass
    if said["device"]:
        said["cuda"] = driver_cuda()
    return said


def commit():
    """Returns the commit of the tree of these files; None if it is not a work tree."""
    git = ["git", "-C", HERE]
    try:
        head = subprocess.run(
            git + ["rev-parse", "--short", "HEAD"], capture_output=True, text=True
        )
        if head.returncode != 0:
            return None
        changed = subprocess.run(git + ["diff", "--quiet", "HEAD"], capture_output=True)
        return head.stdout.strip() + ("" if changed.returncode == 0 else " and changes")
    except OSError:
        return None


def command(argv):
    """Returns the command as a user would type it again, without paths of this machine."""
    words, skip = [], False
    for word in argv[1:]:
        place = word.split("=")[0] in ("--build", "--lib", "--json", "--commit")
        if not skip and not place:
            words.append(word)
        skip = place and "=" not in word
    return " ".join(["test/bench/run.py"] + [shlex.quote(word) for word in words])
