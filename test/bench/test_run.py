#!/usr/bin/env python3
"""test_run.py - tests how run.py judges figures: each promise kept, just kept, and broken."""

import contextlib
import io
import json
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)

import rows  # noqa: E402
import run  # noqa: E402
import tables  # noqa: E402
import targets  # noqa: E402


def judged(kind, target, plain, hotpin, hand=None):
    row = rows.Row("it", "it", kind, target)
    samples = {("it", "plain"): plain, ("it", "hotpin"): hotpin}
    if hand is not None:
        samples[("it", "hand")] = hand
    return row, run.judge(row, samples)


class Judge(unittest.TestCase):
    def check(self, kind, target, met, missed):
        """met, missed: (plain, hotpin, hand)"""
        for figures, verdict in ((met, True), (missed, False)):
            result = judged(kind, target, *([f] if f is not None else None for f in figures))[1]
            self.assertEqual(result["met"], verdict, (kind, figures))

    def test_kinds(self):
        self.check(rows.HAND, 1.10, (9.0, 1.10, 1.0), (9.0, 1.12, 1.0))
        self.check(rows.FASTER, 2.0, (2.0, 1.0, None), (1.9, 1.0, None))
        self.check(rows.SLOWER, 1.02, (1.0, 1.02, None), (1.0, 1.03, None))
        self.check(rows.MORE, 64 << 20, (1 << 30, (1 << 30) + (64 << 20), None),
                   (1 << 30, (1 << 30) + (64 << 20) + 1, None))

    def test_what_has_its_price_is_not_held_against_plain(self):
        samples = {("it", "plain"): [1.0], ("it", "hotpin"): [2.0], ("it", "hand"): [1.9]}
        for slows in (False, True):
            row = rows.Row("it", "it", rows.HAND, 1.10, slows=slows)
            self.assertEqual(run.judge(row, samples)["to_plain"], None if slows else 2.0)

    def test_less_than_plain_is_never_missed(self):
        self.check(rows.MORE, 3e-9, (50e-9, 1e-9, None), (50e-9, 54e-9, None))

    def test_median(self):
        result = judged(rows.SLOWER, 1.02, [1, 1, 1], [1, 9, 1])[1]
        self.assertTrue(result["met"])
        self.assertEqual(result["spread"], 4)

    def test_a_figure_that_is_missing(self):
        for kind in (rows.HAND, rows.SLOWER):
            row = rows.Row("it", "it", kind, 1)
            with self.assertRaises(run.Failed):
                run.judge(row, {("it", "hotpin"): [1]})


class Other(unittest.TestCase):
    def slower(self, ours, theirs):
        store = {"benchmarks": [
            {"name": "b", "rows": [{"metric": "it", "what": "a copy"}],
             "samples": {"it@hotpin": ours, "it@other": theirs, "it@plain": [1.0]}},
            {"name": "c", "rows": [{"metric": "it", "what": "a copy"}], "samples": {"it@hotpin": [9.0]}},
            {"name": "d", "failed": "why"}]}
        return run.slower_than_other(store)

    def test_slower_by_more_than_rounds_differ(self):
        self.assertEqual(self.slower([1.04e-3], [1e-3]), (1, ["b a copy: 1.04 ms, other 1 ms"]))
        self.assertEqual(self.slower([1.02e-3], [1e-3]), (1, []))
        self.assertEqual(self.slower([1.04e-3, 1.04e-3], [0.99e-3, 1.01e-3]), (1, []))
        self.assertEqual(self.slower([0.5e-3], [1e-3]), (1, []))

    def test_a_round_runs_both(self):
        bench = types.SimpleNamespace(variants={"plain": None, "hotpin": None}, preloaded=("hotpin",))
        for against, variants in (("old.so", ["plain", "hotpin", "other"]), (None, ["plain", "hotpin"])):
            ran = []
            with mock.patch.object(run, "run_variant", lambda b, variant, o: ran.append(variant) or {}):
                run.take_round(bench, 0, types.SimpleNamespace(against=against), {})
            self.assertEqual(ran, variants)


