"""Compares CUPTI's counts with hotpin's: parity_compare.py CUPTI.json HOTPIN.json DRIVER.def

Every driver function for which hotpin returns a wrapper (its class in driver.def is not PASS) must
have the same number of calls in both, and the bytes of copies must agree.  Exit status 0: they do.
"""
import json
import re
import sys

cupti = json.load(open(sys.argv[1]))
ours = json.load(open(sys.argv[2]))
rows = re.findall(r"^(?:DRIVER|WRAPPED|EXPOSES)(?:_\d+)?(_PTDS|_PTSZ)?\((\w+), (\w+),",
                  open(sys.argv[3]).read(), re.M)
names = [name for flavor, export, kind in rows if kind != "PASS"
         for name in [export] + ([export + flavor.lower()] if flavor else [])]

# CUPTI also sees the library's own calls to the driver.  Functions for per-thread streams have
# names of their own.
counts = ours["counters"]
asked = {
    "cuPointerGetAttribute": counts["asked_pointer"],
    "cuStreamIsCapturing": counts["asked_capture"],
    "cuStreamQuery": counts["asked_stream"],
    "cuStreamSynchronize": counts["copies_waited"],
    "cuMemHostRegister_v2": counts["pins"] + counts["pins_refused"],
    "cuMemHostUnregister": counts["unpins"],
    "cuThreadExchangeStreamCaptureMode":
        2 * (counts["pins"] + counts["pins_refused"] + counts["unpins"]
             + counts["asked_stream"] + counts["copies_waited"]),
}

# CUPTI sees nothing before the driver is initialized: cudart's first look-ups and cuInit().
early = {"cuGetProcAddress", "cuGetProcAddress_v2", "cuInit"}

ours_calls = {call["name"]: call["count"] for call in ours["calls"]}
different = 0
called = total = 0
for name in names:
    seen, counted = cupti["calls"].get(name, 0), ours_calls.get(name, 0)
    seen -= asked.get(name, 0)
    called += 1 if seen or counted else 0
    total += seen
    if name in early and counted > seen:
        print(f"{name}: cupti {seen}, hotpin {counted}, {counted - seen} of them before cuInit()")
    elif seen != counted:
        different += 1
        print(f"{name}: cupti {seen}, hotpin {counted}")
unknown = set(cupti["calls"]) - {name for name, _ in rows}
print(f"{len(names)} names, {called} of them called, {total} calls, {different} differ;",
      f"not in the table: {sorted(unknown) or 'none'}")

kinds = {"1": "h2d", "2": "d2h", "3": "h2d", "4": "d2h", "5": "d2d", "6": "d2d", "7": "d2d",
         "8": "d2d", "9": "h2h", "10": "p2p"}
bytes_seen = {}
for kind, (_, count) in cupti["bytes"].items():
    bytes_seen[kinds[kind]] = bytes_seen.get(kinds[kind], 0) + count
bytes_ours = {}
for row in ours["transfers"]:
    if row["view"] != "hotpin":
        continue
    bytes_ours[row["direction"]] = bytes_ours.get(row["direction"], 0) + row["bytes"]
for direction in sorted(set(bytes_seen) | set(bytes_ours)):
    seen, counted = bytes_seen.get(direction, 0), bytes_ours.get(direction, 0)
    print(f"bytes {direction}: cupti {seen}, hotpin {counted}")
    different += seen != counted
sys.exit(different != 0)
