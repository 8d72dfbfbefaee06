#!/usr/bin/env python3
"""test_run.py - what run.py makes of figures: each promise kept, just kept, and broken."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)

import rows  # noqa: E402
import run  # noqa: E402


def judged(kind, target, plain, hotpin, hand=None, unit=rows.SECONDS):
    row = rows.Row("it", "it", kind, target, unit=unit)
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


class Words(unittest.TestCase):
    def words(self, *arguments, **named):
        return run.in_words(*judged(*arguments, **named))

    def test_seconds(self):
        self.assertEqual(self.words(rows.MORE, 3e-9, [1e-9], [3e-9]), ("+2 ns", "<= 3 ns more"))
        self.assertEqual(self.words(rows.MORE, 2e-3, [3e-3], [1e-3]), ("-2 ms", "<= 2 ms more"))
        self.assertEqual(
            self.words(rows.FASTER, 3.0, [4], [2]), ("2.00 x faster", ">= 3 x faster")
        )

    def test_bytes(self):
        self.assertEqual(
            self.words(rows.MORE, 64 << 20, [1 << 30], [3 << 29], unit=rows.BYTES),
            ("+512 MiB", "<= 64 MiB more"),
        )
        self.assertEqual(
            self.words(rows.SLOWER, 1.1, [1 << 20], [1 << 20], unit=rows.BYTES),
            ("1.000 x plain", "<= 1.1 x plain"),
        )

    def test_units(self):
        for value, unit, text in (
            (None, rows.SECONDS, "-"),
            (0, rows.SECONDS, "0 ns"),
            (0, rows.BYTES, "0 B"),
            (1.5e-6, rows.SECONDS, "1.5 us"),
            (2.0, rows.SECONDS, "2 s"),
            (100, rows.BYTES, "100 B"),
            (3 << 30, rows.BYTES, "3 GiB"),
        ):
            self.assertEqual(run.in_unit(value, unit), text)


class Rows(unittest.TestCase):
    def test_every_row_can_be_judged(self):
        for check in (False, True):
            for bench in rows.benches(check):
                for row in bench.rows:
                    self.assertIn(row.kind, (rows.HAND, rows.FASTER, rows.SLOWER, rows.MORE))
                    self.assertIn(row.unit, (rows.SECONDS, rows.BYTES))
                    if row.kind == rows.HAND:
                        self.assertIn("hand", bench.variants, bench.name)

    def test_names_are_told_apart(self):
        names = [b.name for b in rows.benches(False)]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(names, [b.name for b in rows.benches(True)])


if __name__ == "__main__":
    unittest.main()