class Words(unittest.TestCase):
    def words(self, *arguments, **named):
        return run.in_words(*judged(*arguments, **named))

    def test_seconds(self):
        self.assertEqual(self.words(rows.MORE, 3e-9, [1e-9], [3e-9]), ("+2 ns", "<= 3 ns more"))
        self.assertEqual(self.words(rows.MORE, 2e-3, [3e-3], [1e-3]), ("-2 ms", "<= 2 ms more"))
        self.assertEqual(
            self.words(rows.FASTER, 3.0, [4], [2]), ("2.00 x faster", ">= 3 x faster")
        )

    def test_units(self):
        for value, text in ((None, "-"), (0, "0 ns"), (1.5e-6, "1.5 us"), (2.0, "2 s")):
            self.assertEqual(run.tables.in_unit(value), text)


class Rows(unittest.TestCase):
    def test_every_row_can_be_judged(self):
        for check in (False, True):
            for bench in rows.benches(check):
                for row in bench.rows:
                    self.assertIn(row.kind, (rows.HAND, rows.FASTER, rows.SLOWER, rows.MORE))
                    if row.kind == rows.HAND:
                        self.assertIn("hand", bench.variants, bench.name)

    def test_names_are_told_apart(self):
        names = [b.name for b in rows.benches(False)]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(names, [b.name for b in rows.benches(True)])

    def test_every_benchmark_has_a_target(self):
        for bench in rows.benches(False):
            every = targets.TARGETS + targets.MORE
            self.assertEqual(sum(t.takes(bench.name) for t in every), 1, bench.name)

    def test_every_target_has_a_benchmark(self):
        benches = {b.name: b for b in rows.benches(False)}
        for name in targets.needed(targets.TARGETS + targets.MORE):
            self.assertTrue(run.fnmatch.filter(benches, name), name)
        for name, metric, _ in targets.FRONT:
            self.assertIn(metric, [row.metric for row in benches[name].rows])
        self.assertLessEqual(set(targets.PYTORCH), set(benches))

    def test_every_loop_of_torch_has_a_row(self):
        for check in (False, True):
            for bench in rows.benches(check):
                if bench.name.startswith("torch-loops"):
                    names = [a.replace(":", "_") for a in bench.variants["plain"][0][2:]]
                    expected = [m + "_" + name for m in ("batch", "cuda") for name in names]
                    self.assertEqual([row.metric for row in bench.rows], expected)

    def test_loops_in_words(self):
        for argument, words in (("9:4", "9 MB, 4 workers"),
                                ("busy:9:2", "9 MB, 2 workers: Python code on the other cores"),
                                ("images:8", "8 workers: torchvision's ImageFolder, 32 JPEGs")):
            self.assertEqual(rows.loop_name(argument), words)


def stored(name, figures, kind=rows.FASTER, target=2.0):
    """Returns a run of one benchmark, as run.py stores it; figures: metric -> (plain, hotpin,
    hand)."""
    bench = rows.Bench(name, {}, [rows.Row(m, m, kind, target) for m in figures])
    samples = {
        (metric, variant): seconds if isinstance(seconds, list) else [seconds]
        for metric, three in figures.items()
        for variant, seconds in zip(("plain", "hotpin", "hand"), three)
    }
    return {
        "machine": {"device": "Some Device", "cuda": "1.2", "cpu_count": 3, "kernel": "4.5.6-x"},
        "commit": "abc1234",
        "date": "2000-01-01",
        "command": "test/bench/run.py",
        "benchmarks": [run.weigh(bench, samples, None)[0]],
    }


