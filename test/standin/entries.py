#!/usr/bin/env python3
"""Prints entry.def, the list of every export of a libcuda of CUDA 13.0.

    entries.py CUDA_INCLUDE

A row is ENTRY(name, name for cuGetProcAddress, first driver version whose callers get it, stream
flavor: 0 legacy, 2 per-thread).  libcuda answers cuGetProcAddress from this table.  The toolkit's
headers have a typedef for each base name, version and flavor; the nth version of a name is
exported with the suffix _vn.
"""
import pathlib
import re
import sys

HEADERS = ["cudaTypedefs.h", "cudaGLTypedefs.h", "cudaEGLTypedefs.h", "cudaProfilerTypedefs.h"]
NEWEST = 13000
# Declared, but exported by no driver for Linux on x86-64 (checked with 580.159.04).
ABSENT = {"cuEventCreateFromEGLSync", "cuWGLGetDevice"}
TYPEDEF = re.compile(r"\* *PFN_(cu\w+?)_v(\d+)(_pt[sd][sz])?\)")


def entries(include):
    """Returns name -> (name for cuGetProcAddress, version, flavor)."""
    versions, found = {}, {}
    for header in HEADERS:
        text = (pathlib.Path(include) / header).read_text(encoding="utf-8")
        for base, version, flavor in TYPEDEF.findall(text):
            if base not in ABSENT and int(version) <= NEWEST:
                versions.setdefault(base, {}).setdefault(flavor, set()).add(int(version))
    for base, flavors in versions.items():
        for flavor, all_of_it in flavors.items():
            for version in all_of_it:
                number = sum(legacy <= version for legacy in flavors[""])
                name = base + (f"_v{number}" if number > 1 else "") + flavor
                found[name] = base, version, 2 if flavor else 0
    return found


if __name__ == "__main__":
    for export, row in sorted(entries(sys.argv[1]).items()):
        print(f"ENTRY({export}, {', '.join(map(str, row))})")
    print("#undef ENTRY")
