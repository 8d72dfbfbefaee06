"""Checks traces by the Chrome Trace Event Format, as in Google's document of that name, and by
Perfetto's rules.

faults(text) yields the errors of a trace; load(text) reads one with times in whole ns.
"""
import collections
import json

COMMON = {"ph": str, "name": str, "pid": int, "tid": int}
# By phase: further fields that an event must have, and may have.
PHASES = {
    "X": ({"ts": int, "dur": int, "cat": str, "args": dict}, {}),
    "M": ({"args": dict}, {}),
    "i": ({"ts": int, "s": str}, {"cat": str, "args": dict}),
    "s": ({"ts": int, "id": int, "cat": str}, {"args": dict}),
    "f": ({"ts": int, "id": int, "cat": str, "bp": str}, {"args": dict}),
}
METADATA = {"process_name": ("name", str), "thread_name": ("name", str),
            "process_sort_index": ("sort_index", int), "thread_sort_index": ("sort_index", int),
            "process_labels": ("labels", str)}


def number(text):
    """Returns microseconds with three decimals exactly as ns, others as a fraction."""
    whole, part = text.split(".")
    return int(whole) * 1000 + int(part) if len(part) == 3 else float(text)


def once(pairs):
    """Returns an object; fails if a name occurs twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError(f"a name is there twice: {[name for name, _ in pairs]}")
    return made


def load(text):
    return json.loads(text, parse_float=number, object_pairs_hook=once)


def shape(event):
    """Yields missing and unknown fields of one event."""
    if event.get("ph") not in PHASES:
        yield f"no phase that we know: {event}"
        return
    needed, allowed = PHASES[event["ph"]]
    needed = {**COMMON, **needed}
    for name, kind in needed.items():
        if not isinstance(event.get(name), kind) or isinstance(event.get(name), bool):
            yield f"{name} is missing or no {kind.__name__}: {event}"
    for name in event.keys() - needed.keys() - allowed.keys():
        yield f"nobody reads {name}: {event}"
    for name in ("ts", "dur", "pid", "tid"):
        if isinstance(event.get(name), int) and event[name] < 0:
            yield f"{name} is negative: {event}"
    yield from content(event)


def content(event):
    arguments = event.get("args", {})

    if event["ph"] == "M":
        name, kind = METADATA.get(event["name"], (None, None))
        if name is None or list(arguments) != [name] or not isinstance(arguments[name], kind):
            yield f"no metadata that a viewer knows: {event}"
    elif event["ph"] == "i" and event.get("s") not in ("g", "p", "t"):
        yield f"an instant of no scope: {event}"
    elif event["ph"] == "f" and event.get("bp") != "e":
        yield f"an arrow into the slice that follows: {event}"


def nesting(track, slices):
    open_ends = []
    for start, minus in sorted(slices):
        end = start - minus
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        if open_ends and end > open_ends[-1]:
            yield f"{track}: the slice at {start} does not nest"
        open_ends.append(end)


def faults(text):
    """Slices of a track must nest, each track must have a name and an order, an arrow must have two
    ends, each at the start of a slice, and no time may go back."""
    try:
        trace = load(text)
    except ValueError as error:
        yield f"not JSON: {error}"
        return
    if not isinstance(trace, dict) or trace.get("displayTimeUnit") not in ("ms", "ns") or \
            not isinstance(trace.get("traceEvents"), list):
        yield "no object with traceEvents and a unit"
        return
    events, broken = trace["traceEvents"], False
    for event in events:
        for fault in shape(event):
            broken = True
            yield fault
    if broken:
        return
    tracks, named = collections.defaultdict(list), collections.Counter()
    arrows = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append((event["ts"], -event["dur"]))
        elif event["ph"] == "M":
            named[event["name"], event["pid"], event["tid"]] += 1
        elif event["ph"] in "sf":
            arrows[event["cat"], event["name"], event["id"]].append(event)
    for name, count in named.items():
        if count > 1:
            yield f"{name} is named twice"
    for pid, tid in tracks:
        if any(("thread" + what, pid, tid) not in named for what in ("_name", "_sort_index")):
            yield f"{pid} {tid} has no name or no order"
    for pid in {event["pid"] for event in events}:
        if any(("process" + what, pid, 0) not in named for what in ("_name", "_sort_index")):
            yield f"{pid} has no name or no order"
    starts = {track: {start for start, _ in slices} for track, slices in tracks.items()}
    for number_of, ends in arrows.items():
        if [end["ph"] for end in ends] != ["s", "f"]:
            yield f"arrow {number_of} has not two ends"
        for end in ends:
            if end["ts"] not in starts.get((end["pid"], end["tid"]), ()):
                yield f"arrow {number_of} hangs in the air"
    for track, slices in tracks.items():
        yield from nesting(track, slices)
