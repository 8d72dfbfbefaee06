#!/usr/bin/env python3
"""Runs the report tests and checks every profile that they wrote.

    schema.py SCHEMA PROGRAM...

It also checks the examples in HOTPIN_GOLDEN, with which tools are tested.  Each profile is read by
a strict JSON parser, compared with the published schema (by the checker below, and by
python3-jsonschema if that is installed), and its figures are compared with each other.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
}
KNOWN = {"$schema", "title", "description", "type", "properties", "required", "items", "enum",
         "minimum", "additionalProperties"}


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def errors(value, schema, where="$"):
    """Yields differences of `value` from `schema`; unknown fields and keywords outside of KNOWN are
    refused."""
    if set(schema) - KNOWN:
        yield f"{where}: the schema says {set(schema) - KNOWN}, which is not checked"
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(is_type(value, name) for name in names):
        yield f"{where}: {value!r} is no {' or '.join(names)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is none of {schema['enum']}"
    if "minimum" in schema and value is not None and value < schema["minimum"]:
        yield f"{where}: {value} is less than {schema['minimum']}"
    if set(schema) == {"description"}: # any value: an older hotpin wrote it
        return
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        for name in schema.get("required", []):
            if name not in value:
                yield f"{where}: no {name}"
        for name, part in value.items():
            rule = fields.get(name, schema.get("additionalProperties"))
            if rule is None:
                yield f"{where}.{name}: not in the schema"
            else:
                yield from errors(part, rule, f"{where}.{name}")
    if isinstance(value, list) and "items" in schema:
        for index, part in enumerate(value):
            yield from errors(part, schema["items"], f"{where}[{index}]")


def wrong_places(profile):
    """Yields indices that refer to nothing."""
    modules = len(profile.get("modules") or [])
    sites = len(profile.get("sites") or [])
    samples = profile.get("samples")
    for row in (profile.get("sites") or []) + (profile.get("buffers") or []) + (samples or []):
        for frame in row["frames"]:
            if frame["module"] is not None and frame["module"] >= modules:
                yield f"module {frame['module']} of {modules}"
    events = profile.get("events")
    for row in events["rows"] if events else []:
        event = dict(zip(events["fields"], row))
        if len(row) != len(events["fields"]) or event["track"] >= len(events["tracks"]) or \
                event["name"] >= len(events["names"]) or (event["site"] or 0) > sites:
            yield f"event {row}"


def contradictions(profile):
    """Yields figures that contradict each other."""
    split, host = profile["split"], profile["host"]
    if split is not None and sum(split.values()) != profile["wall_ns"]:
        yield f"the split sums to {sum(split.values())}, the wall is {profile['wall_ns']}"
    parts = [host["copying_ns"], host["waiting_for_kernels_ns"], host["overhead_ns"]]
    if (None in parts) != (split is None):
        yield "host and split disagree on what is known"
    if None not in parts and sum(parts) != host["copy_calls_ns"]:
        yield "the parts of the copy calls do not sum up"
    if (profile["backend"]["kind"] != "interpose") != (profile["kernels"] is not None):
        yield "kernels are known without CUPTI, or not with it"
    if profile["kernels"] is not None:
        for field in ("count", "busy_ns"):
            total = sum(kernel[field] for kernel in profile["kernels"])
            if total != (profile["kernel_runs"][field] or 0):
                yield f"kernels: {field} sums to {total}"
    if profile["kernels"] is not None and profile.get("events"):
        known = {kernel["name"] or "" for kernel in profile["kernels"]}
        for name in {profile["events"]["names"][row[4]] for row in profile["events"]["rows"]
                     if row[0] == 0} - known:
            yield f"the timeline has a kernel {name[:60]!r}, the table has not"
    for row in profile["transfers"]:
        for field in ("count", "bytes"):
            if "sizes" in row and sum(size[field] for size in row["sizes"]) != row[field]:
                yield f"sizes of {row['view']} {row['direction']}: {field} is not {row[field]}"
    yield from wrong_places(profile)
    if profile.get("samples") is not None:
        sampling = profile["sampling"]
        total = sum(row["first_thread"] + row["other_threads"] for row in profile["samples"])
        if total + sampling["dropped"] + sampling["empty"] != sampling["samples"]:
            yield f"{total} samples in chains, not {sampling['samples']}"
    for view, field in (("cupti", "cupti_bytes"), ("hotpin", "hotpin_bytes")):
        total = sum(row["bytes"] for row in profile["transfers"]
                    if row["view"] == view and row["direction"] in ("h2d", "d2h"))
        if profile["coverage"][field] is not None and total != profile["coverage"][field]:
            yield f"coverage says {profile['coverage'][field]} bytes in view {view}, rows {total}"


def read(path):
    with open(path, encoding="utf-8", errors="strict") as file:
        return json.load(file, parse_constant=refuse, parse_float=refuse)


def refuse(text):
    raise ValueError(f"{text} is not JSON")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    try:
        import jsonschema
    except ImportError:
        jsonschema = None
        print("# skipped: a second checker: python3-jsonschema is not installed")
    failures = checked = 0
    with tempfile.TemporaryDirectory() as folder:
        for program in sys.argv[2:]:
            done = subprocess.run([program], env={**os.environ, "HOTPIN_TEST_KEEP": folder},
                                  stdout=subprocess.PIPE, text=True, check=False)
            if done.returncode != 0:
                failures += 1
                print("\n".join("# " + line for line in done.stdout.splitlines()
                                if not line.startswith("ok ")))
        examples = glob.glob(os.path.join(os.environ["HOTPIN_GOLDEN"], "example_*.json"))
        for name in sorted(examples) + sorted(os.listdir(folder)):
            profile = read(os.path.join(folder, name))
            found = [*errors(profile, schema), *contradictions(profile)]
            if jsonschema:
                found += [error.message for error in
                          jsonschema.Draft202012Validator(schema).iter_errors(profile)]
            for text in found[:5]:
                print(f"# {name}: {text}")
            failures += bool(found)
            checked += 1
    # Tests the checker itself: a profile with a single error must not pass.
    for path, wrong in ((("wall_ns",), -1), (("split",), 7), (("process", "pid"), None),
                        (("schema",), "x"), (("surprise",), 1)):
        spoilt = json.loads(json.dumps(profile))
        at = spoilt
        for part in path[:-1]:
            at = at[part]
        at[path[-1]] = wrong
        if not list(errors(spoilt, schema)):
            print(f"# a profile with {path} made {wrong} passes")
            failures += 1
    print(f"# {checked} profiles")
    print("1..1")
    print("ok 1 - profiles" if not failures and checked >= 13 else "not ok 1 - profiles")
    return failures != 0 or checked < 13


if __name__ == "__main__":
    sys.exit(main())
