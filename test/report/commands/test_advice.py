#!/usr/bin/env python3
"""Tests the advice: a table of profiles, and of the texts that come out.

    test_advice.py HOTPIN

A row has a name, the changes of a profile, and what is expected:

    "pin about 70000: text | text"   one entry of the kind, with the saving in us, and parts of its texts
    "no pin"                         no entry of the kind
    "2 entries"                      of all kinds
    "left: text", "blind: text"      parts of the sentences below the list; "blind." is none
    "done", "not done"
"""
import csv
import io
import re

import made
import tap
from tap import check, write

MS, MIB = made.MILLI, made.MIB
NAMES = {} # rows of "names" by place


def at(function, line=None, module=0, **more):
    """A frame of its own; line: "solve.c:10"."""
    offset = 64 * (len(NAMES) + 1)
    for place in (offset, offset - 1): # as an instruction, or as a return address
        NAMES[module, place] = {"module": module, "offset": place, "function": function,
                                "file": line and "/src/" + line.split(":")[0], "line": line and int(line.split(":")[1])}
    return {"module": module, "offset": offset, **more}


def inlined(*functions):
    """A frame with functions that are inlined into the last one."""
    frame = at(functions[-1], "a.c:1")
    for place in (frame["offset"], frame["offset"] - 1):
        name = NAMES[0, place]
        name["file"] = path_of(functions[-1])
        name["inlined"] = [{"function": function, "file": path_of(function), "line": 1} for function in functions[:-1]]
    return frame


def path_of(function):
    return "/usr/include/c++/12/a.h" if function.startswith("std::") else "/src/a.c"


UP, DOWN, MADE = at("upload", "solve.c:20"), at("download", "solve.c:30"), at("make", "solve.c:5")
ADVANCE, ADVANCE2, SETTLE = at("advance", "solve.c:10"), at("advance", "solve.c:12"), at("settle")
SPIN, COPYING, BARRIER = at(None, module=1), at("memcpy", module=2), at(None, module=3)
MOVED = [at("memcpy", module=2), at("advance", "solve.c:12", guessed=True)]
DRIVER_MOVED = [at("memcpy", module=2), at(None, module=1, guessed=True)]
MODULES = ["/nowhere/solve", "/usr/lib/libcuda.so.1", "/usr/lib/libc.so.6", "/usr/lib/libgomp.so.1"]
PYTHON_MODULES = ["/opt/conda/bin/python3.12", "/env/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so",
                  "/lib/x86_64-linux-gnu/libcrypto.so.3", "/opt/conda/lib/libmkl_rt.so.2",
                  "/home/me/ext.cpython-312-x86_64-linux-gnu.so", "/usr/lib/libc.so.6"]


def modules(paths):
    return [{"path": path, "build_id": "00" * 20} for path in paths]


def copies(direction, count, size, ns):
    return {"direction": direction, "memory": "pageable", "count": count, "bytes": size, "host_ns": ns,
            "sync_count": count, "sync_ns": ns}


def site(frames, *rows):
    return {**frames, "rows": list(rows)} if isinstance(frames, dict) and "python" in frames else \
        {"frames": frames if isinstance(frames, list) else [frames], "rows": list(rows)}


def trips(count, size, host_ms, copy_ms, after=None, sites=(None, None)):
    """Round trips; sites: of the download and of the upload."""
    return {"count": count, "bytes": size, "host_ns": host_ms and host_ms * MS, "copy_ns": copy_ms and copy_ms * MS,
            "after": after, "download_site": sites[0], "upload_site": sites[1]}


def buffer(kind="heap", frames=(MADE,), round_trips=None, follows=None, **more):
    none = trips(0, 0, 0, 0)
    return {"kind": kind, "frames": list(frames), "largest_bytes": 0, "promoted_bytes": 0, "pins": 0, "pin_ns": 0,
            "saved_ns": 0, "could_save_ns": 0, "h2d": made.total(0, 0, 0), "d2h": made.total(0, 0, 0),
            "round_trips": round_trips or none, "follows": follows or none, **more}


OTHER = buffer("other", ())


def bounds(pinned, overlapped, none):
    return [{"name": name, "assumes": assumes, "wall_ns": 0, "saves_ns": None if ms is None else ms * MS}
            for name, assumes, ms in (("all_pinned", "peak", pinned), ("all_overlapped", "no waits", overlapped),
                                      ("no_transfers", "none", none))]


def transfer(view, direction, memory, count=None, size=None, **more):
    return {"view": view, "direction": direction, "memory": memory, "count": count, "bytes": size, **more}


def sizes(direction, from_bytes, count, size, ns, memory="pageable"):
    return transfer("hotpin", direction, memory, sizes=[
        {"from_bytes": from_bytes, "count": count, "bytes": size, "busy_ns": ns}])


def call(name, kind, count, total_ms, longest_ms=1):
    return made.call(name, kind, count, total_ms * MS, longest_ms * MS)


def gap(before, after, count, ms, longest_ms=6):
    """before, after: (call, frames or a frame), or None."""
    ends = [{"call": end[0], **({"frames": end[1] if isinstance(end[1], list) else [end[1]]}
                                if not isinstance(end[1], dict) or "module" in end[1] else end[1])} if end else
            {"call": None, "frames": []} for end in (before, after)]
    return {"before": ends[0], "after": ends[1], "count": count, "total_ns": ms * MS, "longest_ns": longest_ms * MS}


def sample(frames, count):
    return {"frames": frames if isinstance(frames, list) else [frames], "first_thread": count, "other_threads": 0}


def line(*places):
    """Frames of Python: (function, file, line)."""
    return {"python": [{"function": function, "file": file, "line": number} for function, file, number in places]}


LINE9, LINE12 = ("<module>", "/home/me/x", 9), ("step", "/home/me/x", 12)
GENERATED, FROZEN = ("__init__", "<string>", 2), ("_call_with_frames_removed", "<frozen importlib._bootstrap>", 488)
FIELDS = ("_create_fn", "/usr/lib/python3.12/dataclasses.py", 473)
IN_SVD = [("svd", "/env/lib/python3.12/site-packages/numpy/linalg.py", 1600), LINE12]
IN_WAIT = [("wait", "/usr/lib/python3.12/threading.py", 355), LINE12]
IN_IMPORT = [("get_data", "<frozen importlib._bootstrap_external>", 1187), LINE12]
IN_GENERATED = [("collate", "/env/lib/python3.12/site-packages/a.py", 7), ("<lambda>", "<string>", 1)]
AT_PROMPT, AT_END, IN_CELL = ("step", "<stdin>", 3), ("<module>", "/home/me/x", 20), ("step", "<ipython-input-3-0123456789ab>", 4)
IN_SITE = [("collate", "/env/lib/python3.12/site-packages/a.py", 7)]