class Tables(unittest.TestCase):
    def test_front(self):
        lines = tables.front([stored("repeat", {"h2d_1M": (4e-3, 1e-3, 2e-3)})])
        self.assertEqual(lines[2], "| 1 MiB to the device | 4 ms | 1 ms | 2 ms | 4.00 |")
        self.assertEqual(
            lines[4],
            "Some Device, CUDA 1.2, 3 CPUs, Linux 4.5.6; commit abc1234, 2000-01-01; "
            "`test/bench/run.py`; one round",
        )

    def test_pytorch(self):
        loops = {row.metric: (4e-3, 1e-3, 2e-3) for row in rows.torch_loop_rows(["9:4", "own:9:4"])}
        loops["batch_9_4"] = (8e-3, 7e-3, 6e-3)
        store = stored("torch-loops", loops)
        for row in store["benchmarks"][0]["rows"]:
            row["what"] = ".cuda(), loop " + row["metric"]
        lines = tables.pytorch([store, stored("torch-models", {"save": (3.0, 2.0, 1.0)})])
        self.assertEqual(lines[2], "| loop cuda_9_4 | 4 ms | 1 ms | 2 ms | 8 ms | 7 ms | 6 ms |")
        self.assertIn("| loop cuda_own_9_4 | 4 ms | 1 ms | 2 ms | 4 ms | 1 ms | 2 ms |", lines)
        self.assertIn("| save | 3 s | 2 s | 1 s | 1.50 |", lines)
        self.assertEqual([line.split(":")[0] for line in lines[-2:]],
                         ["* torch-loops", "* torch-models"])
        self.assertEqual(tables.pytorch([stored("repeat", {"h2d_1M": (4e-3, 1e-3)})]), [])

    def test_nothing_is_filled_in(self):
        self.assertEqual(len(tables.front([stored("x", {"y": (2, 1)})])), 1)
        text = "\n".join(tables.seen([stored("x", {"y": (2, 1)})]))
        for target in targets.TARGETS:
            if not target.every:
                self.assertIn("| %s (" % target.case, text)
        self.assertEqual(text.count("| not measured |"), len(targets.TARGETS) - 1)

    def test_what_missed_is_named(self):
        lines = tables.seen([stored("burst", {"a": (3, 1), "b": (1.5, 1), "c": (1.7, 1)})])
        line = next(text for text in lines if "`burst`" in text)
        self.assertIn("| b: 1.50 x faster (1.5 s, 1 s); c: 1.70 x faster (1.7 s, 1 s) |", line)
        self.assertIn("**missed** 2 of 3", line)

    def test_the_worst_of_those_that_are_met(self):
        lines = tables.seen([stored("burst", {"a": (3, 1), "b": (2.5, 1)})])
        line = next(text for text in lines if "`burst`" in text)
        self.assertIn("| worst b: 2.50 x faster (2.5 s, 1 s) | met 2 of 2 |", line)

    def test_short(self):
        lines = tables.short([stored("burst", {"a": (3, 1), "b": (1.5, 1), "c": (1.7, 1)})])
        self.assertEqual(lines[0], "1 of 2 lines are met.")
        self.assertIn(": b", lines[4])
        self.assertIn("| 1.50 x faster at worst: b (1.5 s, 1 s) | **1 of 3** |", lines[4])
        lines = tables.short([stored("burst", {"a": (3, 1)})])
        self.assertEqual(lines[0], "2 of 2 lines are met.")
        self.assertIn("| >= 2 x faster | 3.00 x faster (3 s, 1 s) | yes |", lines[4])
        figures = {"a": ([1.0, 1.0, 1.0], [1.1, 1.1, 1.12]), "b": (1.0, 1.0)}
        lines = tables.short([stored("copies", figures, rows.SLOWER, rows.NEVER)], ["never-slower"])
        self.assertIn("1 of 2 figures slower by more than the rounds differ; worst 1.10 x: copies a",
                      lines[-3])
        self.assertTrue(lines[-3].endswith("| **no**, [why](#never-slower) |"))

    def test_slower_than_plain(self):
        def line(ours):
            figures = {"a": ([1.0, 1.0, 1.0], ours), "b": (1.0, 1.0)}
            store = stored("copies", figures, rows.SLOWER, rows.NEVER)
            return next(t for t in tables.seen([store]) if "every figure, against plain" in t)

        self.assertIn("| 0 of 2 figures above 1.02 x plain | met |", line([1.0, 1.0, 1.0]))
        noise = line([1.05, 1.2, 0.9])
        self.assertIn("1 of 2 figures above 1.02 x plain, 0 of them by more", noise)
        self.assertIn("1 of them by more than the rounds differ: copies a", line([1.1, 1.1, 1.12]))
        once = stored("copies", {"a": ([1.0], [1.1])}, rows.SLOWER, rows.NEVER)
        line = next(t for t in tables.seen([once]) if "every figure, against plain" in t)
        self.assertIn("0 of them by more than the rounds differ, 1 with one round", line)
        self.assertIn("; 1 more with one round only", "\n".join(tables.short([once])))

    def test_several_runs(self):
        old, new = (stored("repeat", {"h2d_1M": (s, 1e-3, 1e-3)}) for s in (7e-3, 8e-3))
        other = stored("burst", {"burst_64": (4e-6, 2e-6, 2e-6)})
        lines = tables.front([old, new, other])
        self.assertIn("| 8.00 |", lines[2])
        self.assertEqual([line.split(":")[0] for line in lines[-2:]], ["* repeat", "* burst"])


