#!/usr/bin/env python3
"""Checks that no libc function that the library intercepts has another name that bypasses it.

    aliases.py LIBHOTPIN

libc exports many functions under several names with one address.  A program that is bound to
another name than ours bypasses the library.  So each further name of a function that we export must
also be exported, be listed in EXEMPT with a reason, or have the version GLIBC_PRIVATE: only
libraries of the same libc are linked to those, and libc's own calls need not be intercepted
(shim/libc/mappings.c).  The check uses the installed libc.
"""
import collections
import os
import re
import subprocess
import sys

# These functions return memory of libc, like any other allocator: copies of it are staged, and the
# library's free() and realloc() pass it on.  Functions that take an address, which may be ours, are
# never exempt.
GIVES_OUT = "gives out memory of libc's own, and takes none"
EXEMPT = {
    "__libc_calloc": GIVES_OUT,
    "__libc_mallinfo": "counts memory of libc's own",
    "__libc_malloc": GIVES_OUT,
    "__libc_memalign": GIVES_OUT,
    "__libc_pvalloc": GIVES_OUT,
    "__libc_valloc": GIVES_OUT,
}
LIBC = re.compile(r"lib(c|dl|pthread|rt)[.-][^/]*$")


def symbols(path):
    """Returns (address, name, version) of each function that the file exports."""
    done = subprocess.run(["readelf", "-W", "--dyn-syms", path], text=True, check=True,
                          capture_output=True, env={**os.environ, "LC_ALL": "C"})
    for line in done.stdout.splitlines():
        fields = line.split()
        if len(fields) < 8 or fields[3] not in ("FUNC", "IFUNC") or fields[6] == "UND":
            continue
        if fields[4] in ("GLOBAL", "WEAK"):
            name, _, version = fields[7].replace("@@", "@").partition("@")
            yield fields[1], name, version


def libc_files(library):
    done = subprocess.run(["ldd", library], text=True, check=True, capture_output=True)
    paths = re.findall(r"(/\S+)", done.stdout)
    return [path for path in paths if LIBC.search(path)]


def main():
    library, = sys.argv[1:]
    ours = {name for _, name, _ in symbols(library)}
    looked_at, failed = 0, False
    for path in libc_files(library):
        names = collections.defaultdict(set)
        for address, name, version in symbols(path):
            names[address].add((name, version))
        for group in names.values():
            known = sorted({name for name, _ in group} & ours)
            looked_at += len(known)
            for name, version in sorted(group):
                if not known or name in ours or name in EXEMPT or version == "GLIBC_PRIVATE":
                    continue
                print(f"{path}: {name}@{version} is {known[0]}() by another name")
                failed = True
    print(f"{looked_at} functions looked at")
    return failed or looked_at == 0


if __name__ == "__main__":
    sys.exit(main())
