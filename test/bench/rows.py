"""rows.py - lists every benchmark: its programs, the figures that are judged, and the limits.

A benchmark runs the same program in variants, each a process of its own:

    plain    the unmodified program as it is
    hotpin   the same program and arguments, with libhotpin.so preloaded
    hand     the program, hand-tuned by a careful author: pinned, asynchronous

A program prints `METRIC FIGURE`, or `METRIC@VARIANT FIGURE` if one process measures several
variants.  A row is one figure and one promise about it; the figures themselves come from the run
alone.  Figures are seconds.
"""

HAND = "hand"  # hotpin is at most so many times the hand-written figure
FASTER = "faster"  # hotpin is at least so many times faster than plain
SLOWER = "slower"  # hotpin is at most so many times the plain figure
MORE = "more"  # hotpin takes at most so many seconds more than plain

NEVER = 1.02
UNITS = {"K": 10, "M": 20, "G": 30}


class Row:
    def __init__(self, metric, what, kind, target, slows=False):
        self.metric, self.what, self.kind, self.target = metric, what, kind, target
        self.slows = slows  # it need not be as fast as plain


class Bench:
    """variants: name -> (argv, environment); argv[0] is a program during the others.  A variant
    named in `preloaded` also has the library.  CUDA_INJECTION64_PATH names a library next to the
    programs.  grid: its figures are shown as tables, with a column for each size."""

    def __init__(self, name, variants, rows, preloaded=("hotpin",), grid=False):
        self.name, self.variants, self.rows = name, variants, rows
        self.preloaded, self.grid = preloaded, grid

    def up_to(self, wanted):
        """Returns this benchmark without the last sizes that none of the wanted rows has.  Smaller
        ones stay, because hotpin learns from them."""

        def sizes(some):
            return {row.metric.rpartition("_")[2] for row in some}

        left_out = sizes(self.rows) - sizes(wanted)
        variants = {}
        for name, (argv, environment) in self.variants.items():
            end = len(argv)
            while argv[end - 1] in left_out:
                end -= 1
            variants[name] = (argv[:end], environment)
        return Bench(self.name, variants, self.rows, self.preloaded, self.grid)


def size_bytes(size):
    return int(size[:-1]) << UNITS[size[-1]] if size[-1] in UNITS else int(size)


def three(before, after, environment=None):
    """Returns the three variants of a program that takes malloc or pinned."""
    return {
        "plain": (before + ["malloc"] + after, {}),
        "hotpin": (before + ["malloc"] + after, environment or {}),
        "hand": (before + ["pinned"] + after, {}),
    }


def two(command, environment=None):
    return {"plain": (command, {}), "hotpin": (command, environment or {})}


def loop_rows(what, sizes):
    """Copies must be as fast as from pinned memory, in both directions, and the largest loop twice
    as fast as plain."""
    return (
        [Row("copy_" + s, "%s: h2d of %s" % (what, s), HAND, 1.10) for s in sizes]
        + [Row("fetch_" + s, "%s: d2h of %s" % (what, s), HAND, 1.10) for s in sizes]
        + [Row("loop_" + sizes[-1], "%s: whole loop, h2d" % what, FASTER, 2.0)]
        + [Row("back_" + sizes[-1], "%s: whole loop, d2h" % what, FASTER, 2.0)]
    )


def ways(sizes, kind, target):
    """Returns a row for each direction and size; the target may depend on both."""
    rows = []
    for size in sizes:
        for way in ("h2d", "d2h"):
            goal = target(way, size_bytes(size)) if callable(target) else target
            rows.append(Row("%s_%s" % (way, size), "%s %s" % (way, size), kind, goal))
    return rows


def copy_rows(sizes):
    """No kind of copy may be slower than plain."""
    whats = ["%s_%s" % (w, d) for w in ("hot", "first", "static") for d in ("h2d", "d2h")]
    kinds = ["%s_%s" % (what, how) for what in whats + ["fresh_d2h"] for how in ("sync", "async")]
    rows = [(kind, s) for kind in kinds for s in sizes]
    for kind in ("rows_h2d_sync", "rows_d2h_sync"):
        rows += [(kind, s) for s in sizes if 1 << 20 <= size_bytes(s) <= 256 << 20]
    return [Row("%s_%s" % row, "%s %s" % row, SLOWER, NEVER) for row in rows]


