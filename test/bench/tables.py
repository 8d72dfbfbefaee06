"""tables.py - what a run found, in Markdown: the table of the front page, and target beside seen.

Both are made from the JSON that run.py writes, so a table can be printed again without a device.
What was not measured is left out of the one and named in the other; nothing is filled in.
"""

import rows
import targets


def in_unit(value, unit):
    if value is None:
        return "-"
    if unit == rows.BYTES:
        scales = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 0))
    else:
        scales = (("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 0))
    name, scale = next((n, s) for n, s in scales if abs(value) >= s)
    return "%.3g %s" % (value / (scale or (1 if unit == rows.BYTES else 1e-9)), name)


def goal(kind, target, unit):
    if kind == rows.MORE:
        return "<= %s more" % in_unit(target, unit)
    if kind == rows.FASTER:
        return ">= %.3g x faster" % target
    return "<= %.3g x %s" % (target, "hand" if kind == rows.HAND else "plain")


def score_text(kind, score, unit):
    if kind == rows.MORE:
        return ("+" if score >= 0 else "") + in_unit(score, unit)
    if kind == rows.FASTER:
        return "%.2f x faster" % score
    return "%.3f x %s" % (score, "hand" if kind == rows.HAND else "plain")


def benchmarks(stores):
    """name -> what was stored of it; of several runs, the last that has measured it."""
    return {b["name"]: b for store in stores for b in store["benchmarks"] if "rows" in b}


def rounds_of(bench):
    return min(len(values) for values in bench["samples"].values())


def caption(store):
    """Where, with what and how: a line that belongs under every figure."""
    machine = store["machine"]
    where = [machine.get("device") or "no device"]
    where += [machine.get("cuda") and "CUDA %s" % machine["cuda"]]
    where += ["%d processors" % machine["cpu_count"], "Linux %s" % machine["kernel"].split("-")[0]]
    how = "`%s`" % store["command"] if store.get("command") else None
    made = [store.get("commit") and "commit %s" % store["commit"], store.get("date")]
    text = ", ".join(w for w in where if w)
    text += "".join("; " + w for w in (", ".join(m for m in made if m), how) if w)
    return text


def in_rounds(least, most):
    if most == 1:
        return "one round"
    return "medians of %s" % (least if least == most else "%d to %d" % (least, most))


def captions(stores, names):
    """One caption a run that has a part in the table, with the rounds that it took."""
    shown = benchmarks(stores)
    lines = []
    for store in stores:
        mine = [b for b in store["benchmarks"] if shown.get(b["name"]) is b and b["name"] in names]
        if mine:
            rounds = [rounds_of(b) for b in mine]
            whose = "* %s: " % ", ".join(b["name"] for b in mine) if len(stores) > 1 else ""
            lines.append("%s%s; %s" % (whose, caption(store), in_rounds(min(rounds), max(rounds))))
    return lines


def front(stores):
    """The table of the front page: what was measured of it."""
    found = benchmarks(stores)
    lines = ["| | plain | hotpin | by hand | plain / hotpin |", "|---|---:|---:|---:|---:|"]
    used = set()
    for name, metric, what in targets.FRONT:
        row = {r["metric"]: r for r in found.get(name, {"rows": []})["rows"]}.get(metric)
        if row is None:
            continue
        used.add(name)
        median = row["median"]
        figures = [in_unit(median.get(v), row["unit"]) for v in ("plain", "hotpin", "hand")]
        gain = "%.2f" % (median["plain"] / median["hotpin"])
        lines.append("| %s |" % " | ".join([what] + figures + [gain]))
    if not used:
        return ["Nothing of this table was measured."]
    return lines + [""] + captions(stores, used)


def groups(target, found):
    """The rows of a target, by promise, in the order of rows.py: (promise, [(benchmark, row)])."""
    result = {}
    for name, bench in found.items():
        if target.takes(name):
            for row in bench["rows"]:
                promise = (row["kind"], row["target"], row["unit"])
                result.setdefault(promise, []).append((bench, row))
    return result


def distance(row):
    """How far from its promise a row is; the largest is the worst."""
    if row["kind"] == rows.MORE:
        return row["score"] - row["target"]
    return -row["score"] if row["kind"] == rows.FASTER else row["score"]


def told(row):
    text = score_text(row["kind"], row["score"], row["unit"])
    if row["spread"] is not None:
        more = row["kind"] == rows.MORE
        text += " +-" + (in_unit(row["spread"], row["unit"]) if more else "%.2g" % row["spread"])
    median = row["median"]
    figures = [in_unit(median[v], row["unit"]) for v in ("plain", "hotpin", "hand") if v in median]
    return "%s: %s (%s)" % (row["what"], text, ", ".join(figures))


def seen_of(members):
    """The worst of several rows, and each that missed."""
    by_distance = sorted((row for _, row in members), key=distance, reverse=True)
    missed = [row for row in by_distance if not row["met"]]
    if not missed:
        worst = "worst " if len(by_distance) > 1 else ""
        return worst + told(by_distance[0])
    return "; ".join(told(row) for row in missed)


def slower(found):
    """Every figure that is slower than plain beyond the promise, and how many there are in all."""
    members = [
        row
        for bench in found.values()
        for row in bench["rows"]
        if row["to_plain"] is not None and row["kind"] != rows.MORE and row["unit"] == rows.SECONDS
    ]
    return members, [row for row in members if row["to_plain"] > rows.NEVER]


def spread_to_plain(row, bench):
    """Half of what the rounds' own ratios to plain differ by; None with one round."""
    ours, plain = (bench["samples"].get("%s@%s" % (row["metric"], v)) for v in ("hotpin", "plain"))
    ratios = [a / b for a, b in zip(ours or [], plain or [])]
    return (max(ratios) - min(ratios)) / 2 if len(ratios) > 1 else None


def never(found):
    """The line of the promise that holds for everything."""
    members, late = slower(found)
    if not members:
        return "not measured", "-"
    where = {id(row): bench for bench in found.values() for row in bench["rows"]}
    sure = []
    for row in sorted(late, key=lambda row: row["to_plain"], reverse=True):
        spread = spread_to_plain(row, where[id(row)])
        if spread is not None and row["to_plain"] - spread > rows.NEVER:
            sure.append("%s %s: %.3f +-%.2g" % (where[id(row)]["name"], row["what"],
                                                row["to_plain"], spread))
    text = "%d of %d figures above %.2f x plain" % (len(late), len(members), rows.NEVER)
    if late:
        text += ", %d of them by more than the rounds differ" % len(sure)
    if sure:
        text += ": " + "; ".join(sure[:8])
        text += "; and %d more" % (len(sure) - 8) if len(sure) > 8 else ""
    return text, "missed" if late else "met"


def target_lines(target, found):
    if target.every:
        seen, verdict = never(found)
        return ["| %s | <= %.2f x | %s | %s |" % (target.case, rows.NEVER, seen, verdict)]
    lines = []
    for promise, members in groups(target, found).items():
        names = ", ".join(dict.fromkeys("`%s`" % bench["name"] for bench, _ in members))
        count = sum(row["met"] for _, row in members)
        verdict = "met" if count == len(members) else "**missed**"
        if len(members) > 1:
            verdict += " %d of %d" % (count, len(members))
        case = "%s (%s)" % (target.case, names)
        lines.append("| %s | %s | %s | %s |" % (case, goal(*promise), seen_of(members), verdict))
    return lines


def seen(stores):
    """A line a promise: target, what was seen, verdict."""
    found = benchmarks(stores)
    lines = ["| case | target | seen: ratio +- spread (plain, hotpin, by hand) | verdict |",
             "|---|---|---|---|"]
    for target in targets.TARGETS + targets.MORE:
        mine = target_lines(target, found)
        if not mine and target in targets.TARGETS:
            names = ", ".join("`%s`" % name for name in target.names)
            mine = ["| %s (%s) | | not measured | - |" % (target.case, names)]
        lines += mine
    return lines + [""] + captions(stores, set(found))
