"""Made-up profiles of Python programs, for test/report/golden.py."""
import os

import made
import tap
from made import MILLI, frame

SCRIPT = "train.py"
LIBRARY = "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py"


def source(file, function, line):
    return {"file": file, "function": function, "line": line}


MODULE, HELPER = source(SCRIPT, "<module>", 6), source(SCRIPT, "to_device", 1)
STEP = [source(SCRIPT, "step", 3), MODULE]


def site(direction, ns, python, offset=0x1234):
    return {"frames": [frame(0, offset), frame(None, 0x7f0000001000)], "python": python,
            "rows": [{"direction": direction, "memory": "pageable", "count": 10, "bytes": made.GB,
                      "host_ns": ns, "sync_count": 10, "sync_ns": ns}]}


def sample(ms, *python):
    return {"python": list(python), "samples": ms // 10, "cpu_ns": ms * MILLI}


def profile(samples=(), **changes):
    """Copies at lines of the script, of a library that it calls, and of no file; with more samples."""
    path = os.path.join(tap.FOLDER.name, SCRIPT)
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(f"line_{number}()\n" for number in range(1, 8)))
    os.utime(path, (1_000_000_000, 1_000_000_000))
    run = made.events([[3, 0, 1000, 5000, 0, 64, 1]], ["HtoD pageable, waits"],
                      [{"kind": "thread", "name": None, "device": None, "context": None, "stream": None, "tid": 4711,
                        "threads": 1}])
    step = source(SCRIPT, "Trainer.step", 3)
    run["modules"] = [{"path": "/nowhere/libtorch_cuda.so", "build_id": None}]
    run["sites"] = [site("h2d", 900 * MILLI, [step, MODULE]),
                    site("h2d", 700 * MILLI, [source(LIBRARY, "Module._apply", 955), source(LIBRARY, "Module.to", 1343),
                                              source(SCRIPT, "load", 5)]),
                    site("d2h", 5 * MILLI, [source("<string>", "<module>", 1)])]
    ends = {name: {"call": call, "frames": [frame(0, 0x99)], "python": [step]}
            for name, call in (("before", "cuMemcpyDtoH_v2"), ("after", "cuMemcpyHtoD_v2"))}
    run["gaps"] = [{**ends, "count": 4, "total_ns": 300 * MILLI, "longest_ns": 90 * MILLI}]
    augment = source(SCRIPT, "augment", 2)
    run["python_samples"] = [sample(70, augment), sample(10, source(LIBRARY, "Module._apply", 9), augment),
                             {"samples": 2, "cpu_ns": 20 * MILLI}, *samples]
    run["python_files"] = [{"file": SCRIPT, "bytes": os.path.getsize(path), "modified_ns": os.stat(path).st_mtime_ns}]
    run["repeats"], run["samples"] = None, None
    run["sampling"] = {**made.sampled()["sampling"], "mode": "none", "why": "no perf events"}
    return {**run, **changes}


def one_line():
    """Sites of one line are one row, except for the direction and other native code below the line."""
    repeats = {"hashed_copies": 40, "duplicates": made.total(12, 12, 12),
               "ping_pong": made.total(0, 0, 0),
               "sites": [{"kind": "duplicate", "site": at, "buffer": None, "count": 3, "bytes": 3, "host_ns": 3}
                         for at in (0, 2, 3, 4)]}
    return profile(repeats=repeats, sites=[
        site("h2d", 900 * MILLI, STEP), site("d2h", 50 * MILLI, [source(SCRIPT, "load", 5)]),
        {**site("h2d", 300 * MILLI, STEP, 0x99), "folded": True}, site("d2h", 20 * MILLI, STEP, 0x77),
        site("h2d", 7 * MILLI, [source(LIBRARY, "to", 4), *STEP], 0x55)])


def imports():
    """Imports are one line, except for those of a known line; native frames are no place in Python."""
    frozen = source("<frozen importlib._bootstrap>", "_call_with_frames_removed", 488)
    read = source("<frozen importlib._bootstrap_external>", "FileLoader.get_data", 1187)
    return profile([sample(6000, frozen), sample(50, read, frozen), sample(30, read, source(SCRIPT, "<module>", 1)),
                    {"frames": [frame(0, 0x99)], "samples": 6, "cpu_ns": 60 * MILLI}])


def callers():
    """Callers distinguish the sites of one line."""
    return profile(sites=[site("h2d", 900 * MILLI, [HELPER, *STEP]),
                          site("h2d", 700 * MILLI, [HELPER, source(SCRIPT, "step", 4), MODULE]),
                          site("d2h", 5 * MILLI, [source(SCRIPT, "step", 5), MODULE])])


def rank(number):
    """All ranks did the same at their lines, by other native code; only the last one has no Python lines."""
    run = profile([sample(50, source(SCRIPT, "only", number + 1))])
    for of in run["sites"]:
        of["frames"][0] = frame(0, 0x1000 + number)
    run["process"].update(rank=str(number), ranks=3, pid=4711 + number)
    if number == 2:
        del run["python_samples"]
    return run