# Descriptions of the loops of torch_loops.py, by the kind in their name.
LOOP_KINDS = {
    "pinned": "pin_memory=True and non_blocking=True",
    "collate": "an own collate function",
    "custom": "an own batch type",
    "own": "the same with a pin_memory() of its own, and pin_memory=True",
    "busy": "Python code on the other cores",
    "images": "torchvision's ImageFolder, 32 JPEGs",
}


def loop_name(argument):
    """Describes a loop of torch_loops.py in words."""
    parts = argument.split(":")
    kind = LOOP_KINDS.get(parts[0])
    batch = "%s MB, " % parts[-2] if parts[-2].isdigit() else ""
    return "%s%s workers%s" % (batch, parts[-1], ": " + kind if kind else "")


def torch_loop_rows(arguments):
    rows = []
    for metric, what in (("batch", "a turn"), ("cuda", ".cuda()")):
        for argument in arguments:
            name = "%s_%s" % (metric, argument.replace(":", "_"))
            rows.append(Row(name, "%s, %s" % (what, loop_name(argument)), SLOWER, NEVER))
    return rows


def torch_benches(check):
    """Returns loops over a DataLoader, and copies of models to the GPU and back."""
    sizes, workers = ((1,), (0,)) if check else ((1, 4, 9, 25, 38, 150), (0, 2, 4, 8))
    loops = ["%d:%d" % (mb, count) for count in workers for mb in sizes]
    kinds = ["pinned:25:0", "pinned:4:4", "pinned:25:4", "collate:25:0", "collate:25:4", "custom:9:4"]
    kinds += ["custom:25:4", "own:25:0", "own:25:4", "busy:25:0", "busy:9:2", "busy:25:4"]
    kinds = ["%s:1:0" % kind for kind in LOOP_KINDS if kind != "images"] if check else kinds
    images = ["images:0"] if check else ["images:0", "images:4", "images:8"]
    named = (("", loops), ("-kinds", kinds), ("-images", images))
    result = [
        Bench(
            "torch-loops" + name,
            three(["torch_loops.py"], arguments),
            torch_loop_rows(arguments),
            grid=arguments is loops,
        )
        for name, arguments in named
    ]
    moves = (
        ("state", "`.cpu()` of each tensor of a model"),
        ("save", "`torch.save` of a model on the GPU"),
        ("load", "`torch.load`, then `.to('cuda')`"),
        ("mapped", "the same with `mmap=True`"),
        ("offload", "a step with weights on the CPU"),
    )
    mib = "16" if check else "192"
    rows = [Row(metric, "%s, %s MiB" % (what, mib), SLOWER, NEVER) for metric, what in moves]
    return result + [Bench("torch-models", three(["torch_models.py"], [mib]), rows)]


