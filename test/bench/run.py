#!/usr/bin/env python3
"""run.py - checks hotpin's targets: each is a ratio of figures that are measured side by side.

    run.py [--build DIR] [--lib FILE] [--repeat N] [--json FILE] [--check] [--list] [NAME...]
    run.py --front | --targets | --pytorch [--budget SECONDS] [--json FILE] [NAME...]

Every variant is a process of its own.  Variants take turns in a rotating order for N rounds, and a
figure is the median over the rounds.  A NAME may end in * .

--front measures and prints the table of single operations, --targets every target with its result,
--pytorch the tables of doc/pytorch.md, all in Markdown.
With --budget everything runs once, in the order of targets.py, and then again, until the time is
over.  Benchmarks that seem to miss a target after two rounds get up to nine, even if they then pass;
sizes above those in doubt are left out.

With --against the variant `hotpin` also runs with a second library, an earlier one for instance, in
the same rounds.  Figures that are slower than with it, by more than 3 % and the differences between
rounds, are named at the end.

Exit status: 0 all targets met; 1 a target was missed, a program failed, or a byte was wrong; 77
nothing could run here.
"""

import argparse
import fnmatch
import json
import os
import statistics
import subprocess
import sys
import time

# meson runs this script in a clone, which is to stay as it is.
sys.dont_write_bytecode = True

import machine  # noqa: E402
import rows  # noqa: E402
import tables  # noqa: E402
import targets  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
WARM_BYTES = 16 << 30
PROCESS_SECONDS = 180
ROUNDS, ROUNDS_OF_A_TABLE, ROUNDS_IN_TIME = 5, 3, 2
MOST_ROUNDS = 9  # rounds of a doubtful benchmark
OTHER = "other"  # the variant `hotpin` with the library of --against
SLOWER = 1.03


class Skipped(Exception):
    pass


class Failed(Exception):
    pass