def cpu(places, ms):
    return {**line(*places), "samples": ms // 10, "cpu_ns": ms * MS}


def loop(**changes):
    """100 steps of 10 ms, each with a download, host code, an upload and a kernel.  `host` and `split` are updated,
    other changes replace."""
    run = {
        "schema": "hotpin.profile", "schema_version": "2.0", "state": "ended", "wall_ns": 1000 * MS,
        "process": {"pid": 1, "program": "solve", "exit_status": 0}, "environment": {}, "backend": {"kind": "cupti"},
        "options": {"HOTPIN_PIN": "0"},
        "split": {"host_ns": 600 * MS, "startup_ns": 100 * MS, "calls_ns": 50 * MS, "transfer_ns": 200 * MS,
                  "kernel_ns": 50 * MS, "overlap_ns": 0},
        "host": {"copy_calls_ns": 220 * MS, "waiting_for_kernels_ns": 20 * MS, "overhead_ns": 0, "launches": 0,
                 "graph_launches": 0, "threads": 0},
        "gaps_short": {"count": 100, "total_ns": 200_000, "longest_ns": 2000},
        "sampling": {"mode": "perf", "hz": 200, "began_ns": None},
        "modules": modules(MODULES),
        "sites": [site(UP, copies("h2d", 100, 400 * MIB, 90 * MS)), site(DOWN, copies("d2h", 100, 400 * MIB, 110 * MS))],
        "buffers": [OTHER, buffer()],
        "transfers": [transfer("cupti", way, "pageable", 100, 400 * MIB) for way in ("h2d", "d2h")],
        "kernels": [], "samples": [], "gaps": [], "what_if": [], "repeats": None,
    }
    for name in ("host", "split"):
        run[name] = changes.pop(name) if changes.get(name, {}) is None else {**run[name], **changes.pop(name, {})}
    run.update(changes)
    run["names"] = [name for (module, _), name in NAMES.items() if module < len(run["modules"])]
    return run


def python(rows, **changes):
    """A program of Python without known copies; rows: [(places, ms)]."""
    return loop(**{"modules": modules(PYTHON_MODULES), "sites": [], "python_samples": [cpu(*row) for row in rows], **changes})


def repeat(kind, where, count, size, ms):
    one = {"kind": kind, "site": where, "buffer": 1, "count": count, "bytes": size, "host_ns": None if ms is None else ms * MS}
    return {"hashed_copies": 0, "sites": [one]}


def pins():
    saves = [OTHER, buffer(could_save_ns=70 * MS)]
    best = {"buffers": saves, "what_if": bounds(150, 0, None)}
    pinned = [transfer("cupti", way, "pinned", 100, 400 * MIB) for way in ("h2d", "d2h")]
    yield "nothing to save", {}, "no pin"
    yield "an estimate by buffers", {"buffers": saves}, "pin about 70000"
    yield "of all buffers", {"buffers": [{**OTHER, "could_save_ns": 30 * MS}, saves[1]]}, "pin about 100000"
    yield "a bound", best, "pin at most 150000: hotpin run | download at solve.c:30"
    # hotpin has already pinned what it could.
    yield "not observed", {**best, "options": {"HOTPIN_PIN": "1"}}, "pin at most 150000: cudaMallocHost"
    yield "pinned", {**best, "transfers": pinned}, "no pin"


def uploads():
    yield "unchanged", {"repeats": repeat("duplicate", 0, 99, 396 * MIB, 80)}, \
        "upload_once at most 80198: upload at solve.c:20 | 99 copies"
    yield "no more than without copies", {"repeats": repeat("duplicate", 0, 99, 396 * MIB, 80),
                                          "what_if": bounds(0, 0, 60)}, "upload_once at most 60198"
    yield "a download", {"repeats": repeat("ping_pong", None, 99, 396 * MIB, 80)}, \
        "upload_once at most 80198: unchanged re-uploads"
    yield "unknown", {"repeats": repeat("ping_pong", None, 99, 396 * MIB, None)}, "no upload_once"


def keeps():
    back = {"buffers": [OTHER, buffer(round_trips=trips(99, 396 * MIB, 500, 200))]}
    around = ("cuMemcpyDtoH_v2", DOWN), ("cuMemcpyHtoD_v2", UP)
    yield "a buffer", back, "keep at most 200396: place download download at solve.c:30, upload upload at solve.c:20. | 500 ms in 99 round trips"
    yield "waits for kernels stay", {**back, "what_if": bounds(0, 0, 180)}, "keep at most 180396"
    yield "the host code between", {**back, "gaps": [gap(*around, 99, 500)]}, \
        "keep at most 200396: from download at solve.c:30 to upload at solve.c:20"
    yield "no host code between", {"buffers": [OTHER, buffer(round_trips=trips(99, 396 * MIB, 0, 200))]}, \
        "keep at most 200396: drop both copies: no host code runs between them in 99 round trips"
    # As many gaps, nearly as long, also between calls around the copies.
    for count, ms, found in ((99, 500, 1), (100, 410, 1), (98, 480, 1), (97, 500, 0), (99, 390, 0), (200, 500, 0)):
        yield f"{count} gaps of {ms} ms", {**back, "gaps": [gap(("cuMemFree_v2", DOWN), around[1], count, ms)]}, \
            f"keep at most 200396: in between{', from download at' if found else ': 500 ms'}"
    yield "without names of buffers", {"buffers": [{**OTHER, "follows": trips(99, 396 * MIB, 500, 190, 0)}, buffer()]}, \
        "keep at most 190396: download download at solve.c:30, upload upload at solve.c:20 | " \
        "is computed from the downloaded data"


def keeps_of_one_pair_of_sites():
    """Buffers that cross at the same copy sites are one change."""
    both, alone = "2 buffers: download download at solve.c:30, upload upload at solve.c:20", "place download download at"
    rows = [("swapped", 50, 150, (1, 0), 300, [f"200400: place {both}. | 300 ms in 100 round trips"]),
            ("together", 100, 300, (1, 0), 300, [f"200800: {both} | 300 ms in 200 round trips"]),
            ("another upload", 50, 150, (1, 1), 300, [f"120200: {alone} | 150 ms in 50 round trips", "80200: upload download at"]),
            ("another download", 50, 150, (0, 0), 300, [f"120200: {alone} | 150 ms in 50", "80200: download upload at"]),
            ("unknown", 50, 150, (None, None), 300, [f"120200: {alone} | 150 ms in 50", f"80200: {alone}"]),
            ("most cross elsewhere", 50, 150, (1, 0), 100, ["200400: 2 buffers: | in between: 300 ms in 100"])]
    for name, count, ms, sites, gap_ms, expected in rows:
        buffers = [OTHER, buffer(round_trips=trips(count, 2 * MIB, ms, 120, None, (1, 0))),
                   buffer(frames=[ADVANCE], round_trips=trips(count, 2 * MIB, ms, 80, None, sites))]
        # A longer gap between other copies, and the gap of these.
        gaps = [gap(("cuMemcpyDtoH_v2", MADE), ("cuMemcpyHtoD_v2", MADE), 3, 400, 400),
                gap(("cuMemcpyDtoH_v2", DOWN), ("cuCtxGetCurrent", UP), 100, gap_ms)]
        yield name, {"buffers": buffers, "gaps": gaps}, *("keep at most " + text for text in expected)


def ports():
    own = [sample(ADVANCE, 20), sample(ADVANCE2, 30), sample(MOVED, 10)]
    others = [sample(frames, 1000) for frames in (SPIN, DRIVER_MOVED, COPYING, BARRIER)]
    # The caller of memcpy is in the program, in the driver, or unknown.
    yield "samples in functions of the program", {"samples": own + others}, \
        "port about 300000: advance at solve.c:12 | kernel's own"
    twin = sample([at("standin_twin_step", "solve.c:40"), SPIN], 1000)
    yield "kernels of the stand-in device", {"samples": own + [twin]}, "port about 300000: advance at solve.c:12"
    yield "several threads at once", {"samples": own + others + [sample(SETTLE, 180)]}, \
        "port about 450000: settle", "port about 150000: advance", "2 entries"
    # main and upload() copy: the outermost function at the place that does not.
    for names, port in ((["main"], "main"), (["carry", "main"], "carry"), (["cell", "carry", "main"], "carry"),
                        (["cell", "carry", "step"], "step"), (["upload", "main"], "upload"),
                        (["cell", "upload", "main"], "cell"), (["cell", "upload", "carry", "main"], "carry"),
                        (["less", "std::sort"], "less"), (["less", "std::sort", "carry"], "carry"),
                        (["std::sort"], "std::sort")):
        copying = site([at("upload"), at("main")], copies("h2d", 1, 1, 1))
        yield f"inlined: {' in '.join(names)}", {"sites": [copying], "samples": [sample([inlined(*names), at("call")], 100)]}, \
            f"port about 500000: place {port} "


def copies_of_a_function():
    """A function goes with copies if no other gap has room for its samples: two may take equally long."""
    capture, to_float = at("capture", "camera.c:9"), at("to_float", "camera.c:19")
    for name, gaps, samples, saves in (
            ("it fills the gap", [300], [60], [500]), ("nearly", [375], [60], [500]), ("a part of the gap", [420], [60], [300]),
            ("some of it runs elsewhere", [300, 60], [60], [500]), ("most of it may run elsewhere", [300, 100], [60], [300]),
            ("another one takes as long", [300, 300], [60, 60], [300, 300]), ("a few samples", [40], [9], [45]),
            ("just enough", [40], [10], [250]), ("no such gap", [], [60], [300])):
        places = [(("cuMemcpyDtoH_v2", DOWN), ("cuMemcpyHtoD_v2", UP)), (("cuLaunchKernel", MADE), ("cuMemcpyDtoH_v2", DOWN))]
        yield name, {
            "samples": [sample(*of) for of in zip((capture, to_float), samples)],
            "gaps": [gap(*of, 100, ms) for of, ms in zip(places, gaps)] + [gap(None, ("cuInit", []), 1, 90, 90)],
            "sampling": {"mode": "perf", "hz": 200, "began_ns": 100 * MS},
            "buffers": [OTHER, buffer(round_trips=trips(99, 396 * MIB, gaps[0] if gaps else 300, 200, None, (1, 0)))]}, \
            *(f"has port about {ms}000: {'function, drop copies' if ms == samples[0] * 5 + 200 else 'port this function place'}"
              for ms in saves), f"has port about {saves[0]}000: capture"


def vague_bounds():
    """All host code between copies is a suggestion only if none that says more explains most of it."""
    small = loop()["transfers"] + [sizes("h2d", 1024, 60000, 60 * MIB, 215 * MS)]
    yield "small copies are the trouble", {
        "transfers": small, "gaps_short": None,
        "buffers": [{**OTHER, "round_trips": trips(20000, 20 * MIB, 7, 200)}]}, \
        "no port", "has batch at most 199996: combine small copies", "first 200000"
    for host, shown in ((99, False), (101, True)):
        yield f"{host} ms of host code", {"gaps_short": None, "buffers": [OTHER, buffer(round_trips=trips(99, 396 * MIB, host, 200))]}, \
            f"port at most {200 + host}000: port all code" if shown else "no port"
    yield "places are those of the copies", {"buffers": [OTHER, buffer(round_trips=trips(99, 396 * MIB, 500, 200, None, (0, 1)))]}, \
        "port at most 700396: place download upload at solve.c:20, upload download at solve.c:30."


def ports_of_a_loop():
    """A loop may copy more than one download and one upload.  The first row was measured on an H100: 1541 ms were saved."""
    for count, other, none, saves, repeated in ((90, 245, 764, 1675, 763), (90, 245, 700, 1612, 700), (1, 245, 764, 1430, 518),
                                                (90, None, 764, 1430, 518), (None, None, 764, 1430, 518)):
        three = [site(UP, copies("h2d", 90, 400 * MIB, 268 * MS)), site(DOWN, copies("d2h", 90, 400 * MIB, 250 * MS)),
                 site(MADE, copies("d2h", count, 400 * MIB, other and other * MS))]
        yield f"{count} other copies of {other} ms, {none} ms without", {
            "wall_ns": 2321 * MS, "split": {"host_ns": 1329 * MS}, "sites": three, "what_if": bounds(None, None, none),
            "buffers": [{**OTHER, "follows": trips(89, 2986344448, 912, 511, 0)}, buffer()]}, \
            f"port at most {saves}...: {repeated} ms of repeated copies", "keep at most 511356"
    around = gap(("cuMemcpyDtoH_v2", DOWN), ("cuMemcpyHtoD_v2", UP), 99, 500)
    where = "host code from download at solve.c:30 to upload at solve.c:20, 200 ms of repeated copies"
    for count, gaps, says in ((5, [around], "host code, 200 ms of repeated copies; samples of the whole run: advance at solve.c:10 (25.0 ms)"),
                              (4, [around], where), (0, [around], where), (4, [], "host code, 200 ms of repeated copies")):
        yield f"{count} samples, {len(gaps)} gaps", {
            "samples": [sample(SPIN, 1000), sample(ADVANCE, count)], "gaps": gaps,
            "buffers": [OTHER, buffer(round_trips=trips(99, 396 * MIB, 500, 200))]}, \
            f"has port at most 700396: turn its loops into kernels: 500 ms of {says}"
    for count, entries in ((60, 3), (70, 2)):
        yield f"a function of {count * 5} ms", {
            "samples": [sample(ADVANCE, count)], "gaps": [around],
            "buffers": [OTHER, buffer(round_trips=trips(99, 396 * MIB, 500, 200))]}, \
            f"{entries} entries", f"has port about {count * 5}000: port this function"


def ports_without_samples():
    ends = ("cuMemAlloc_v2", DOWN), ("cuMemFree_v2", UP)
    gaps = [gap(*ends, 99, 700, 8), gap(None, ends[1], 99, 700, 8)]
    spun = sample(SPIN, 1000)
    yield "a gap", {"gaps": gaps}, "port at most 600000", "blind: not sampled"
    yield "a single gap", {"gaps": [gap(*ends, 1, 700)]}, "no port"
    yield "samples in the driver", {"gaps": gaps, "samples": [spun]}, "no port", \
        "blind: no samples in functions of the program."
    lost = [spun, sample(COPYING, 10), sample(DRIVER_MOVED, 1000), sample(MOVED, 1)]
    yield "a caller that was not found", {"gaps": gaps, "samples": lost}, \
        "blind: program; C and C++ libraries used 50.0 ms, and their callers are not known"
    yield "nearly all were found", {"gaps": gaps, "samples": [spun, sample(COPYING, 9), *lost[2:]]}, \
        "blind: in functions of the program."


def python_lines():
    torch = [sample(at(None, module=1), 50)]
    for name, places, ms, saves, where in (
            ("a line", [LINE9], 250, 250, "<module> at x:9"), ("in a library", IN_SVD, 250, 250, "step at x:12"),
            ("more than the host code", [LINE9], 900, 600, "<module> at x:9"), ("imports", [FROZEN], 250, 0, None),
            ("imports of a line", IN_IMPORT, 250, 0, None), ("the standard library", [FIELDS], 250, 0, None),
            ("a line that waits", IN_WAIT, 250, 0, None), ("no line of the program", IN_SITE, 250, 0, None),
            ("generated code", [GENERATED], 250, 0, None), ("called by generated code", IN_GENERATED, 250, 0, None),
            ("a prompt", [AT_PROMPT], 250, 250, "step at <stdin>:3"),
            ("a notebook", [IN_CELL], 250, 250, "step at <ipython-input-3-0123456789ab>:4")):
        yield name, python([(places, ms), ([LINE9], 0)], samples=torch), \
            f"port about {saves}000: place {where}." if saves else "0 entries"
    yield "no line is known", python([([], 250)], samples=torch), "port about 250000: libtorch_cpu.so without symbols"
    yield "two places of a line", python([(IN_SVD, 100), ([LINE12], 200), ([LINE9], 700)]), \
        "port about 420000", "port about 180000", "2 entries"
    copying = [site(line(of), copies(way, 100, 400 * MIB, 100 * MS)) for of, way in ((AT_END, "h2d"), (LINE12, "d2h"), (AT_PROMPT, "h2d"))]
    ends = ("cuMemcpyDtoH_v2", line(LINE12)), ("cuMemcpyHtoD_v2", line(AT_END)), ("cuMemcpyHtoD_v2", line(AT_PROMPT))
    crossing = [{**OTHER, "follows": trips(99, 396 * MIB, 20, 90, 1, (1, 2))}, buffer(round_trips=trips(99, 396 * MIB, 310, 200, None, (1, 0)))]
    for name, gaps, saves in (("the loop's copies", [], "500000: port line, drop copies"),
                              ("not those of another loop", [gap(*ends[::2], 99, 20)], "500000: and copies of 200 ms"),
                              ("a line that may run elsewhere", [gap(*ends[::2], 99, 200)], "300000: port this Python line")):
        yield name, python([([LINE9], 300)], sites=copying, buffers=crossing, gaps=[gap(*ends[:2], 99, 310), *gaps]), f"has port about {saves}"
    # The lines of python -c are in "<string>", as is code that a program generates.
    yield "python -c", python([([GENERATED], 250)]), "port about 250000: place __init__ at <string>:2."
    yield "a library works for it", python([(IN_GENERATED, 250)]), "port about 250000: place <lambda> at <string>:1."
    yield "the interpreter's own code", python([([FROZEN], 250), ([FIELDS], 250)]), "no port"
    yield "in a notebook, text is generated", python([([GENERATED], 250), ([IN_CELL], 100)]), \
        "port about 100000: step at <ipython-input-3-0123456789ab>:4"
    native = [sample(at(None, module=i), 20) for i in range(4)]
    yield "installed libraries", python([(IN_IMPORT[:1], 10)], samples=native), "no port"
    called = [sample([at(None, module=1), at(None, module=4, guessed=True)], 10), sample(at(None, module=4), 10)]
    yield "an extension of the program", python([(IN_IMPORT[:1], 10)], samples=native + called), \
        "port about 100000: without symbols | turn its loops into kernels"


def python_lines_that_call_cuda():
    """CPU time of a line includes its CUDA calls.  What they may have taken is not claimed."""
    for name, kind, copy, launch, ms, saves in (
            ("cuMemAlloc_v2", "allocate", 90, 0, 0, 210), ("cuMemAlloc_v2", "allocate", 0, 80, 0, 220),
            ("cuMemAlloc_v2", "allocate", 0, 0, 70, 230), ("cuMemAlloc_v2", "allocate", 90, 80, 70, 60),
            ("cuMemAlloc_v2", "allocate", 300, 0, 0, 0), ("cuMemcpyHtoD_v2", "copy", 90, 0, 200, 210),
            ("cuLaunchKernel", "launch", 0, 80, 200, 220), ("cuInit", "start_up", 0, 0, 290, 300)):
        here = line(LINE12)
        yield f"{name}, {copy} ms in copies, {launch} in launches, {ms} in calls", python(
            [([LINE12], 300), (IN_SVD, 100)],
            sites=[site(here, copies("h2d", 1, MIB, copy * MS))] if copy else [],
            launches=[{**here, "count": 1, "host_ns": launch * MS}] if launch else [],
            calls=[call(name, kind, 2, ms), call("cuMemFree_v2", "free", 2, 50)],
            gaps=[gap(("cuMemFree_v2", line(LINE9)), (name, here), 1, 1, 1)] * 2), \
            f"port about {saves}000: CPU time outside CUDA calls in 30" if saves else "0 entries"


def python_texts():
    """The text names the library that the program uses for the GPU, and no other."""
    rows, more = [([LINE9], 250)], {"what_if": bounds(150, 140, None), "options": {"HOTPIN_PIN": "1"}}
    waits = [call("cuStreamSynchronize", "synchronize", 100, 40)]
    yield "PyTorch", python(rows, calls=waits, **more), \
        "port about 250000: compute it in tensors that are created on the GPU (device='cuda'): 250 ms of CPU time in 25 " \
        "samples | a GPU can compute it", "pin at most 150000: pin_memory() of the tensors", \
        "overlap at most 140000: non_blocking=True", \
        "synchronize_less at most 40200: remove item(), cpu() and synchronize() that the loop can do without: 100 calls | other work"
    for name, paths, text in (("CuPy", ["/env/cupy/_core/core.so"], "compute it in CuPy arrays: 250 ms"),
                              ("neither", [], "compute on the GPU what this line computes on the host: 250 ms")):
        yield name, python(rows, modules=modules(paths), buffers=[OTHER]), f"port about 250000: {text}"
    tensors = [buffer(frames=[at(None, module=1)], round_trips=trips(99, 396 * MIB, 300, 200, None, (1, 0)))]
    lines = "place download step at x:12, upload <module> at x:9."
    yield "copies have Python lines", python([([LINE9], 20)], buffers=tensors, sites=[
        site(line(LINE9), copies("h2d", 100, 400 * MIB, 90 * MS)), site(line(LINE12), copies("d2h", 100, 400 * MIB, 110 * MS))]), \
        f"keep at most 200396: {lines}", f"has port at most 500396: port all code between copies {lines} | compute it on the GPU"


def first_stage():
    """A program without CUDA: what to port first, by the time of the busiest thread, less a start-up of CUDA."""
    caller = at("main", "solve.c:50", guessed=True)

    def run(ms, *samples, **more):
        alone = {**dict.fromkeys(loop()["split"], 0), "host_ns": ms * MS}
        return {"wall_ns": ms * MS, "backend": {"kind": "none"}, "split": alone, "samples": list(samples), "sites": [],
                "buffers": [], "transfers": [], **more}

    def threads(place, first, *others):
        return {"frames": [place], "first_thread": first, "other_threads": sum(others),
                "threads": list(others) + [0] * (7 - len(others))}

    hot = [sample([ADVANCE, caller], 60), sample([ADVANCE2, caller], 60), sample([at("advance", "solve.c:40"), caller], 20)]
    yield "a hot function", run(1000, *hot, sample(SETTLE, 60)), "1 entries", \
        "port about 400000: function first place advance at solve.c:10, hot lines 10 to 12 | 700 ms (70.0 % of the run) " \
        "in 140 samples; called from main at solve.c:50 | the rest of the run takes 300 ms, and a typical start-up of CUDA adds 300 ms", "blind."
    short = "advance at solve.c:10 takes most, 200 ms of 205 ms: no more than the start-up of CUDA, which is typically 300 ms, so " \
        "its port would not make this run faster"
    yield "a short program", run(205, sample(ADVANCE, 40)), "0 entries", f"left: {short}", "blind."
    yield "a function in main()", run(1000, sample([inlined("cell", "carry", "main")], 200)), \
        "port about 700000: function first place carry "
    yield "a loop of OpenMP", run(1000, sample(at("main._omp_fn.0", "solve.c:9"), 200)), "port about 700000: this parallel loop first"
    yield "as many threads as their loop has", run(1000, threads(SETTLE, 80), threads(ADVANCE, 100, 99, 98, 97)), \
        "port about 200000: advance", "port about 100000: settle"
    yield "a thread that the first one waits for", run(1000, threads(SETTLE, 2), threads(ADVANCE, 0, 0, 190)), \
        "port about 650000: advance", "blind."
    yield "more threads than are told apart", run(1000, threads(ADVANCE, 0, 0, 0, 0, 0, 0, 0, 800),
                                                  sampling={"mode": "perf", "hz": 200, "threads_most": 11}), \
        "port about 700000: advance"
    idle = "what takes 900 ms: the program ran no code of its own then; it was in the kernel, or waited for a CPU, a file or a " \
        "program that it had started, which `hotpin run` can profile instead."
    yield "a shell", run(1000, sample(COPYING, 20)), "0 entries", f"blind: {idle}"
    yield "no sample at all", run(900), "0 entries", f"blind: {idle}"
    waited = {"pid": 1, "program": "solve", "exit_status": 0}
    yield "a busy machine", run(1000, sample(COPYING, 20), process={**waited, "cpu_wait_ns": 451 * MS}), \
        "left: the first thread waited 451 ms (45.1 %) for a CPU, since others ran.", "blind."
    yield "a machine that is not busy", run(1000, sample(COPYING, 20), process={**waited, "cpu_wait_ns": 450 * MS}), \
        "blind: " + idle.replace("a CPU, ", "")
    yield "no perf events", run(900, sampling={"mode": "none", "hz": 200, "why": "the kernel has no perf events"}), \
        "0 entries", "blind: 900 ms of host code (the kernel has no perf events)"


def outside_the_port():
    """Input, a check of the result and output are no reason for copies."""
    between = {"buffers": [OTHER, buffer(round_trips=trips(99, 396 * MIB, 300, 200, None, (1, 0)))],
               "gaps": [gap(("cuMemcpyDtoH_v2", DOWN), ("cuMemcpyHtoD_v2", UP), 100, 300)]}
    for before, after, says, alone in ((0, 0, "in 60 samples, and copies of 200 ms", True),
                                       (60, 0, "in 60 samples, mostly before the first copy or kernel, as input is", False),
                                       (2, 58, "mostly after the last copy or kernel, as a check of the result and output are", False),
                                       (29, 0, "in 60 samples", False)):
        made = {**sample(ADVANCE, 60), "before_cuda": before, "after_cuda": after}
        yield f"{before} before and {after} after", {"samples": [made], **between}, \
            *([f"port about 500000: {says}"] if alone else ["has port at most 500396", f"has port about 300000: {says}"])


def before_cuda():
    """Sampling begins with the first CUDA call; host code before it cannot be known."""
    program = "what 550 ms of host code does: it has no samples in functions of the program."
    early = "400 ms of it came before the first CUDA call, where sampling begins; the rest has no samples in"
    all_early = "what 550 ms of host code does: it came before the first CUDA call, where sampling begins."
    for ms, began, count, own, imports, expected in (
            (0, 100, 1, 10, None, program), (40, 100, 1, 10, None, program),
            (400, 500, 1, 10, None, f"what 550 ms of host code does: {early} functions of the program."),
            (545, 600, 1, 10, None, all_early), (580, 600, 1, 10, None, all_early),
            # Another thread had started CUDA.
            (400, 300, 1, 10, None, program), (400, None, 1, 10, None, program), (400, 500, 2, 10, None, program),
            (400, 500, 1, 60, None, None),
            (400, 500, 1, 10, 20, f"what 530 ms of host code does: {early} Python lines that could be ported."),
            (0, 500, 1, 10, 60, "what 490 ms of host code does: it has no samples in Python lines that could be ported."),
            (400, 500, 1, 30, 150, None)):
        more = {"sampling": {"mode": "perf", "hz": 200, "began_ns": began and began * MS},
                "gaps": [gap(None, ("cuInit", []), count, ms, ms)]}
        run = loop(samples=[sample(ADVANCE, own)], **more) if imports is None else \
            python([([LINE9], own * 5), (IN_IMPORT, imports)], **more)
        yield f"{ms} ms before {began}, {count} times, {own} samples, imports {imports}", run, \
            f"blind: {expected}" if expected else "blind.", *(["left: imports of Python modules take"] if imports and imports > 50 else [])
    early = {"gaps": [gap(None, ("cuInit", []), 1, 400, 400)], "sampling": {"mode": "perf", "hz": 200, "began_ns": 500 * MS}}
    yield "imports", python([([LINE9], 150), (IN_IMPORT, 150)], **early), \
        "left: imports of Python modules take 150 ms of CPU time (15.0 %) after the first CUDA call"
    yield "several threads import", python([([LINE9], 150), (IN_IMPORT, 900)], **early), "left: take 200 ms of CPU time (20.0 %)"
    yield "lines run after the begin", python([([LINE9], 500)], **early), "port about 200000"
    yield "lines without native samples", python([([LINE9], 100)], sampling={"mode": "none", "why": "perf_event_paranoid is 4"}), \
        "blind: no samples in Python lines that could be ported"


def calls():
    def made_calls(count=None):
        return [call("cuMemAlloc_v2", "allocate", count or 200, 30, 10), call("cuMemFree_v2", "free", count or 200, 15),
                call("cuMemHostAlloc", "allocate", 1, 90, 90), call("cuCtxSynchronize", "synchronize", count or 100, 40),
                call("cuMemcpyHtoD_v2", "copy", 100, 90)]

    gaps = [gap(("cuMemFree_v2", DOWN), ("cuMemAlloc_v2", MADE), 99, 1, 1)]
    yield "in a loop", {"calls": made_calls(), "gaps": gaps}, "allocate_once at most 34800: 400 calls | make at solve.c:5", \
        "synchronize_less at most 40200: 100 calls"
    # A call may wait for the device, and then hide host code.
    yield "no more than the device idles", {"calls": made_calls(), "split": {"calls_ns": 7 * MS, "host_ns": 20 * MS}}, \
        "allocate_once at most 27000", "synchronize_less at most 27000"
    yield "in no loop", {"calls": made_calls(15)}, "no allocate_once", "no synchronize_less"
    # Host memory that is new in each step is slower to write, too.
    yield "host memory", {"calls": [call("cuMemHostAlloc", "allocate", 200, 30, 10), call("cuMemFreeHost", "free", 200, 20, 5)]}, \
        "allocate_once about 35800: old host memory"


def pinned_memory():
    torch = [{"module": 1, "offset": 64}, {"module": 0, "offset": 64}]
    paths = {"modules": modules(["/nowhere/solve", "/env/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so"])}

    def known(cpus=8):
        return {**paths, "environment": {"torch_registers": True}, "process": {"pid": 1, "program": "solve", "rank": None, "cpus": cpus}}

    def pinned(frames=(MADE,), count=100, size=MIB, most=None, ms=50, registered=False, lines=(), **more):
        return {"buffers": [buffer("pinned", frames, python=list(lines), pinned={
            "registered": registered, "calls": count, "bytes": count * size, "powers_of_two": count, "used_bytes": 0,
            "unused_blocks": 0, "host_ns": ms * MS, "most_bytes": most or size, "held_bytes": 0})], **more}

    # The first block remains; host code next to the calls would be saved, too.
    yield "in a loop", pinned(), "allocate_once about 49700: pin memory outside the loop | make at solve.c:5 | 100 calls pinned 105 MB, 1.05 MB at once"
    yield "instead of the calls", pinned(calls=[call("cuMemHostAlloc", "allocate", 200, 30, 10)]), "allocate_once about 49700", "1 entries"
    yield "with other calls", pinned(calls=[call("cuMemAlloc_v2", "allocate", 200, 30, 10)]), "has allocate_once at most 20400", \
        "has allocate_once about 49700", "2 entries"
    yield "of a growing pool", pinned(most=51 * MIB), "no allocate_once"
    yield "by a line of Python", pinned(torch, lines=[{"file": "/home/me/train.py", "function": "step", "line": 9}], **paths), \
        "allocate_once about 49700: step at train.py:9"
    yield "at the start", pinned(count=15), "no allocate_once"
    yield "of nothing", pinned(size=0, most=0), "no allocate_once"
    setting = "PYTORCH_CUDA_ALLOC_CONF=pinned_use_cuda_host_register:True,pinned_num_register_threads"
    yield "of PyTorch", pinned(torch, 3, **known()), f"setting at most 50000: {setting}:8, for 3.15 MB"
    yield "of a PyTorch that lacks the setting", pinned(torch, 3, **paths), "no setting"
    yield "of PyTorch with the setting", pinned(torch, 3, registered=True, **known()), "no setting"
    yield "of others than PyTorch", pinned(count=3, **known()), "no setting"
    yield "in small blocks", pinned(torch, 3, MIB - 1, **known()), "no setting"
    yield "with four CPUs", pinned(torch, 3, **known(5)), f"setting at most 50000: {setting}:4"
    yield "with one CPU", pinned(torch, 3, **known(1)), "no setting"


def looks_wrong():
    """Misuse that is no suggestion: the first screen counts it, a table has its places."""
    def run(frees, ends):
        pinned = {"registered": False, "calls": 1, "bytes": MIB, "powers_of_two": 0, "used_bytes": MIB, "unused_blocks": 0, "host_ns": MS,
                  "most_bytes": MIB, "held_bytes": 0, "unwaited_frees": frees, "unwaited_at_end": ends, "unwaited_site": 1}
        return write("wrong.json", loop(buffers=[OTHER, buffer("pinned", pinned=pinned)]))

    for frees, ends, says in ((2, 0, "nothing waits for 2 downloads before memory is freed."),
                              (0, 1, "nothing waits for 1 download before the end."),
                              (1, 1, "nothing waits for 2 downloads before memory is freed or the end."), (0, 0, None)):
        first, everything = (tap.run("report", *more, run(frees, ends)).stdout for more in ([], ["--all"]))
        check(f"the first screen, {frees} frees and {ends} at the end", (f"  Looks wrong: {says}\n" in first) if says else
              "Looks wrong" not in first + everything and "LOOKS WRONG" not in everything, first)
    table = tap.run("report", "--csv", "wrong", run(2, 1)).stdout
    rows = [(row["what"], row["count"], row["download_line"], row["pinned_line"]) for row in csv.DictReader(io.StringIO(table))]
    places = ("solve.c:30", "solve.c:5")
    check("the table", rows == [("freed without a wait", "2", *places),
                                ("ended without a wait", "1", *places)], table)
    # Sites with equal places become one, so those behind them get other numbers.
    pinned = {"registered": False, "calls": 1, "host_ns": MS, "unwaited_frees": 1, "unwaited_at_end": 0, "unwaited_site": 2}
    sites = [site(place, copies("d2h", 1, MIB, MS)) for place in (MADE, MADE, DOWN, UP)]
    moved = loop(buffers=[OTHER, buffer("pinned", pinned=pinned)], sites=sites)
    table = tap.run("report", "--csv", "wrong", write("moved.json", moved)).stdout
    check("the table after sites were merged", [row["download_line"] for row in csv.DictReader(io.StringIO(table))] == ["solve.c:30"], table)
    names = []
    for rank, order in enumerate(((MADE, DOWN), (DOWN, UP))):
        moved = loop(buffers=[OTHER, buffer("pinned", pinned={**pinned, "unwaited_site": 1})],
                     sites=[site(place, copies("d2h", 1, MIB, MS)) for place in order])
        moved["process"].update(rank=str(rank), ranks=2)
        names.append(write(f"moved{rank}.json", moved))
    shown = tap.run("report", "--all", *names).stdout.split("ALL RANKS TOGETHER")[1]
    check("the sum of ranks does not name a site", "LOOKS WRONG" in shown and "download at" not in shown.split("LOOKS WRONG")[1].split("\n\n")[0], shown)
    shown = tap.run("report", "--all", run(2, 1)).stdout
    check("the report has it", re.search(r"LOOKS WRONG.*\n.*\n +2 +freed without a wait +download at solve\.c:30", shown), shown)


def buffers_of_python():
    """One place of a library allocates all of its arrays, so the line that uploads them names them."""
    crosses = trips(99, 396 * MIB, 300, 200, None, (1, 0))
    sites = [site(line(LINE9), copies("h2d", 100, 400 * MIB, 90 * MS)), site(line(LINE12), copies("d2h", 100, 400 * MIB, 110 * MS))]
    for name, module, trip, says in (("of a library", 1, crosses, r"<module> at x:9 \(uploads it\)"), ("of the program", 4, crosses, "ext.cpython"),
                                     ("without round trips", 1, None, "libtorch_cpu.so")):
        one = buffer(frames=[at(None, module=module)], round_trips=trip, h2d=made.total(100, MIB, MS))
        shown = tap.run("report", "--all", write("python.json", python([([LINE9], 20)], buffers=[OTHER, one], sites=sites)), COLUMNS=200).stdout
        check(f"a buffer {name}", re.search(rf"HOST BUFFERS.*\n.*\n.* {says}", shown), shown)


def small_copies():
    few = [site(UP, copies("h2d", 100, 4 * MIB, 90 * MS))]
    both = loop()["transfers"]
    one = {"sites": few, "transfers": both + [sizes("h2d", 4096, 1000, 4 * MIB, 50 * MS)]}
    # A step may have to read its result, as that of a convergence check.
    yield "of 4 KiB", one, "batch at most 51948: upload at solve.c:20 | no copy is needed before the last one"
    yield "that wait for kernels", {**one, "host": {"waiting_for_kernels_ns": 215 * MS}}, "batch at most 6993"
    yield "of 64 KiB", {"transfers": both + [sizes("h2d", 65536, 1000, 4 * MIB, 50 * MS)]}, "no batch"
    yield "too few", {"transfers": both + [sizes("h2d", 4, 99, 396, 50 * MS)]}, "no batch"
    # Their bytes still cross the bus when one copy moves them.
    for size, peak, saves in ((4000, 50, 51948), (1000000000, 50, 31998), (1000000000, None, 51948), (1000000000, 0, 51948),
                              (3000000000, 50, 0), (None, 50, 51948)):
        yield f"{size} bytes at {peak} GB/s", {
            "transfers": both + [sizes("h2d", 32768, 1000, size, 50 * MS)],
            "environment": {"peak_h2d_bytes_per_s": None if peak is None else peak * made.GB}}, \
            f"batch at most {saves}" if saves else "no batch"


def small_downloads():
    """A download behind a launch may decide the next one, so no copy can stand for all."""
    waits = [call("cuStreamSynchronize", "synchronize", 100, 20)]
    for launches, graphs, more, texts in (
            (500, 0, {}, ["batch at most 51948: 1 000 copies"]), (501, 0, {}, ["no batch", "synchronize_less at most 52000: download at solve.c:30"]),
            (300, 300, {}, ["no batch", "synchronize_less at most 52000: compute on the device what 1 000 downloads below 64 KiB decide"]),
            (None, 0, {}, ["batch at most 51948"]), (1000, 0, {"calls": waits}, ["no batch", "synchronize_less at most 72200: 1 000 downloads"]),
            (1000, 0, {"transfers": [sizes("d2h", 4, 99, 396, 50 * MS)]}, ["no batch", "no synchronize_less"])):
        yield f"{launches} launches of kernels, {graphs} of graphs, {len(more)} more", {
            "sites": [site(DOWN, copies("d2h", 1000, 4000, 50 * MS))], "transfers": [sizes("d2h", 4, 1000, 4000, 50 * MS)],
            "host": {"launches": launches, "graph_launches": graphs}, **more}, *texts


def copies_on_the_host():
    moved = [transfer("hotpin", "h2h", "unknown", 480, 480 * MIB, host_ns=700 * MS)]
    for split, saves in (({}, 700), ({"kernel_ns": 400 * MS}, 400)):
        yield f"{split}", {"transfers": moved, "sites": [site(MADE, copies("h2h", 480, 480 * MIB, 700 * MS))], "split": split}, \
            f"host_copy at most {saves}000: use memcpy() on the host | make at solve.c:5 | 480 copies from host to host, 503 MB"
    yield "none", {}, "no host_copy"


def unhashed():
    for name, kind, up, down, ms, known in (
            ("again and again", "heap", 201, 0, 90, True), ("a few times", "heap", 15, 0, 90, False), ("round trips", "heap", 201, 150, 90, False),
            ("all other memory", "other", 201, 0, 90, False), ("short", "heap", 201, 0, 9, False)):
        again = buffer(kind, h2d=made.total(up, up * 16 * MIB, ms * MS), follows=trips(down, 0, 0, 0))
        text = f"blind: whether {up} uploads of the same buffers ({ms}.0 ms) carry unchanged data: run it with HOTPIN_HASH=1"
        yield name, {"buffers": [OTHER, again], "split": {"host_ns": 50 * MS}}, text if known else "blind."
        yield f"{name}, hashed", {"buffers": [OTHER, again], "split": {"host_ns": 50 * MS},
                                  "repeats": repeat("duplicate", 0, 1, 1, 1)}, "blind."


def threads_without_a_split():
    """Times of several threads add up to more than the run: that is no saving."""
    many = [OTHER, buffer(round_trips=trips(99, 396 * MIB, 100, 3000, None, (1, 0)))]
    for threads, split, shown in ((2, None, False), (1, None, True), (2, {}, True), (None, None, False)):
        yield f"{threads} threads, split {split}", {
            "split": split, "split_why": "records are missing", "buffers": many, "host": {"threads": threads},
            "repeats": repeat("duplicate", 0, 99, 396 * MIB, 2000)}, \
            "has keep at most 1000000" if shown else "no keep", "has upload_once at most 1000000" if shown else "no upload_once"


def waits_in_copies():
    """Without the device's times, calls that are far slower than any copy wait for kernels: 168 MB take at most 168 ms."""
    moved = [transfer("hotpin", way, "pageable", 10, 80 * MIB, host_ns=450 * MS) for way in ("h2d", "d2h")]
    says = "left: calls that copy 168 MB take 900 ms, probably because they wait for kernels"
    for name, launches, waits, copy_ms, kept, left in (
            ("behind kernels", 400, None, 900, "about 168...: their calls probably wait for kernels", says),
            ("of a graph", 0, None, 900, "at most 900...", "left."), ("waits are known", 400, 700, 900, "at most 900...", None),
            ("copies of that size", 400, None, 150, "at most 150...", "left.")):
        yield name, {"split": None, "split_why": "no device times", "backend": {"kind": "interpose"}, "transfers": moved, "gaps_short": None,
                     "host": {"launches": launches, "threads": 1, "waiting_for_kernels_ns": waits and waits * MS,
                              "copy_calls_ns": copy_ms * MS},
                     "repeats": repeat("duplicate", 0, 10, 80 * MIB, copy_ms // 2),
                     "buffers": [OTHER, buffer(round_trips=trips(10, 80 * MIB, 5, copy_ms))]}, \
            f"keep {kept}", "upload_once about 84..." if kept.startswith("about") else f"upload_once at most {copy_ms // 2}...", \
            *([left] if left else [])
    small = [sizes("d2h", 1024, 1000, 1000 * 1024, 900 * MS), sizes("h2d", 1024, 1000, 1000 * 1024, 90 * MS)]
    yield "small copies", {"split": None, "split_why": "no device times", "transfers": small, "gaps_short": None,
                           "host": {"launches": 400, "threads": 1, "waiting_for_kernels_ns": None}}, "batch at most 99..."


def host_work_remains():
    """120,000 launches and 40,000 small downloads, as measured on an H100: 500 ms were saved."""
    for name, threads, launch, synchronize, polls, rank, saves in (
            ("one thread launches", 1, 735, 0, 0, None, 877), ("a run that does not say so", None, 735, 0, 0, None, 1189),
            ("several threads", 2, 735, 0, 0, None, 1189), ("a rank may wait for others", 1, 735, 0, 0, "0", 1189),
            ("a program that polls", 1, 735, 0, 100, None, 1189), ("waits get shorter", 1, 735, 400, 0, None, 1189),
            ("some of the idle time", 1, 735, 200, 0, None, 1077), ("launches take less", 1, 100, 0, 0, None, 1189),
            ("calls are not known", 1, None, 0, 0, None, 1189)):
        known = [call("cuLaunchKernel", "launch", 120002, launch or 0), call("cuMemcpyDtoH_v2", "copy", 40001, 547),
                 call("cuInit", "start_up", 1, 220, 220), call("cuCtxSynchronize", "synchronize", 3, synchronize),
                 call("cuEventQuery", "stream", polls, 0, 0)]
        yield name, {"wall_ns": 1637 * MS, "what_if": bounds(498, 57, 498), "calls": None if launch is None else known,
                     "split": {"host_ns": 117 * MS, "startup_ns": 229 * MS, "calls_ns": 935 * MS, "transfer_ns": 57 * MS,
                               "kernel_ns": 299 * MS},
                     "host": {"copy_calls_ns": 530 * MS, "waiting_for_kernels_ns": 32 * MS, "overhead_ns": 441 * MS,
                              "launches": 120002, "threads": threads},
                     "process": {"pid": 1, "program": "solve", "rank": rank},
                     "transfers": loop()["transfers"] + [sizes("d2h", 4, 40001, 160004, 530 * MS)]}, "no batch", \
            f"synchronize_less at most {saves}...: compute on the device what 40 001 downloads below 64 KiB decide"


def asynchronous():
    """A call of an asynchronous copy returns before the copy: an estimate by bytes, no bound."""
    for count, synchronous, ms, size, device, saves in (
            (100, 0, 1, MIB, 200, "about 100..."), (100, 99, 1, MIB, 200, "about 100..."), (100, 100, 1, MIB, 200, "at most 1..."),
            # Of pageable memory the call takes longer than the device.
            (100, 0, 150, MIB, 200, "at most 150..."),
            (100, 0, 1, MIB, None, "at most 1..."), (None, None, 1, MIB, 200, "at most 1..."),
            # More than all bytes: a file is not to be believed.
            (100, 0, 1, (1 << 63) - 1, 200, "about 200..."), (100, 0, 1, None, 200, "at most 1...")):
        run = {"gaps_short": None, "transfers": [
            transfer("cupti", "h2d", "pageable", 100, 2 * MIB, busy_ns=device and device * MS),
            transfer("hotpin", "h2d", "pinned", count, sync_count=synchronous)]}
        name = f"{count} copies, {synchronous} synchronous, {ms} ms, {size} bytes, {device} ms on the device"
        yield f"{name}, unchanged", {**run, "repeats": repeat("duplicate", 0, 1, size, ms)}, f"upload_once {saves}"
        yield f"{name}, kept", {**run, "buffers": [OTHER, buffer(round_trips=trips(1, size, 0, ms))]}, f"keep {saves}"


def bounds_hold():
    """As on an H200: the driver's time alone would have predicted less than the change saved."""
    for kind, wall, driver, count, launches, saved in (("keep", 74, 63, 99, 100, 62), ("upload_once", 49, 34, 99, 100, 36),
                                                       ("batch", 731, 607, 65536, 1, 717),
                                                       ("synchronize_less", 608, 245, 50000, 50000, 301)):
        # The device idles for 22 us in each of the 200 copies.
        run = {"wall_ns": wall * MS, "split": {**dict.fromkeys(loop()["split"], 0), "calls_ns": wall * MS},
               "gaps_short": {"count": count, "total_ns": count * 1680, "longest_ns": 0},
               "host": {"launches": launches, "copy_calls_ns": None, "overhead_ns": 200 * 22000}}
        if kind == "upload_once":
            run["repeats"] = repeat("duplicate", 0, count, 0, driver)
        if kind == "batch":
            run["transfers"] = loop()["transfers"] + [sizes("h2d", 256, count, 256 * count, driver * MS, "pinned")]
        if kind == "keep":
            run["buffers"] = [OTHER, buffer(round_trips=trips(count, 0, 0, driver))]
        if kind == "synchronize_less":
            run["calls"] = [call("cuCtxSynchronize", "synchronize", count, driver)]
        yield kind, run, f"{kind} at most {saved}000 to {saved * 1250}"
    # If the host code between the calls takes longer, it may be saved, too.
    yield "long gaps", {**run, "gaps_short": {"count": 50000, "total_ns": 250 * MS, "longest_ns": 0}}, "synchronize_less at most 495000"


def overlaps_and_ends():
    yield "overlap", {"what_if": bounds(None, 45, None)}, "overlap at most 45000", "1 worth"
    yield "too little of it", {"what_if": bounds(None, 9, None)}, "overlap at most 9000", "0 worth"
    yield "none", {"what_if": bounds(None, 0, None)}, "no overlap"
    port = {**dict.fromkeys(loop()["split"], 0), "host_ns": 50 * MS, "startup_ns": 700 * MS, "kernel_ns": 250 * MS}
    yield "a port that is done", {"split": port}, "done", "0 entries", "left: CUDA start-up takes 700 ms (70.0 %)", \
        "left: kernels take 250 ms (25.0 %)"
    yield "copies that wait for kernels", {"split": port, "host": {"waiting_for_kernels_ns": 210 * MS}}, \
        "left: kernels take 250 ms (25.0 %), and copies wait 210 ms for them; use a kernel profiler"
    yield "a change that saves 1 %", {"split": port, "what_if": bounds(0, 10, 0)}, "not done"
    blind = {"split": {**port, "host_ns": 350 * MS, "startup_ns": 400 * MS}}
    yield "host code that was not sampled", blind, "not done", "blind: 350 ms of host code"
    yield "a program that failed", {**blind, "process": {"pid": 1, "program": "x", "exit_status": 1}}, "not done", "0 entries", "blind."
    # Unknown is neither 0 nor a saving.
    yield "no split", {"split": None, "split_why": "records are missing", "host": {"copy_calls_ns": None}}, \
        "0 entries", "not done", "blind: it is not split", "left."
    yield "before any port", {"backend": {"kind": "none"}}, "0 entries", "not done"
    many = [{"kind": "duplicate", "site": None, "buffer": i, "count": 1, "bytes": 1, "host_ns": i * 37 % 144 * 10 * MS}
            for i in range(144)]
    yield "too many: the smallest are dropped, and none exceeds the wall time", \
        {"repeats": {"hashed_copies": 0, "sites": many}, "buffers": [OTHER] * 144}, "48 entries", "first 1000000", "last 960002"


def holds(expected, entries, text):
    """True if the expectation is met."""
    said = {name: re.search(rf"^  {word}: (.*(\n    .*)*)", text, re.M) for name, word in (("left", "Left"), ("blind", "Not known"))}
    word, _, rest = expected.partition(" ")
    if word.rstrip(":.") in said:
        found = said[word.rstrip(":.")]
        return found is None if word.endswith(".") else found is not None and rest in " ".join(found[1].split())
    if expected in ("done", "not done"):
        return ("This port is done" in text) == (expected == "done")
    if rest == "entries":
        return len(entries) == int(word)
    if rest == "worth":
        return sum(int(entry["saves_ns"]) >= 10 * MS for entry in entries) == int(word)
    if word in ("first", "last"):
        return int(entries[0 if word == "first" else -1]["saves_ns"]) // 1000 == int(rest)
    return False


def is_entry(expected, entry):
    """True if the entry is the one of "about 70000: text | text"."""
    figure, _, parts = expected.partition(": ")
    basis, saves = re.fullmatch(r"(about|at most) (.*)", figure).groups()
    us = int(entry["saves_ns"]) // 1000
    low, _, high = saves.partition(" to ")
    right = us // 1000 == int(low[:-3]) if low.endswith("...") else int(low) <= us <= int(high or low)
    text = f"{entry['what']} place {entry['place']}. {entry['how']} {entry['assumes']}"
    text = text.replace(f"place {entry['place']}.", f"place {entry['place']}. place {entry['place']} at")
    return right and (entry["basis"] == "estimate") == (basis == "about") and \
        all(part.strip(" ") in text for part in parts.split(" | "))


def faults(expectations, entries, text):
    kinds = {}
    for expected in expectations:
        kind = re.match(r"(has )?([a-z_]+) (about|at most) ", expected)
        if kind:
            kinds.setdefault(kind[2], []).append((kind[1], expected[kind.start(3):]))
        elif expected.startswith("no "):
            kinds[expected[3:]] = []
        elif not holds(expected, entries, text):
            yield expected
    for kind, wanted in kinds.items():
        found = [entry for entry in entries if entry["kind"] == kind]
        if len(found) != len(wanted) and not any(some for some, _ in wanted):
            yield f"{len(wanted)} entries of {kind}"
        for i, (some, expected) in enumerate(wanted):
            if not any(is_entry(expected, entry) for entry in (found if some else found[i:i + 1])):
                yield f"{kind} {expected}"


def stored():
    """`hotpin resolve` stores them for programs."""
    write("advice.json", loop(what_if=bounds(150, 9, None)))
    tap.run("resolve", "advice.json")
    seen = [(entry["kind"], entry["basis"], entry["saves_ns"] // MS, entry["saves_tenths_of_a_percent"],
             entry["hotpin_run_does_it"], entry["is_worth"]) for entry in tap.loaded("advice.json")["advice"]]
    check("stored", seen == [("pin", "bound", 150, 150, True, True), ("overlap", "bound", 9, 9, False, False)], seen)


def main():
    for group in (pins, uploads, keeps, keeps_of_one_pair_of_sites, ports, copies_of_a_function, vague_bounds, ports_of_a_loop, ports_without_samples, first_stage,
                  outside_the_port, python_lines,
                  python_lines_that_call_cuda, python_texts, before_cuda, calls, pinned_memory, small_copies, small_downloads, copies_on_the_host,
                  unhashed, threads_without_a_split, waits_in_copies, host_work_remains, asynchronous,
                  bounds_hold, overlaps_and_ends):
        wrong = []
        for name, run, *expectations in group():
            file = write("advice.json", run if "schema" in run else loop(**run))
            table = tap.run("report", "--csv", "advice", file)
            entries = list(csv.DictReader(io.StringIO(table.stdout.replace("\\x3b", ";"))))
            text = tap.run("report", "--all", file, COLUMNS=1000).stdout
            missed = list(faults(expectations, entries, text))
            if missed:
                wrong += [name, *missed, table.stdout + table.stderr, text.partition("Saves")[2]]
        check(group.__name__, not wrong, *wrong)
    looks_wrong()
    buffers_of_python()
    stored()
    tap.end()


main()