def benches(check):
    """Returns all benchmarks, in the order of the table.  check: small sizes, for no device."""

    def fit(*sizes):
        return [s for s in sizes if not check or size_bytes(s) <= 1 << 20] or ["512K"]

    def times(count):
        return str(max(4, count // 1000) if check else count)

    result = []

    def add(name, variants, rows, **more):
        result.append(Bench(name, variants, rows, **more))

    sizes = fit("64K", "256K", "1M", "4M", "16M", "64M", "256M", "1G")
    add("repeat", three(["repeat"], ["0"] + sizes),
        ways(sizes, HAND, lambda way, size: 1.05 if size >= 1 << 20 else 1.10))
    size = fit("64M")[0]
    add("whole", three(["repeat"], ["50", size]),
        [Row("whole_" + size, "malloc, 50 copies of %s each way" % size, HAND, 1.10)])
    sizes = fit("64M", "256M")
    add("first-copy", three(["first"], ["touched"] + sizes),
        ways(sizes, FASTER, lambda way, size: 3.0 if way == "h2d" else 2.0))
    sizes = fit("16M", "64M", "256M")
    add("fresh-d2h", three(["first"], ["untouched"] + sizes),
        [Row("d2h_" + s, "d2h %s, untouched" % s, FASTER, 3.0) for s in sizes])
    sizes = fit("64M", "256M")
    static = ["repeat", "static", "0"] + sizes
    add("static", two(static) | {"hand": (["repeat", "pinned", "0"] + sizes, {})},
        ways(sizes, FASTER, lambda way, size: 2.5 if way == "h2d" else 2.0))
    every = ["64", "256"] + ["%d%s" % (4**i, unit) for unit in "KM" for i in range(5)] + ["1G"]
    every = fit(*(["64", "16K", "1M"] if check else every))
    # Nothing may be slower than plain, at any size, in any state of the memory...
    add("copies", three(["copies"], every), copy_rows(every), grid=True)
    # ...even without copy workers.
    add("copies-alone", three(["copies"], every, {"HOTPIN_THREADS": "1"}), copy_rows(every),
        grid=True)
    sizes = fit("16M", "64M")
    add("alloc-loop", three(["loop"], sizes), loop_rows("malloc", sizes))
    sizes = fit("64", "256", "1K", "4K", "16K", "64K")
    add("burst", three(["burst"], sizes),
        [Row("burst_" + s, "h2d %s, a copy" % s, FASTER, 2.0 if size_bytes(s) <= 16 << 10 else 1.5)
         for s in sizes])
    sizes = fit("64", "4K", "64K")
    # An upload that waits takes as long as the kernel.
    add("uploads-between-kernels", three(["uploads"], [times(100)] + sizes),
        [Row("turn_" + s, "4 x h2d %s; kernel 1 ms; work 1 ms" % s, HAND, 1.10) for s in sizes]
        + [Row("upload_" + s, "h2d %s behind a kernel" % s, FASTER, 2.0) for s in sizes])
    size = fit("16M")[0]
    add("double-buffer", three(["overlap"], [size, times(100)]),
        [Row("turn_" + size, "fill 2 ms; h2d %s; kernel 2 ms" % size, HAND, 1.20)])
    size = "1M" if check else "16M"
    add("torch", three(["torch_fresh.py"], [size[:-1]]),
        [Row("to_" + size, "fresh %s .to('cuda')" % size, HAND, 1.15),
         Row("cpu_" + size, "%s .cpu()" % size, FASTER, 3.0)])
    sizes = [] if check else ["1M", "4M", "64M", "256M"]
    add("torch-more", three(["torch_fresh.py"], [s[:-1] for s in sizes] + ["loaders"]),
        [Row("%s_%s" % (way, s), "fresh tensor, %s %s" % (way, s), SLOWER, NEVER)
         for way in ("to", "cpu") for s in sizes]
        + [Row("loader0", "a batch, no workers, pin_memory=False", HAND, 1.15),
           Row("loader4", "a batch, 4 workers, pin_memory=False", HAND, 1.15),
           Row("custom4", "the same, a type of its own", HAND, 1.15),
           Row("pinning4", "the same, pin_memory=True", SLOWER, NEVER),
           Row("concurrent", "work on every core during copies", SLOWER, NEVER)])
    result += torch_benches(check)
    add("gate", {"hotpin": (["gate", times(100000), "8"], {})},
        [Row("query", "cuEventQuery", MORE, 20e-9),
         Row("launch", "empty launch", MORE, 20e-9),
         Row("threads", "empty launch, 8 threads", MORE, 20e-9)])
    add("launch", two(["launch", "kernels", times(1000000)]),
        [Row("launch", "1e6 empty launches, a launch", SLOWER, NEVER)])
    add("launch-waits", two(["launch", "waits", times(200000)]),
        [Row("launch_wait", "launch and wait, freed buffers are pinned", SLOWER, NEVER),
         Row("launch_get", "launch and download 8 B, likewise", SLOWER, NEVER)])
    sizes = fit("64", "4K", "64K")
    for name, threads in (("malloc-pair", 1), ("malloc-pair-threads", 8)):
        add(name, two(["heap", "pair", str(threads), times(200000)] + sizes),
            [Row("pair_" + s, "malloc, free %s, %d threads" % (s, threads), MORE, 3e-9)
             for s in sizes])
    size = fit("64M")[0]
    # Hand-tuned: CUPTI alone, which discards its records.  Plain is hotpin without a profile.
    # CUPTI needs 1.2 us for an operation on an H200, so a tenth of the whole is left for hotpin.
    each = ("", MORE, 1.5e-6), ("_call", MORE, 1.5e-6), ("", HAND, 1.10), ("_call", HAND, 1.10)
    floor = {"CUDA_INJECTION64_PATH": "libbench_floor.so"}
    bound = ["repeat", "malloc", "50", size]
    for name, mode, what, command, promises in (
        ("launch", "summary", "launch", ["launch", "kernels", times(200000)], each),
        ("copy", "summary", "copy", ["launch", "copies", times(50000)], each),
        ("call", "summary", "call", ["launch", "calls", times(2000000)], [("", MORE, 100e-9)]),
        ("bound", "summary", "whole_" + size, bound, [("", SLOWER, NEVER)]),
        ("bound-trace", "trace", "whole_" + size, bound, [("", SLOWER, 1.05)]),
    ):
        variants = {"plain": (command, {}), "hotpin": (command, {"HOTPIN_PROFILE": mode})}
        if what != "call":
            variants["hand"] = (command, floor)
        add("profile-" + name, variants,
            [Row(what + tail, "%s, profile; hand: CUPTI alone" % (what + tail), kind, target,
                 slows=kind == HAND)
             for tail, kind, target in promises],
            preloaded=("plain", "hotpin", "hand"))
    # Plain is the profile without samples.
    for name, mode in (("profile-sample", "auto"), ("profile-sample-signal", "signal")):
        for threads, count in ((4, 10000), (64, 600)):
            command = ["sample", str(threads), times(count)]
            variants = {variant: (command, {"HOTPIN_OUT": "/dev/null", "HOTPIN_SAMPLE": value})
                        for variant, value in (("plain", "off"), ("hotpin", mode))}
            add("%s-%d" % (name, threads), variants,
                [Row("%s_%d" % (metric, threads), "%s of %d threads, sampled" % (what, threads),
                     SLOWER, 1.01)
                 for metric, what in (("busy", "CPU time"), ("wall", "time"))],
                preloaded=("plain", "hotpin"))
    sizes = fit("64", "256", "1K", "4K", "16K")
    # The download after an upload that returned early waits for it.
    add("never-slower-sync", three(["repeat"], ["0"] + sizes),
        [Row("pair_" + s, "h2d %s and back" % s, SLOWER, NEVER) for s in sizes])
    sizes = fit("64", "4K", "64K", "256K", "1M", "4M", "16M", "64M")
    add("never-slower-async", three(["async"], sizes),
        [Row("%s_%s_%s_%s" % (stream, way, until, s),
             "async %s %s, %s stream: %s" % (way, s, stream, until), SLOWER, NEVER)
         for stream in ("idle", "busy") for way in ("h2d", "d2h", "mixed")
         for until in ("return", "done") for s in sizes])
    sizes = fit("4K", "1M", "16M")
    add("never-slower-pinned", two(["async", "pinned"] + sizes),
        [Row("idle_%s_%s_%s" % (way, until, s),
             "async %s %s, program-pinned: %s" % (way, s, until), SLOWER, NEVER)
         for way in ("h2d", "d2h") for until in ("return", "done") for s in sizes])
    for kind, text, threads, sizes in (
        ("pair", "malloc, free %s", 1, fit("256K", "1M", "16M", "64M")),
        ("cycle", "malloc, write, free %s", 1, fit("256K", "1M", "4M", "16M", "64M", "256M")),
        ("cycle", "malloc, write, free %s", 8, fit("256K", "1M", "16M")),
        ("calloc", "calloc, a word a page, free %s", 1, fit("256K", "1M", "16M", "64M")),
        ("spot", "calloc, one word, free %s", 1, fit("1M", "40M", "256M")),
        ("three", "malloc, free %s, 16 x, 3 x", 1, fit("300K")),
        ("grow", "realloc by doubling to %s", 1, fit("1M", "64M", "256M")),
        ("creep", "realloc by 4 KiB a step to %s", 1, fit("16M")),
    ):
        name = "never-slower-" + kind
        if threads != 1:
            name += "-threads"
            text += ", %d threads" % threads
        add(name, two(["heap", kind, str(threads), times(20000)] + sizes),
            [Row("%s_%s" % (kind, s), text % s, SLOWER, NEVER) for s in sizes])
    return result
