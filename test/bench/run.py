#!/usr/bin/env python3
"""run.py - hotpin's targets, each a ratio of figures taken side by side in this run.

    run.py [--build DIR] [--lib FILE] [--repeat N] [--json FILE] [--check] [--list] [NAME...]

Every variant is a process of its own; they take turns, in an order that rotates, for N rounds, and
a figure is the median over the rounds.  A NAME may end in * .

Exit status: 0 all targets met, or missed only where a feature that the target rests on is not built
yet (as `hotpin env` says); 1 a target was missed, a program failed, or a byte was wrong; 77 nothing
could run here.
"""

import argparse
import fnmatch
import json
import mmap
import os
import platform
import statistics
import subprocess
import sys
import time

import rows

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
WARM_BYTES = 16 << 30
PROCESS_SECONDS = 180


class Skipped(Exception):
    pass


class Failed(Exception):
    pass


def warm_memory(wanted):
    """Touches the machine's memory: a virtual machine may get it from its host page by page at the
    first touch, which costs whoever comes first and would be measured as the program's."""
    try:
        with open("/proc/meminfo") as meminfo:
            for line in meminfo:
                if line.startswith("MemAvailable:"):
                    wanted = min(wanted, int(line.split()[1]) * 1024 // 2)
    except OSError:
        return
    held = []
    for start in range(0, wanted, 1 << 30):
        size = min(1 << 30, wanted - start)
        piece = mmap.mmap(-1, size)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            piece.madvise(mmap.MADV_HUGEPAGE)
        piece[::4096] = b"\1" * len(range(0, size, 4096))
        held.append(piece)
    for piece in held:
        piece.close()


def not_yet(tool):
    """The options that are read but do nothing yet."""
    try:
        text = subprocess.run([tool, "env", "--json"], capture_output=True, timeout=30).stdout
        return {o["name"] for o in json.loads(text)["options"] if not o["works"]}
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        print("run.py: what is not built yet is not known: %s: %s" % (tool, error), file=sys.stderr)
        return set()


def machine():
    said = {"cpu_count": os.cpu_count(), "kernel": platform.release()}
    try:
        answer = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=60,
        )
        said["device"] = answer.stdout.strip() or None
    except (OSError, subprocess.TimeoutExpired):
        said["device"] = None
    return said