def run_variant(bench, variant, options):
    argv, extra = bench.variants["hotpin" if variant == OTHER else variant]
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
    if variant == OTHER or variant in bench.preloaded:
        library = options.against if variant == OTHER else options.lib
        environment.update(extra, LD_PRELOAD=library)
    injected = extra.get("CUDA_INJECTION64_PATH")
    if injected:
        injected = os.path.join(options.programs, injected)
        if not os.path.exists(injected):
            raise Skipped("%s was not built" % os.path.basename(injected))
        environment["CUDA_INJECTION64_PATH"] = injected
    begin = time.monotonic()
    try:
        done = subprocess.run(
            argv, env=environment, capture_output=True, text=True, timeout=options.patience
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
    if injected and not options.check and not said.startswith("floor:"):
        raise Failed("%s: the driver did not load %s" % (variant, injected))
    if said:
        options.said["%s %s" % (bench.name, variant)] = said[-2000:]
    figures = {}
    for line in done.stdout.splitlines():
        name, value = line.split()
        metric, _, whose = name.partition("@")
        if variant != OTHER or not whose:
            figures[(metric, whose or variant)] = float(value)
    figures[("process", variant)] = wall
    return figures


def take_round(bench, number, options, samples):
    """Runs every variant once; samples: (metric, variant) -> one figure for each round."""
    order = list(bench.variants)
    if options.against and "hotpin" in bench.preloaded:
        order.append(OTHER)
    found = {}
    for variant in order[number % len(order) :] + order[: number % len(order)]:
        found.update(run_variant(bench, variant, options))
    for key, value in found.items():
        samples.setdefault(key, []).append(value)


def judge(row, samples):
    """Returns the figures of a row, the judged ratio or difference, and whether the promise holds.
    """
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
    to_plain = ours / median["plain"] if "plain" in median and not row.slows else None
    # How much the rounds differ: a smaller difference means nothing.
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


def in_words(row, result):
    return (
        tables.score_text(row.kind, result["score"]),
        tables.goal(row.kind, row.target),
    )


FORMAT = "%-26s %-42s %9s %9s %9s  %-14s %8s  %-16s %s"


def show(bench, row, result, verdict):
    median = result["median"]
    ratio, target = in_words(row, result)
    spread = ""
    if result["spread"] is not None:
        more = row.kind == rows.MORE
        half = result["spread"]
        spread = "+-" + (tables.in_unit(half) if more else "%.2g" % half)
    figures = tuple(tables.in_unit(median.get(v)) for v in ("plain", "hotpin", "hand"))
    line = (bench.name, row.what) + figures + (ratio, spread, target, verdict)
    print(FORMAT % line, flush=True)


def show_grid(bench, results):
    """Prints a line for each kind of copy, a column for each size; above 1 is slower, ! is missed.
    """
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


def verdict_of(row, result):
    """Returns the word that counts, and the text that is shown."""
    text = verdict = "met" if result["met"] else "missed"
    # This promise holds for every row, in addition to its own target.
    to_plain = result["to_plain"]
    if row.kind in (rows.HAND, rows.FASTER) and to_plain and to_plain > rows.NEVER:
        text += "; SLOWER than plain: %.3f x" % to_plain
        verdict = "missed"
    return verdict, text


def weigh(bench, samples, problem):
    """Returns the stored form of a benchmark, its results by row, and its verdicts."""
    try:
        if problem:
            raise problem
        results = [(row, judge(row, samples)) for row in bench.rows]
    except (Skipped, Failed) as reason:
        kind = "skipped" if isinstance(reason, Skipped) else "failed"
        return {"name": bench.name, kind: str(reason)}, [], [kind]
    verdicts = [verdict_of(row, result) for row, result in results]
    stored = [dict(vars(r), **found, verdict=v[1]) for (r, found), v in zip(results, verdicts)]
    variants = bench.variants.items()
    whole = {
        "name": bench.name,
        "rows": stored,
        "variants": {k: {"argv": argv, "environment": env} for k, (argv, env) in variants},
        "samples": {"%s@%s" % key: values for key, values in samples.items()},
    }
    return whole, results, [v[0] for v in verdicts]


def show_bench(bench, stored, results, options):
    for kind, text in (("skipped", "skipped"), ("failed", "FAILED")):
        if kind in stored:
            out = sys.stderr if options.markdown else sys.stdout
            print("%-26s %s: %s" % (bench.name, text, stored[kind]), file=out, flush=True)
            return
    if options.check:
        print("%-26s runs, bytes are right" % bench.name, flush=True)
    elif bench.grid and not options.markdown:
        show_grid(bench, results)
    elif not options.markdown:
        for (row, result), told in zip(results, stored["rows"]):
            show(bench, row, result, told["verdict"])


def write_json(options, store):
    if options.json:
        with open(options.json + ".new", "w") as out:
            json.dump(store, out, indent=1)
        os.replace(options.json + ".new", options.json)


def one_by_one(todo, options, store):
    """Completes each benchmark before the next; returns all verdicts."""
    verdicts = []
    for bench in todo:
        samples, problem = {}, None
        try:
            for number in range(options.repeat):
                take_round(bench, number, options, samples)
        except (Skipped, Failed) as reason:
            problem = reason
        stored, results, words = weigh(bench, samples, problem)
        show_bench(bench, stored, results, options)
        store["benchmarks"].append(stored)
        verdicts += words
        write_json(options, store)
    return verdicts


def in_doubt(results, verdicts):
    """Returns the rows that seem to miss a target, or to be slower than plain."""
    return [row for (row, _), verdict in zip(results, verdicts) if verdict == "missed"]


def within(todo, options, store):
    """Runs all of them once, then again, then the doubtful ones, as long as there is time; returns
    all verdicts.  Figures measured before the end of the run are always stored."""
    taken, problems, cost, known = {b.name: {} for b in todo}, {}, {}, {}

    def take(bench, number, part):
        name, left = bench.name, options.budget - (time.monotonic() - options.begin)
        if name in problems or cost.get(name, 0) >= left:
            return
        options.patience = min(PROCESS_SECONDS, left + 10)
        start = time.monotonic()
        try:
            take_round(part, number, options, taken[name])
        except (Skipped, Failed) as reason:
            problems[name] = reason
        cost[name] = time.monotonic() - start
        note = "%4d s  round %d: %s, %.1f s"
        done = (time.monotonic() - options.begin, number + 1, name, cost[name])
        print(note % done, file=sys.stderr, flush=True)
        known[name] = weigh(bench, taken[name], problems.get(name))
        store["benchmarks"] = [known[b.name][0] for b in todo if b.name in known]
        write_json(options, store)

    for number in range(options.repeat):
        for bench in todo:
            take(bench, number, bench)
    # Chosen once, because repeating until a figure fits would not be a measurement.
    doubtful = []
    for bench in todo:
        rows_in_doubt = in_doubt(*known[bench.name][1:]) if bench.name in known else []
        if rows_in_doubt:
            doubtful.append((bench, bench.up_to(rows_in_doubt)))
    for number in range(options.repeat, MOST_ROUNDS):
        for bench, part in doubtful:
            take(bench, number, part)
    verdicts = []
    for bench in todo:
        if bench.name not in known:
            print("%-26s no time left" % bench.name, file=sys.stderr)
            continue
        stored, results, words = known[bench.name]
        show_bench(bench, stored, results, options)
        verdicts += words
    return verdicts


def chosen(names, all_benches):
    known = [b.name for b in all_benches]
    for name in names:
        if not fnmatch.filter(known, name):
            sys.exit("run.py: no benchmark called %s; there are: %s" % (name, " ".join(known)))
    return [b for b in all_benches if not names or any(fnmatch.fnmatch(b.name, n) for n in names)]


def in_order(benches, options):
    """Returns the benchmarks that a table needs, in the order in which they get time."""
    names = [name for name, _, _ in targets.FRONT] if options.front else []
    names += targets.needed(targets.TARGETS) if options.targets else []
    names += targets.PYTORCH if options.pytorch else []
    return [b for n in dict.fromkeys(names) for b in benches if fnmatch.fnmatch(b.name, n)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"), help="folder")
    parser.add_argument("--lib", help="libhotpin.so; default: the build folder's")
    parser.add_argument("--against", metavar="FILE", help="a second libhotpin.so")
    parser.add_argument("--repeat", type=int, metavar="N",
                        help="rounds; 5, or 3 for a table, 2 with --budget")
    parser.add_argument("--json", metavar="FILE", help="write every figure to FILE")
    parser.add_argument("--check", action="store_true", help="small, one round, judge bytes only")
    parser.add_argument("--list", action="store_true", help="the names, and no more")
    parser.add_argument("--front", action="store_true", help="print the table of single operations")
    parser.add_argument("--targets", action="store_true", help="print target next to result")
    parser.add_argument("--pytorch", action="store_true", help="print doc/pytorch.md's tables")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="begin nothing beyond it")
    parser.add_argument("--commit", help="of the library, where git cannot tell")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    options.programs = os.path.join(build, "test", "bench")
    options.lib = os.path.abspath(options.lib or os.path.join(build, "src", "libhotpin.so"))
    options.against = options.against and os.path.abspath(options.against)
    options.markdown = options.front or options.targets or options.pytorch
    options.patience = PROCESS_SECONDS
    if options.repeat is None:
        options.repeat = ROUNDS_OF_A_TABLE if options.markdown else ROUNDS
        options.repeat = ROUNDS_IN_TIME if options.budget else options.repeat
    if options.check:
        options.repeat = 1
    return options


def slower_than_other(store):
    """Returns the number of figures that both libraries have, and a line for each slower one."""
    count, lines = 0, []
    for bench in store["benchmarks"]:
        samples = bench.get("samples", {})
        for row in bench.get("rows", ()):
            ours, theirs = (samples.get("%s@%s" % (row["metric"], v)) for v in ("hotpin", OTHER))
            if not ours or not theirs:
                continue
            count += 1
            now, before = statistics.median(ours), statistics.median(theirs)
            differ = max(max(figures) - min(figures) for figures in (ours, theirs))
            if now > SLOWER * before + differ:
                figures = "%s, other %s" % (tables.in_unit(now), tables.in_unit(before))
                lines.append("%s %s: %s" % (bench["name"], row["what"], figures))
    return count, lines


def print_tables(options, store):
    made = ((options.front, tables.front), (options.targets, tables.seen),
            (options.pytorch, tables.pytorch))
    print("\n\n".join("\n".join(make([store])) for wanted, make in made if wanted))


def main():
    options = arguments()
    options.begin = time.monotonic()
    every = rows.benches(options.check)
    todo = chosen(options.names, every)
    if options.markdown and not options.names:
        todo = in_order(every, options)
    if options.list:
        print("\n".join(b.name for b in todo))
        return 0
    for library in filter(None, (options.lib, options.against)):
        if not os.path.exists(library):
            sys.exit("run.py: %s is not there" % library)
    options.said = {}
    store = {
        "machine": machine.describe(),
        "commit": options.commit or machine.commit(),
        "date": time.strftime("%Y-%m-%d"),
        "command": machine.command(sys.argv),
        "lib": options.lib,
        "repeat": options.repeat,
        "stderr": options.said,
        "benchmarks": [],
    }
    if not options.check and store["machine"]["device"]:
        machine.warm_memory(WARM_BYTES)
    if not options.check and not options.markdown:
        print(tables.caption(store))
        heads = ("name", "what", "plain", "hotpin", "hand", "ratio", "", "target", "verdict")
        print(FORMAT % heads)
    run_all = within if options.budget else one_by_one
    verdicts = run_all(todo, options, store)
    if all(v == "skipped" for v in verdicts):
        return SKIPPED
    if options.markdown:
        print_tables(options, store)
    elif not options.check:
        order = ("met", "missed", "failed", "skipped")
        count = {v: verdicts.count(v) for v in order if v in verdicts}
        print(", ".join("%d %s" % (n, v) for v, n in count.items()))
    if options.against:
        count, lines = slower_than_other(store)
        print("%d of %d figures are slower than with the other library" % (len(lines), count))
        print("".join(line + "\n" for line in lines), end="")
    bad = ("failed",) if options.check else ("failed", "missed")
    return 1 if any(v in bad for v in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
