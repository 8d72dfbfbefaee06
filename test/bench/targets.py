"""targets.py - hotpin's targets, and the benchmarks that measure them.

A target is a case in words and its benchmarks; rows.py has the promise for each of their figures.
FRONT is the table of single operations in doc/measurements.md.
"""

import fnmatch


class Target:
    def __init__(self, case, *names, every=False):
        self.case, self.names = case, names
        self.every = every  # judged by every figure of the run that also has a plain figure

    def takes(self, name):
        return any(fnmatch.fnmatch(name, pattern) for pattern in self.names)


# In the order of measurement: if time is short, the last ones get fewer rounds.
TARGETS = [
    Target("repeated synchronous copies of one buffer, both directions", "repeat", "whole"),
    Target("first copy of a touched buffer", "first-copy"),
    Target("download into untouched memory", "fresh-d2h"),
    Target("static arrays, which are never pinned", "static"),
    Target("allocate, write, copy, free, in a loop", "alloc-loop"),
    Target("many small synchronous uploads", "burst"),
    Target("fill 2 ms, upload, kernel 2 ms; hand-tuned: two pinned buffers in turn",
           "double-buffer"),
    Target("torch, new pageable tensors", "torch"),
    Target("launches and other calls, no profile", "gate", "launch", "launch-waits"),
    Target("malloc and free of small blocks", "malloc-pair", "malloc-pair-threads"),
    Target("cost of the profile", "profile-*"),
    Target("every figure, against plain", "never-slower-*", "copies", every=True),
]

# Further promises, measured only when named.
MORE = [
    Target("uploads between kernels", "uploads-between-kernels"),
    Target("torch: other sizes, data loaders, concurrent work", "torch-more"),
    Target("torch: loops over a DataLoader by batch and workers", "torch-loops*"),
    Target("torch: checkpoints, loading a model, offloaded weights", "torch-models"),
    Target("copies with one copy worker", "copies-alone"),
]

# (benchmark, figure, description); each figure is the time of one operation.
FRONT = [
    ("repeat", "h2d_64K", "copy of 64 KiB to the device, `malloc` memory, repeated"),
    ("repeat", "d2h_64K", "the same from the device"),
    ("repeat", "h2d_1M", "1 MiB to the device"),
    ("repeat", "d2h_1M", "from the device"),
    ("repeat", "h2d_64M", "64 MiB to the device"),
    ("repeat", "d2h_64M", "from the device"),
    ("first-copy", "h2d_256M", "the first copy of 256 MiB to the device"),
    ("fresh-d2h", "d2h_64M", "64 MiB from the device into new memory"),
    ("static", "h2d_64M", "static array of 64 MiB to the device; hand-tuned: pinned"),
    ("static", "d2h_64M", "from the device"),
    ("alloc-loop", "loop_64M", "allocate, write, copy to the device, free: 64 MiB"),
    ("burst", "burst_64", "64 B to the device, 256 in a row"),
    ("burst", "burst_16K", "16 KiB, likewise"),
    ("double-buffer", "turn_16M", "fill 2 ms, copy 16 MiB, kernel 2 ms; hand-tuned: double-buffered"),
    ("torch", "to_16M", "torch: `.to('cuda')` of a new tensor of 16 MiB"),
    ("torch", "cpu_16M", "torch: `.cpu()` of it"),
    ("launch", "launch", "an empty kernel launch"),
]


def needed(targets):
    return [name for target in targets for name in target.names]

# The tables of the page about PyTorch, in the order in which they get time.
PYTORCH = ["torch-loops", "torch-models", "torch-loops-images", "torch-loops-kinds"]