def run_variant(bench, variant, options):
    argv, extra = bench.variants[variant]
    if argv[0].endswith(".py"):
        argv = [sys.executable, os.path.join(HERE, argv[0])] + argv[1:]
    else:
        argv = [os.path.join(options.programs, "bench_" + argv[0])] + argv[1:]
        if not os.path.exists(argv[0]):
            raise Skipped("%s was not built" % os.path.basename(argv[0]))
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("LD_PRELOAD", "MALLOC_PERTURB_") and not name.startswith("HOTPIN")
    }
    if variant in bench.preloaded:
        environment.update(extra, LD_PRELOAD=options.lib)
    begin = time.monotonic()
    try:
        done = subprocess.run(
            argv, env=environment, capture_output=True, text=True, timeout=PROCESS_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed("%s: %s" % (variant, error)) from error
    wall = time.monotonic() - begin
    said = done.stderr.strip()
    if done.returncode == SKIPPED:
        reason = said.splitlines()[-1] if said else "no reason given"
        raise Skipped(reason.removeprefix("skipped: "))
    if done.returncode != 0:
        command = " ".join(argv)
        raise Failed("%s: %s: status %d: %s" % (variant, command, done.returncode, said[-400:]))
    if said:
        options.said["%s %s" % (bench.name, variant)] = said[-2000:]
    figures = {}
    for line in done.stdout.splitlines():
        name, value = line.split()
        metric, _, whose = name.partition("@")
        figures[(metric, whose or variant)] = float(value)
    figures[("process", variant)] = wall
    return figures


def measure(bench, options):
    """(metric, variant) -> one figure a round."""
    samples = {}
    order = list(bench.variants)
    for number in range(options.repeat):
        for variant in order[number % len(order):] + order[: number % len(order)]:
            for key, value in run_variant(bench, variant, options).items():
                samples.setdefault(key, []).append(value)
    return samples


def judge(row, samples):
    """The figures of a row, the ratio or difference that is judged, and whether it holds."""
    median = {
        v: statistics.median(samples[(row.metric, v)])
        for v in ("plain", "hotpin", "hand")
        if (row.metric, v) in samples
    }
    against = "hand" if row.kind == rows.HAND else "plain"
    for variant in ("hotpin", against):
        if variant not in median:
            raise Failed("%s: %s printed no such figure" % (row.metric, variant))
    ours, theirs = median["hotpin"], median[against]
    if row.kind == rows.MORE:
        score = ours - theirs
        met = score <= row.target
    elif row.kind == rows.FASTER:
        score = theirs / ours
        met = score >= row.target
    else:
        score = ours / theirs
        met = score <= row.target
    to_plain = ours / median["plain"] if "plain" in median else None
    # How far the rounds disagree with each other: no difference below this is one.
    pairs = list(zip(samples[(row.metric, "hotpin")], samples[(row.metric, against)]))
    if row.kind == rows.MORE:
        scores = [a - b for a, b in pairs]
    else:
        scores = [b / a if row.kind == rows.FASTER else a / b for a, b in pairs]
    return {
        "median": median,
        "score": score,
        "met": met,
        "to_plain": to_plain,
        "spread": (max(scores) - min(scores)) / 2 if len(scores) > 1 else None,
    }


def in_unit(value, unit):
    if value is None:
        return "-"
    if unit == rows.BYTES:
        scales = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 0))
    else:
        scales = (("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 0))
    name, scale = next((n, s) for n, s in scales if abs(value) >= s)
    return "%.3g %s" % (value / (scale or (1 if unit == rows.BYTES else 1e-9)), name)


def in_words(row, result):
    if row.kind == rows.MORE:
        score = ("+" if result["score"] >= 0 else "") + in_unit(result["score"], row.unit)
        return score, "<= %s more" % in_unit(row.target, row.unit)
    if row.kind == rows.FASTER:
        return "%.2f x faster" % result["score"], ">= %.3g x faster" % row.target
    of = "hand" if row.kind == rows.HAND else "plain"
    return "%.3f x %s" % (result["score"], of), "<= %.3g x %s" % (row.target, of)


FORMAT = "%-26s %-42s %9s %9s %9s  %-14s %8s  %-16s %s"


def show(bench, row, result, verdict):
    median = result["median"]
    ratio, target = in_words(row, result)
    spread = ""
    if result["spread"] is not None:
        more = row.kind == rows.MORE
        spread = "+-" + (in_unit(result["spread"], row.unit) if more else "%.2g" % result["spread"])
    figures = tuple(in_unit(median.get(v), row.unit) for v in ("plain", "hotpin", "hand"))
    line = (bench.name, row.what) + figures + (ratio, spread, target, verdict)
    print(FORMAT % line, flush=True)


def show_grid(bench, results):
    """A line a kind of copy, a column a size; more than 1 is slower, ! marks what missed."""
    sizes = list(dict.fromkeys(row.metric.rpartition("_")[2] for row, _ in results))
    for against in ("plain", "hand"):
        print("%s: hotpin's time / that of %s" % (bench.name, against))
        print("%-18s" % "" + "".join("%7s" % size for size in sizes))
        lines = {}
        for row, result in results:
            kind, _, size = row.metric.rpartition("_")
            median = result["median"]
            if against in median:
                mark = "!" if against == "plain" and not result["met"] else " "
                ratio = median["hotpin"] / median[against]
                lines.setdefault(kind, {})[size] = "%6.3g%s" % (ratio, mark)
        for kind, cells in lines.items():
            print("%-18s" % kind + "".join("%7s" % cells.get(size, "") for size in sizes))
        sys.stdout.flush()


def run_bench(bench, options, missing, store):
    """Runs and shows one benchmark; returns its verdicts."""
    try:
        samples = measure(bench, options)
        results = [(row, judge(row, samples)) for row in bench.rows]
    except Skipped as reason:
        print("%-26s skipped: %s" % (bench.name, reason), flush=True)
        store["benchmarks"].append({"name": bench.name, "skipped": str(reason)})
        return ["skipped"]
    except Failed as reason:
        print("%-26s FAILED: %s" % (bench.name, reason), flush=True)
        store["benchmarks"].append({"name": bench.name, "failed": str(reason)})
        return ["failed"]
    verdicts, stored = [], []
    for row, result in results:
        waits = sorted(set(row.needs) & missing)
        verdict = "met" if result["met"] else "missed, not yet" if waits else "missed"
        text = verdict + (": " + ", ".join(waits) if waits and not result["met"] else "")
        # The promise that holds for every row, whatever its own target.
        to_plain = result["to_plain"]
        if row.kind in (rows.HAND, rows.FASTER) and to_plain and to_plain > rows.NEVER:
            text += "; SLOWER than plain: %.3f x" % to_plain
            verdict = "missed"
        if not options.check and not bench.grid:
            show(bench, row, result, text)
        verdicts.append(verdict)
        stored.append(dict(vars(row), **result, verdict=text))
    if bench.grid and not options.check:
        show_grid(bench, results)
    if options.check:
        print("%-26s runs, bytes are right" % bench.name, flush=True)
    variants = bench.variants.items()
    store["benchmarks"].append(
        {
            "name": bench.name,
            "rows": stored,
            "variants": {k: {"argv": argv, "environment": env} for k, (argv, env) in variants},
            "samples": {"%s@%s" % key: values for key, values in samples.items()},
        }
    )
    return verdicts


def chosen(names, all_benches):
    known = [b.name for b in all_benches]
    for name in names:
        if not fnmatch.filter(known, name):
            sys.exit("run.py: no benchmark called %s; there are: %s" % (name, " ".join(known)))
    return [b for b in all_benches if not names or any(fnmatch.fnmatch(b.name, n) for n in names)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"), help="folder")
    parser.add_argument("--lib", help="libhotpin.so; default: the build folder's")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="rounds")
    parser.add_argument("--json", metavar="FILE", help="write every figure to FILE")
    parser.add_argument("--check", action="store_true", help="small, one round, judge bytes only")
    parser.add_argument("--list", action="store_true", help="the names, and no more")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    options.programs = os.path.join(build, "test", "bench")
    options.tool = os.path.join(build, "tools", "hotpin")
    options.lib = os.path.abspath(options.lib or os.path.join(build, "src", "libhotpin.so"))
    if options.check:
        options.repeat = 1
    return options


def main():
    options = arguments()
    todo = chosen(options.names, rows.benches(options.check))
    if options.list:
        print("\n".join(b.name for b in todo))
        return 0
    if not os.path.exists(options.lib):
        sys.exit("run.py: %s is not there" % options.lib)
    missing = not_yet(options.tool)
    options.said = {}
    store = {
        "machine": machine(),
        "lib": options.lib,
        "repeat": options.repeat,
        "not_yet": sorted(missing),
        "stderr": options.said,
        "benchmarks": [],
    }
    if not options.check and store["machine"]["device"]:
        warm_memory(WARM_BYTES)
    if not options.check:
        print("%s, %s rounds" % (store["machine"]["device"] or "no device found", options.repeat))
        heads = ("name", "what", "plain", "hotpin", "hand", "ratio", "", "target", "verdict")
        print(FORMAT % heads)
    verdicts = []
    for bench in todo:
        verdicts += run_bench(bench, options, missing, store)
        if options.json:
            with open(options.json, "w") as out:
                json.dump(store, out, indent=1)
    if all(v == "skipped" for v in verdicts):
        return SKIPPED
    if not options.check:
        order = ("met", "missed", "missed, not yet", "failed", "skipped")
        count = {v: verdicts.count(v) for v in order if v in verdicts}
        print(", ".join("%d %s" % (n, v) for v, n in count.items()))
    bad = ("failed",) if options.check else ("failed", "missed")
    return 1 if any(v in bad for v in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
