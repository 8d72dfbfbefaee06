"""tables.py - writes a run as Markdown: the table of single operations, and targets with results.

Both are made from the JSON that run.py writes, so publish.py needs no device.
Figures that were not measured are missing from the first table and named in the second; no figure
is invented.
"""

import re

import rows
import targets


def in_unit(value):
    if value is None:
        return "-"
    scales = (("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 0))
    name, scale = next((n, s) for n, s in scales if abs(value) >= s)
    return "%.3g %s" % (value / (scale or 1e-9), name)


def goal(kind, target):
    if kind == rows.MORE:
        return "<= %s more" % in_unit(target)
    if kind == rows.FASTER:
        return ">= %.3g x faster" % target
    return "<= %.3g x %s" % (target, "hand" if kind == rows.HAND else "plain")


def score_text(kind, score):
    if kind == rows.MORE:
        return ("+" if score >= 0 else "") + in_unit(score)
    if kind == rows.FASTER:
        return "%.2f x faster" % score
    return "%.3f x %s" % (score, "hand" if kind == rows.HAND else "plain")


def benchmarks(stores):
    """Returns name -> stored benchmark; of several runs, the last one that measured it."""
    return {b["name"]: b for store in stores for b in store["benchmarks"] if "rows" in b}


def caption(store):
    """Returns the line that belongs under every figure: the machine, versions, and method."""
    machine = store["machine"]
    where = [machine.get("device") or "no device"]
    where += [machine.get("cuda") and "CUDA %s" % machine["cuda"]]
    where += ["%d CPUs" % machine["cpu_count"], "Linux %s" % machine["kernel"].split("-")[0]]
    how = "`%s`" % store["command"] if store.get("command") else None
    made = [store.get("commit") and "commit %s" % store["commit"], store.get("date")]
    text = ", ".join(w for w in where if w)
    text += "".join("; " + w for w in (", ".join(m for m in made if m), how) if w)
    return text


def in_rounds(benches):
    """Says how many rounds the figures of these stored benchmarks have."""
    counts = [len(values) for bench in benches for values in bench["samples"].values()]
    least, most = min(counts), max(counts)
    if most == 1:
        return "one round"
    return "medians of %s" % (least if least == most else "%d to %d" % (least, most))


def captions(stores, names):
    """Returns one caption for each run with a part in the table, with its rounds."""
    shown = benchmarks(stores)
    lines = []
    for store in stores:
        mine = [b for b in store["benchmarks"] if shown.get(b["name"]) is b and b["name"] in names]
        if mine:
            whose = "* %s: " % ", ".join(b["name"] for b in mine) if len(stores) > 1 else ""
            lines.append("%s%s; %s" % (whose, caption(store), in_rounds(mine)))
    return lines


def front(stores):
    """Returns the table of single operations, as far as they were measured."""
    found = benchmarks(stores)
    lines = ["| | plain | hotpin | hand-tuned | plain / hotpin |", "|---|---:|---:|---:|---:|"]
    used = set()
    for name, metric, what in targets.FRONT:
        row = {r["metric"]: r for r in found.get(name, {"rows": []})["rows"]}.get(metric)
        if row is None:
            continue
        used.add(name)
        median = row["median"]
        figures = [in_unit(median.get(v)) for v in ("plain", "hotpin", "hand")]
        gain = "%.2f" % (median["plain"] / median["hotpin"])
        lines.append("| %s |" % " | ".join([what] + figures + [gain]))
    if not used:
        return ["Nothing of this table was measured."]
    return lines + [""] + captions(stores, used)


def loop_lines(bench):
    """Returns a line for each loop of torch_loops.py: its copy, and its whole iteration."""
    of_metric = {row["metric"]: row for row in bench["rows"]}
    lines = []
    for metric, row in of_metric.items():
        kind, _, name = metric.partition("_")
        if kind != "cuda" or "batch_" + name not in of_metric:
            continue
        medians = (row["median"], of_metric["batch_" + name]["median"])
        figures = [in_unit(median.get(v)) for median in medians
                   for v in ("plain", "hotpin", "hand")]
        what = row["what"].partition(", ")[2]
        lines.append("| %s |" % " | ".join([what] + figures))
    return lines


def model_lines(bench):
    lines = []
    for row in bench["rows"]:
        median = row["median"]
        figures = [in_unit(median.get(v)) for v in ("plain", "hotpin", "hand")]
        gain = "%.2f" % (median["plain"] / median["hotpin"])
        lines.append("| %s |" % " | ".join([row["what"]] + figures + [gain]))
    return lines


def pytorch(stores):
    """Returns the measured tables of the page about PyTorch; [] if nothing was measured."""
    found = benchmarks(stores)
    loops = [n for n in targets.PYTORCH if n.startswith("torch-loops") and n in found]
    lines = []
    if loops:
        lines += ["| loop | `.cuda()`: plain | hotpin | hand-tuned | turn: plain | hotpin | hand-tuned |",
                  "|---|---:|---:|---:|---:|---:|---:|"]
        for name in loops:
            lines += loop_lines(found[name])
        lines += [""]
    if "torch-models" in found:
        lines += ["| | plain | hotpin | hand-tuned | plain / hotpin |", "|---|---:|---:|---:|---:|"]
        lines += model_lines(found["torch-models"]) + [""]
    used = {name for name in targets.PYTORCH if name in found}
    return lines + captions(stores, used) if lines else []


def groups(target, found):
    """Returns the rows of a target by promise, in the order of rows.py: (promise, [(benchmark,
    row)])."""
    result = {}
    for name, bench in found.items():
        if target.takes(name):
            for row in bench["rows"]:
                promise = (row["kind"], row["target"])
                result.setdefault(promise, []).append((bench, row))
    return result


def distance(row):
    """Returns how far a row is from its promise; the largest value is the worst."""
    if row["kind"] == rows.MORE:
        return row["score"] - row["target"]
    return -row["score"] if row["kind"] == rows.FASTER else row["score"]


def times(row):
    """Returns the times of a row: plain, hotpin, and hand-tuned where it was measured."""
    median = row["median"]
    return ", ".join(in_unit(median[v]) for v in ("plain", "hotpin", "hand") if v in median)


def told(row):
    text = score_text(row["kind"], row["score"])
    if row["spread"] is not None:
        more = row["kind"] == rows.MORE
        text += " +-" + (in_unit(row["spread"]) if more else "%.2g" % row["spread"])
    return "%s: %s (%s)" % (row["what"], text, times(row))


def seen_of(members):
    """Returns the worst of several rows, and each that missed."""
    by_distance = sorted((row for _, row in members), key=distance, reverse=True)
    missed = [row for row in by_distance if not row["met"]]
    if not missed:
        worst = "worst " if len(by_distance) > 1 else ""
        return worst + told(by_distance[0])
    return "; ".join(told(row) for row in missed)


def slower(found):
    """Returns every figure that is slower than plain beyond the promise, and the number of all."""
    members = [
        row
        for bench in found.values()
        for row in bench["rows"]
        if row["to_plain"] is not None and row["kind"] != rows.MORE
    ]
    return members, [row for row in members if row["to_plain"] > rows.NEVER]


def spread_to_plain(row, bench):
    """Returns half of the range of the rounds' own ratios to plain; None with one round."""
    ours, plain = (bench["samples"].get("%s@%s" % (row["metric"], v)) for v in ("hotpin", "plain"))
    ratios = [a / b for a, b in zip(ours or [], plain or [])]
    return (max(ratios) - min(ratios)) / 2 if len(ratios) > 1 else None


def surely_slower(found):
    """Of all figures, returns their number, how many are above the promise, how many of these have
    only one round, and [(ratio, half, name, what)] of those above it by more than their rounds
    differ, the worst first."""
    members, late = slower(found)
    where = {id(row): bench for bench in found.values() for row in bench["rows"]}
    sure, once = [], 0
    for row in sorted(late, key=lambda row: row["to_plain"], reverse=True):
        spread = spread_to_plain(row, where[id(row)])
        once += spread is None
        if spread is not None and row["to_plain"] - spread > rows.NEVER:
            sure.append((row["to_plain"], spread, where[id(row)]["name"], row["what"]))
    return len(members), len(late), once, sure


def never(found):
    """Returns the line of the promise that holds for everything."""
    count, late, once, sure = surely_slower(found)
    if not count:
        return "not measured", "-"
    text = "%d of %d figures above %.2f x plain" % (late, count, rows.NEVER)
    if late:
        text += ", %d of them by more than the rounds differ" % len(sure)
    if once:
        text += ", %d with one round, which tells nothing" % once
    if sure:
        text += ": " + "; ".join("%s %s: %.3f +-%.2g" % (name, what, ratio, half)
                                 for ratio, half, name, what in sure[:8])
        text += "; and %d more" % (len(sure) - 8) if len(sure) > 8 else ""
    return text, "missed" if late else "met"


def target_lines(target, found):
    if target.every:
        seen, verdict = never(found)
        return ["| %s | <= %.2f x | %s | %s |" % (target.case, rows.NEVER, seen, verdict)]
    lines = []
    for promise, members in groups(target, found).items():
        names = ", ".join(dict.fromkeys("`%s`" % bench["name"] for bench, _ in members))
        missed = sum(not row["met"] for _, row in members)
        verdict = "**missed**" if missed else "met"
        if len(members) > 1:
            verdict += " %d of %d" % (missed or len(members), len(members))
        case = "%s (%s)" % (target.case, names)
        lines.append("| %s | %s | %s | %s |" % (case, goal(*promise), seen_of(members), verdict))
    return lines


def ends(members):
    """Names the figures of a line: the first, the last, and their benchmarks."""
    words = list(dict.fromkeys(re.split("[;,]", row["what"])[0] for _, row in members))
    names = dict.fromkeys("`%s`" % bench["name"] for bench, _ in members)
    whole = words[0] if len(words) == 1 else "%s .. %s" % (words[0], words[-1])
    return "%s (%s)" % (whole, ", ".join(names))


def why(names, sections):
    """Returns a link to the page's explanation of a missed target, if it has one."""
    known = [name for name in names if name in sections]
    return ", [why](#%s)" % known[0] if known else ""


def short_lines(target, found, sections):
    if target.every:
        count, late, once, sure = surely_slower(found)
        if not count:
            return []
        seen = "%d of %d figures slower by more than the rounds differ" % (len(sure), count)
        seen += "; worst %.2f x: %s %s" % (sure[0][0], sure[0][2], sure[0][3]) if sure else ""
        seen += "; %d more with one round only" % once if once else ""
        met = "**no**" + why(["never-slower"], sections) if late else "yes"
        return ["| %s | <= %.2f x plain | %s | %s |" % (target.case, rows.NEVER, seen, met)]
    lines, promises = [], groups(target, found)
    for promise, members in promises.items():
        worst = max((row for _, row in members), key=distance)
        met = sum(row["met"] for _, row in members)
        verdict = "yes"
        if met < len(members):
            names = [bench["name"] for bench, row in members if not row["met"]]
            verdict = "**no**" if met == 0 else "**%d of %d**" % (met, len(members))
            verdict += why(names, sections)
        seen = score_text(worst["kind"], worst["score"])
        if len(members) > 1:
            seen += " at worst: %s" % worst["what"].split(";")[0]
        seen += " (%s)" % times(worst)
        case = target.case if len(promises) == 1 else "%s: %s" % (target.case, ends(members))
        lines.append("| %s | %s | %s | %s |" % (case, goal(*promise), seen, verdict))
    return lines


def short(stores, sections=()):
    """Returns a line for each promise: the worst figure, and whether it meets the promise; and the
    machines.  `sections` are the names of benchmarks that the page explains."""
    found = benchmarks(stores)
    lines = []
    for target in targets.TARGETS + targets.MORE:
        lines += short_lines(target, found, sections)
    met = sum(line.endswith("| yes |") for line in lines)
    head = ["%d of %d lines are met." % (met, len(lines)), "",
            "| case | target | measured | met |", "|---|---|---|---|"]
    return head + lines + [""] + captions(stores, set(found))


def seen(stores):
    """Returns a line for each promise: target, result with each miss, verdict."""
    found = benchmarks(stores)
    lines = ["| case | target | measured: ratio +- spread (plain, hotpin, hand-tuned) | verdict |",
             "|---|---|---|---|"]
    for target in targets.TARGETS + targets.MORE:
        mine = target_lines(target, found)
        if not mine and target in targets.TARGETS:
            names = ", ".join("`%s`" % name for name in target.names)
            mine = ["| %s (%s) | | not measured | - |" % (target.case, names)]
        lines += mine
    return lines + [""] + captions(stores, set(found))
