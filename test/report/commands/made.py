"""Made-up profiles, for tests of the commands that read profiles.

The figures are round, so that the expected output can be computed manually.
"""
import copy

SECOND = 1_000_000_000
MILLI = 1_000_000
GB = 1_000_000_000
MIB = 1 << 20


def total(count, size, ns):
    return {"count": count, "bytes": size, "host_ns": ns}


def row(view, direction, memory, count, size, ns, sizes):
    """Returns an entry of transfers[]; sizes: {from_bytes: (count, bytes)}, with proportional
    times."""
    parts = [{"from_bytes": start, "count": n, "bytes": b, "busy_ns": ns * b // size if size else 0}
             for start, (n, b) in sorted(sizes.items())]
    made = {"view": view, "direction": direction, "memory": memory, "count": count, "bytes": size,
            **({"sizes": parts} if parts else {})}
    if view == "cupti":
        return {**made, "busy_ns": ns, "untimed_bytes": 0}
    return {**made, "host_ns": ns, "sync_count": count, "sync_bytes": size, "sync_ns": ns}


def frame(module, offset, **more):
    return {"module": module, "offset": offset, **more}


def bounds(wall, pinned, overlapped, both, none):
    words = {"all_pinned": "copies run at the link's peak, and pinning costs nothing",
             "all_overlapped": "transfers and kernels never wait for each other",
             "pinned_and_overlapped": "both", "no_transfers": "data stays on the device"}
    return [{"name": name, "wall_ns": bound, "saves_ns": wall - bound, "assumes": words[name]}
            for name, bound in zip(words, (pinned, overlapped, both, none))]


def states(host, transfer=0, kernel=0, overlap=0, calls=0, startup=0):
    return {"host_ns": host, "startup_ns": startup, "calls_ns": calls, "transfer_ns": transfer,
            "kernel_ns": kernel, "overlap_ns": overlap}


def activity(split, bin_ns):
    """Returns the states one after the other, as if there were no loop."""
    bins, order = [], ("host_ns", "startup_ns", "calls_ns", "transfer_ns", "kernel_ns", "overlap_ns")
    left = bin_ns
    for at, name in enumerate(order):
        rest = split[name]
        while rest > 0:
            if not bins or left == 0:
                bins.append([0] * 9)
                left = bin_ns
            part = min(rest, left)
            bins[-1][at] += part
            rest, left = rest - part, left - part
    return {"bin_ns": bin_ns, "bins": bins}


def call(name, kind, count, total, longest):
    return {"name": name, "class": kind, "count": count, "total_ns": total, "longest_ns": longest}


def profile(stage, wall, split, transfers, kernels, **more):
    """Returns a profile of CUPTI with every field; more: other fields of the root."""
    h2d = [part for part in transfers if part["view"] == "cupti" and part["direction"] == "h2d"]
    d2h = [part for part in transfers if part["view"] == "cupti" and part["direction"] == "d2h"]
    count = sum(part["count"] for part in h2d + d2h)
    size = sum(part["bytes"] for part in h2d + d2h)
    busy = sum(part["busy_ns"] for part in h2d + d2h)
    made = {
        "schema": "hotpin.profile", "schema_version": "2.0", "hotpin_version": "0.1.0",
        "state": "ended", "stage": stage,
        "process": {"pid": 4711, "program": "heat", "host": "node17", "rank": None,
                    "ended_utc": "20261121-101500", "ranks": None,
                    "arguments_hash": "9f86", "cpus": 16},
        "environment": {"device": "Example GPU", "driver_version": 13000, "stand_in": False,
                        "cupti_version": 130001, "cupti_path": "/usr/lib/libcupti.so.13",
                        "peak_h2d_bytes_per_s": 50 * GB, "peak_d2h_bytes_per_s": 50 * GB,
                        "peak_source": "link"},
        "backend": {"kind": "cupti", "why": None},
        "options": {"HOTPIN": "1", "HOTPIN_PIN": "1", "HOTPIN_PROFILE": "summary",
                    "HOTPIN_OUT": "run.json", "HOTPIN_STAGE": stage or ""},
        "wall_ns": wall,
        "split": states(*split), "activity": activity(states(*split), 256 * MILLI),
        "host": {"copy_calls_ns": busy, "copying_ns": busy, "waiting_for_kernels_ns": 0,
                 "overhead_ns": 0, "waits": 10, "waits_ns": split[2],
                 "launches": sum(k["count"] for k in kernels), "graph_launches": 0,
                 "staging_ns": 0},
        "transfers": transfers,
        "coverage": {"hotpin_copies": count, "hotpin_bytes": size, "cupti_copies": count,
                     "cupti_bytes": size},
        "promotion": {"promoted_bytes": 0, "program_pinned_bytes": 0, "cupti_pinned_bytes": 0},
        "memsets": {"count": 0, "bytes": 0, "busy_ns": 0},
        "kernel_runs": {"count": sum(k["count"] for k in kernels), "bytes": 0,
                        "busy_ns": sum(k["busy_ns"] for k in kernels)},
        "devices": 1, "kernels": kernels,
        "modules": [{"path": "/nowhere/heat", "build_id": "5b1f0c7e9a"},
                    {"path": "/nowhere/libstdc++.so.6", "build_id": None}],
        "sites": [], "sites_lost": 0, "buffers": [], "repeats": None, "what_if": [],
        "effect": {"promoted_copies": 0, "promoted_bytes": 0, "staged_copies": 0,
                   "staged_bytes": 0, "deferred_copies": 0, "waits_removed": 0, "pins": 0,
                   "unpins": 0, "saved_ns": 0, "spent_ns": 0},
        "ranges": [], "events": None,
        "records": {"read": count + 100, "dropped": 0, "buffers": 1, "buffers_discarded": 0,
                    "incomplete": 0, "untimed": 0, "outside_run": 0, "late_ns": 0},
        "overhead": {"start_ns": 10 * MILLI, "callbacks_ns": 0, "appends_ns": 0},
        "calls": [call("cuInit", "start_up", 1, 100 * MILLI, 100 * MILLI),
                  call("cuLaunchKernel", "launch", sum(k["count"] for k in kernels), 5 * MILLI, MILLI),
                  call("cuMemcpyHtoD_v2", "copy", count, busy, busy // 2)],
        "counters": {"pins": 0, "copies_passed": count}, "warnings": [],
        "truncated": False,
    }
    made.update(more)
    return made


def kernel(name, count, ns):
    return {"name": name, "count": count, "busy_ns": ns, "longest_ns": ns // count * 2}


def sampled(**more):
    """Returns first() with samples of host code: of a file, of the driver, of generated code."""
    made = first()
    made["modules"].append({"path": "/nowhere/libcuda.so.580.159", "build_id": None})

    def chain(count, *frames, **also):
        return {"frames": list(frames), "first_thread": count, "other_threads": 0, **also}

    jit = {"module": None, "offset": 0x7f0000001000, "name": "step in x.py"}
    made["samples"] = [
        chain(597, frame(0, 0x5000), frame(0, 0x5100, guessed=True)),
        chain(398, jit, frame(0, 0x5100, guessed=True), {**jit, "guessed": True}),
        chain(99, frame(2, 0x9000)), chain(100, frame(2, 0x9100), frame(0, 0x5100, guessed=True)),
        chain(1, frame(0, 0x5200), folded=True),
        {**chain(0, {"module": None, "offset": 77}), "other_threads": 199}]
    made["sampling"] = {
        "mode": "perf", "why": None, "hz": 199, "began_ns": 5, "samples": 1394, "empty": 0,
        "lost": 0, "dropped": 0, "threads_most": 4,
        "threads_refused": 0, "threads_at_once": 256, "in_turn": False, **more}
    return made


def unsampled():
    """Returns a profile without samples, because the kernel does not allow them."""
    made = first()
    made["samples"] = None
    made["sampling"] = {"mode": "none", "why": "perf_event_open: Permission denied"}
    return made


def trips(count, size, host, copies, **more):
    return {"count": count, "bytes": size, "host_ns": host, "copy_ns": copies, **more}


def ported_next():
    """Returns sampled() with downloads that are uploaded again, and most samples in one function.
    """
    made = sampled()
    made["options"]["HOTPIN_PIN"] = "0"
    for buffer in made["buffers"]:
        buffer.update(round_trips=trips(0, 0, 0, 0), follows=trips(0, 0, 0, 0, after=None))
    made["buffers"][0]["round_trips"] = trips(99, 15 * GB, 3 * SECOND, 5 * SECOND)
    made["gaps"] = [{"before": {"call": "cuMemcpyDtoH_v2", "frames": [frame(0, 0x4100)]},
                     "after": {"call": "cuMemcpyHtoD_v2", "frames": [frame(0, 0x4020)]}, "count": 99,
                     "total_ns": 3 * SECOND, "longest_ns": 40 * MILLI}]
    made["calls"] += [call("cuMemAlloc_v2", "allocate", 100, 600 * MILLI, 10 * MILLI),
                      call("cuMemFree_v2", "free", 100, 300 * MILLI, 10 * MILLI)]
    return made


STEP, NORM = "_Z9heat_stepPKfPfi", "_ZN4heat4normIfEEvPKT_Pfi"


def first():
    """One kernel on the device, the rest on the CPU, pageable copies around each run."""
    return profile(
        "1: one kernel", 12 * SECOND, [5800 * MILLI, 4 * SECOND, 1 * SECOND, 0,
                                       1 * SECOND, 200 * MILLI],
        [row("cupti", "h2d", "pageable", 200, 24 * GB, 2400 * MILLI,
             {4096: (100, 409_600), 64 * MIB: (100, 24 * GB - 409_600)}),
         row("cupti", "d2h", "pageable", 100, 16 * GB, 1600 * MILLI, {128 * MIB: (100, 16 * GB)}),
         row("hotpin", "h2d", "pageable", 200, 24 * GB, 2900 * MILLI, {}),
         row("hotpin", "d2h", "pageable", 100, 16 * GB, 2100 * MILLI, {})],
        [kernel(STEP, 100, 1 * SECOND)],
        sites=[{"frames": [frame(0, 0x4020), frame(0, 0x3000)],
                "rows": [{"direction": "h2d", "memory": "pageable", "count": 200,
                          "bytes": 24 * GB, "host_ns": 2900 * MILLI, "sync_count": 200,
                          "sync_ns": 2900 * MILLI}]},
               {"frames": [frame(0, 0x4100)],
                "rows": [{"direction": "d2h", "memory": "pageable", "count": 100,
                          "bytes": 16 * GB, "host_ns": 2100 * MILLI, "sync_count": 100,
                          "sync_ns": 2100 * MILLI}]}],
        buffers=[{"kind": "heap", "frames": [frame(1, 0xb000), frame(0, 0x3f00, guessed=True)],
                  "largest_bytes": 160_000_000, "h2d": total(100, 24 * GB, 2900 * MILLI),
                  "d2h": total(100, 16 * GB, 2100 * MILLI), "promoted_bytes": 0, "pins": 0,
                  "pin_ns": 0, "saved_ns": 0, "could_save_ns": 3200 * MILLI},
                 {"kind": "static", "frames": [frame(0, 0x80200)], "largest_bytes": None,
                  "h2d": total(100, 409_600, 2 * MILLI), "d2h": total(0, 0, 0),
                  "promoted_bytes": 0, "pins": 0, "pin_ns": 0, "saved_ns": 0,
                  "could_save_ns": 0}],
        repeats={"hashed_copies": 200, "duplicates": total(99, 11 * GB, 1300 * MILLI),
                 "ping_pong": total(40, 4 * GB, 600 * MILLI),
                 "sites": [{"kind": "duplicate", "site": 0, "buffer": 0, **total(99, 11 * GB,
                                                                                1300 * MILLI)}]},
        what_if=bounds(12 * SECOND, 8800 * MILLI, 11 * SECOND, 8 * SECOND, 8 * SECOND))


def second():
    """The same copies, from buffers that hotpin pinned."""
    return profile(
        "2: the same, pinned", 8800 * MILLI,
        [6 * SECOND, 800 * MILLI, 1 * SECOND, 0, 1 * SECOND],
        [row("cupti", "h2d", "pinned", 200, 24 * GB, 480 * MILLI,
             {4096: (100, 409_600), 64 * MIB: (100, 24 * GB - 409_600)}),
         row("cupti", "d2h", "pinned", 100, 16 * GB, 320 * MILLI, {128 * MIB: (100, 16 * GB)}),
         row("hotpin", "h2d", "promoted", 200, 24 * GB, 500 * MILLI, {}),
         row("hotpin", "d2h", "promoted", 100, 16 * GB, 340 * MILLI, {})],
        [kernel(STEP, 100, 1 * SECOND)],
        buffers=[{"kind": "heap", "frames": [frame(1, 0xb000), frame(0, 0x3f00, guessed=True)],
                  "largest_bytes": 160_000_000, "h2d": total(100, 24 * GB, 500 * MILLI),
                  "d2h": total(100, 16 * GB, 340 * MILLI), "promoted_bytes": 40 * GB, "pins": 2,
                  "pin_ns": 20 * MILLI, "saved_ns": 3200 * MILLI, "could_save_ns": 0}],
        promotion={"promoted_bytes": 40 * GB, "program_pinned_bytes": 0,
                   "cupti_pinned_bytes": 40 * GB},
        effect={"promoted_copies": 300, "promoted_bytes": 40 * GB, "staged_copies": 0,
                "staged_bytes": 0, "deferred_copies": 40,
                "waits_removed": 38, "ahead_ns": 21 * MILLI, "pins": 2, "unpins": 0,
                "saved_ns": 3180 * MILLI, "spent_ns": 9 * MILLI},
        counters={"pins": 2, "copies_passed": 0},
        what_if=bounds(8800 * MILLI, 8800 * MILLI, 8 * SECOND, 8 * SECOND, 8 * SECOND))


def third():
    """Everything on the device: one upload, one download."""
    return profile(
        "3: all kernels", 3 * SECOND, [700 * MILLI, 40 * MILLI, 2 * SECOND, 60 * MILLI,
                                       200 * MILLI],
        [row("cupti", "h2d", "pinned", 2, 3 * GB, 60 * MILLI, {1024 * MIB: (2, 3 * GB)}),
         row("cupti", "d2h", "pageable", 100, 400, 40 * MILLI, {4: (100, 400)}),
         row("hotpin", "h2d", "promoted", 2, 3 * GB, 62 * MILLI, {}),
         row("hotpin", "d2h", "pageable", 100, 400, 45 * MILLI, {})],
        [kernel(STEP, 100, 900 * MILLI), kernel(NORM, 100, 1100 * MILLI)],
        promotion={"promoted_bytes": 3 * GB, "program_pinned_bytes": 0,
                   "cupti_pinned_bytes": 3 * GB},
        ranges=[{"name": "set up", "domain": None, "entered": 1, "wall_ns": 600 * MILLI,
                 "split": states(600 * MILLI),
                 "h2d": total(0, 0, 0), "d2h": total(0, 0, 0), "launches": 0},
                {"name": "step", "domain": "solver", "entered": 100, "wall_ns": 2300 * MILLI,
                 "split": None, "h2d": total(2, 3 * GB, 62 * MILLI),
                 "d2h": total(100, 400, 45 * MILLI), "launches": 200}],
        what_if=bounds(3 * SECOND, 3 * SECOND, 2960 * MILLI, 2960 * MILLI, 2960 * MILLI))


LOSS = "CUPTI recorded 80 of 100 launched kernels: no split of the wall time"


def lossy():
    """CUPTI lost kernels: its records stay, but the wall time is not split."""
    made = first()
    made.update(split=None, split_why=LOSS, warnings=[LOSS])
    made["kernels"][0]["count"] = made["kernel_runs"]["count"] = 80
    made["host"].update(copying_ns=None, waiting_for_kernels_ns=None, overhead_ns=None)
    return made


def without_device():
    """Another tool used CUPTI: nothing is known of the device."""
    made = third()
    made.update(split=None, kernels=None, kernel_runs=None, memsets=None, devices=None, clock=None,
                records=None, sites=None, buffers=None, ranges=[],
                backend={"kind": "interpose", "why": "HOTPIN_CUPTI is off"},
                transfers=[part for part in made["transfers"] if part["view"] == "hotpin"],
                warnings=["no device times: HOTPIN_CUPTI is off"])
    made["coverage"].update(cupti_copies=None, cupti_bytes=None)
    made["promotion"].update(cupti_pinned_bytes=None)
    made["environment"].update(cupti_version=None, cupti_path=None, peak_h2d_bytes_per_s=None,
                               peak_d2h_bytes_per_s=None, peak_source=None)
    made["host"].update(copying_ns=None, waiting_for_kernels_ns=None, overhead_ns=None,
                        staging_ns=None)
    made["what_if"] = [{**bound, "wall_ns": None, "saves_ns": None} for bound in made["what_if"]]
    return made


def killed():
    """The profile so far of a rank that was killed, with another tool's CUPTI."""
    made = without_device()
    made.update(state="running", stage='2: all kernels "<b>" \x1b[31m')
    made["process"].update(rank="1", ranks=2)
    made["backend"]["why"] = "CUPTI is in use by another tool"
    made["overhead"].update(background_ns=None)
    return made


def rank(number, of, slower=0):
    made = third()
    made["process"].update(rank=str(number), ranks=of, pid=4711 + number)
    made["wall_ns"] += slower
    made["split"]["host_ns"] += slower
    return made


def launcher():
    """The profile of mpirun or torchrun itself, run by hotpin."""
    made = third()
    made["process"].update(program="torchrun", pid=4700)
    made.update(kernels=[], transfers=[], sites=[], buffers=[], backend={"kind": "none",
                                                                         "why": "no device used"})
    return made


def events(rows, names, tracks, sites=None):
    """Returns third() with this timeline."""
    made = third()
    made["events"] = {"dropped": 0, "shortest_ns": 0, "names": names, "tracks": tracks,
                      "fields": ["kind", "track", "start_ns", "duration_ns", "name", "bytes",
                                 "site"], "rows": rows}
    if rows and len(rows[0]) == 9:
        made["events"]["fields"] += ["call_track", "call_ns"]
    if sites is not None:
        made["sites"] = sites
    return made


MICRO = 1000


def two_devices():
    """A timeline: 100 kernels of 1 to 100 us on two streams of one device, and copies on another device.  CUPTI gave
    one kernel no name."""
    stream = {"kind": "stream", "device": 0, "context": 1, "stream": 7, "tid": None, "name": None}
    thread = {"kind": "thread", "device": None, "context": None, "stream": None, "tid": 4711, "name": "heat"}
    rows = [[0, i % 2, i * MILLI, (i + 1) * 1000, 2, None, None] for i in range(100)]
    rows += [[0, 1, 0, 500, 4, None, None], [1, 2, 5, 70, 1, 900, None], [1, 2, 45, 50, 1, 100, None],
             [4, 3, 7, 11, 3, None, None], [3, 3, 20, 9, 0, 900, 0]]
    made = events(rows, ["copy h2d promoted", "h2d pinned", STEP, "wait", ""],
                  [stream, {**stream, "stream": 8}, {**stream, "device": 1}, thread], first()["sites"])
    made["kernels"][1]["name"] = None
    return made


def looped(steps):
    """A timeline: each millisecond has an upload, a kernel, a download, and 300 us of host code.
    100 us of the first one are CUDA's start-up."""
    rows = []
    for step in range(steps):
        at = step * MILLI
        rows += [[3, 1, at + 200 * MICRO, 200 * MICRO, 0, 1 << 20, 0],
                 [1, 0, at + 210 * MICRO, 180 * MICRO, 1, 1 << 20, None],
                 [0, 0, at + 400 * MICRO, 200 * MICRO, 2, None, None],
                 [3, 1, at + 600 * MICRO, 300 * MICRO, 3, 1 << 20, 1],
                 [1, 0, at + 610 * MICRO, 270 * MICRO, 4, 1 << 20, None]]
    rows += [[6, 1, 0, 100 * MICRO, 6, None, None], [7, 3, 50 * MICRO, 20 * MICRO, 7, None, None]]
    rows.append([5, 2, 0, steps * MILLI // 2, 5, None, None])
    track = {"device": None, "context": None, "stream": None, "tid": None, "name": None}
    one = events(rows, ["copy h2d pageable", "h2d pageable", STEP, "copy d2h pageable",
                        "d2h pageable", "first half", "cuInit", "pin"],
                 [{**track, "kind": "stream", "device": 0, "context": 1, "stream": 7},
                  {**track, "kind": "thread", "tid": 4711, "name": "main"},
                  {**track, "kind": "ranges"}, {**track, "kind": "hotpin"}], first()["sites"])
    one.update(wall_ns=steps * MILLI, what_if=[],
               split=states(300 * MICRO * steps - 100 * MICRO, 450 * MICRO * steps,
                            200 * MICRO * steps, 0, 50 * MICRO * steps, 100 * MICRO))
    one["activity"] = activity(one["split"], max(1, steps * MILLI // 400))
    ends = [{"call": name, "frames": site["frames"]}
            for name, site in zip(("cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2"), one["sites"])]
    one["gaps"] = [{"before": None, "after": ends[0], "count": 1, "total_ns": 200 * MICRO,
                    "longest_ns": 200 * MICRO},
                   {"before": ends[1], "after": ends[0], "count": steps - 1,
                    "total_ns": (steps - 1) * 300 * MICRO, "longest_ns": 300 * MICRO},
                   {"before": ends[0], "after": ends[1], "count": steps,
                    "total_ns": steps * 100 * MICRO, "longest_ns": 100 * MICRO}]
    return one


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\x1b]0;t\x07\"'&\u202e"


def hostile(text=HOSTILE):
    """Every text that a program can choose is an attack."""
    made = copy.deepcopy(first())
    made["stage"] = "=1+1" + text
    made["process"].update(program=text, host=text, rank=text)
    made["environment"].update(device=text, cupti_path=text, peak_source=text)
    made["options"]["HOTPIN_STAGE"] = text
    made["kernels"] = [kernel("=cmd|' /C calc'!A0" + text, 1, 7), kernel("-" + text, 1, 5),
                       kernel("_Z" + text, 1, 3), kernel("@SUM(A1)", 1, 2)]
    made["modules"] = [{"path": "/nowhere/" + text, "build_id": text},
                       {"path": "-e/etc/passwd", "build_id": None}]
    made["names"] = [{"module": place["module"], "offset": place["offset"] - 1, "function": text,
                      "file": "/" + text, "line": 7} for site in made["sites"] for place in site["frames"]]
    made["buffers"][1].update(kind="file", file=text)
    made["warnings"] = [text]
    made["hotpin_version"] = text
    made["counters"][text] = 1
    made["calls"] = [call(text, "other", 5, 10, 2)]
    made["what_if"][0].update(assumes=text)
    made["ranges"] = [{"name": text, "domain": text, "entered": 1, "wall_ns": 5,
                       "split": None, "h2d": total(0, 0, 0), "d2h": total(0, 0, 0),
                       "launches": 0}]
    made["events"] = {"dropped": 0, "shortest_ns": 0, "names": [text],
                      "tracks": [{"kind": "thread", "device": None, "context": None,
                                  "stream": None, "tid": 1, "name": text}],
                      "fields": ["kind", "track", "start_ns", "duration_ns", "name", "bytes",
                                 "site"],
                      "rows": [[3, 0, 1000, 50, 0, 100, 0]]}
    return made


def full():
    """A profile with an entry in every list, and every text."""
    made = ported_next()
    other, timeline = hostile("x"), looped(3)
    made["process"]["rank"] = "0"
    made["backend"]["why"] = made["split_why"] = "x"
    made["overhead"]["exit_ns"] = 2 * MILLI
    made["environment"]["cupti_path"] = "/x"
    python = [{"file": "/home/me/x.py", "function": "step", "line": 3}]
    made["sites"][0].update(python=python)
    made["launches"] = [{"frames": [frame(0, 16)], "count": 3, "host_ns": 4, "kernels": 3, "device_ns": 9,
                         "estimated_ns": 1},
                        {"frames": [{"module": None, "offset": 77}], "count": 1, "host_ns": 1, "kernels": 1, "device_ns": 2,
                         "estimated_ns": 0}]
    made["launches_rest"], made["launches_lost"] = {"kernels": 3, "device_ns": 4}, 2
    made["gaps"] += timeline["gaps"]
    made["gaps_short"] = made["gaps_dropped"] = {"count": 1, "total_ns": 9, "longest_ns": 9}
    made["names"] = [{"module": 0, "offset": 16, "function": "f", "file": "/src/f.c", "line": 3,
                      "inlined": [{"function": "g", "file": "/src/g.c", "line": 4}]}]
    made["python_samples"] = [{"python": python, "samples": 3, "cpu_ns": 10 * MILLI}]
    made["python_files"] = [{"file": "/home/me/x.py", "bytes": 9, "modified_ns": SECOND}]
    made["repeats"] = {"hashed_copies": 3, "duplicates": total(2, 3, 4),
                       "ping_pong": total(1, 2, 3), "sites": [{"kind": "duplicate", "site": 0, "buffer": 0,
                                                               "count": 2, "bytes": 3, "host_ns": 4}]}
    made["ranges"], made["warnings"] = other["ranges"], ["x"]
    made["sites_lost"], made["buffers"][1]["frames"] = 2, []
    made["buffers"].append({**made["buffers"][1], "kind": "file", "file": "weights.bin", "frames": [frame(0, 0x4100)]})
    made["effect"].update(staged_copies=3, staged_bytes=MIB)
    made["events"] = {**timeline["events"], "dropped": 9, "shortest_ns": 20 * MICRO, "trackless": 0,
                      "places": [frame(0, 16), frame(0, 17, caller=0)], "routes": ["DIRECT"],
                      "shapes": [{"grid": [1, 2, 3], "block": [1, 2, 3], "registers": 3,
                                  "static_shared_bytes": 0, "dynamic_shared_bytes": 0}]}
    return made