class Budget(unittest.TestCase):
    """Benchmarks that take known times on a clock of this test."""

    def run_within(self, seconds, budget, repeat, broken=None, slow=()):
        now = [0.0]

        def take(bench, number, options, samples):
            now[0] += seconds[bench.name]
            if bench.name == broken:
                raise run.Failed("it is broken")
            samples.setdefault(("it", "plain"), []).append(1.0)
            at_first = bench.name in slow and number < repeat
            samples.setdefault(("it", "hotpin"), []).append(1.5 if at_first else 1.0)

        todo = [rows.Bench(n, {}, [rows.Row("it", n, rows.SLOWER, 1.02)]) for n in seconds]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.json")
            options = types.SimpleNamespace(budget=budget, repeat=repeat, begin=0.0, json=path,
                                            check=False, markdown=True)
            store = {"benchmarks": []}
            with mock.patch.object(run, "take_round", take), mock.patch.object(
                run.time, "monotonic", lambda: now[0]
            ), contextlib.redirect_stderr(io.StringIO()):
                verdicts = run.within(todo, options, store)
            with open(path) as out:
                self.assertEqual(json.load(out), json.loads(json.dumps(store)))
        rounds = {
            b["name"]: len(b["samples"]["it@plain"]) if "rows" in b else 0
            for b in store["benchmarks"]
        }
        return rounds, verdicts, now[0]

    def test_time_enough(self):
        rounds, verdicts, _ = self.run_within({"a": 1, "b": 5}, 100, 3)
        self.assertEqual(rounds, {"a": 3, "b": 3})
        self.assertEqual(verdicts, ["met", "met"])

    def test_the_last_get_less(self):
        rounds, _, spent = self.run_within({"a": 10, "b": 30, "c": 20}, 100, 3)
        self.assertEqual(rounds, {"a": 2, "b": 1, "c": 2})
        self.assertLess(spent, 100)

    def test_what_is_in_doubt_gets_more(self):
        rounds, verdicts, _ = self.run_within({"a": 1, "b": 5}, 100, 2, slow=("b",))
        self.assertEqual(rounds, {"a": 2, "b": run.MOST_ROUNDS})
        self.assertEqual(verdicts, ["met", "met"])

    def test_what_is_in_doubt_gets_what_time_there_is(self):
        rounds, verdicts, spent = self.run_within({"a": 10, "b": 20}, 90, 2, slow=("a", "b"))
        self.assertEqual(rounds, {"a": 4, "b": 2})
        self.assertEqual(verdicts, ["missed", "missed"])
        self.assertLess(spent, 90)

    def test_sizes_up_to_those_in_doubt(self):
        """For every row of every benchmark, its own size and all arguments before it stay."""
        cut = 0
        for bench in rows.benches(False):
            for row in bench.rows:
                part = bench.up_to([row])
                self.assertEqual(part.rows, bench.rows)
                size = row.metric.rpartition("_")[2]
                for name, (argv, environment) in bench.variants.items():
                    kept = part.variants[name][0]
                    self.assertEqual(part.variants[name][1], environment)
                    self.assertEqual(kept, argv[: len(kept)])
                    self.assertTrue(len(kept) == len(argv) or kept[-1] == size, (row.metric, argv))
                    cut += len(kept) < len(argv)
        self.assertGreater(cut, 0)

    def test_what_fails_is_not_tried_again(self):
        rounds, verdicts, spent = self.run_within({"a": 1, "b": 1}, 100, 3, "a")
        self.assertEqual(rounds, {"a": 0, "b": 3})
        self.assertEqual(verdicts, ["failed", "met"])
        self.assertEqual(spent, 4)


if __name__ == "__main__":
    unittest.main()
