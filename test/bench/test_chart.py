#!/usr/bin/env python3
"""test_chart.py - tests the picture of chart.py, and the pages that publish.py writes.

Nothing of the picture may be cut off, also with a long name of a device.  That it shows every figure is
in doc/copies.svg, which `publish.py --check` makes again.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)

import chart  # noqa: E402
import rows  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
SIZES = ["1K"] + ["%d%s" % (4**i, unit) for unit in "KM" for i in range(1, 5)] + ["1G"]
SPEED = {"plain": 10.0, "hotpin": 50.0, "hand": 51.0}  # GB/s


def made_up(kind="hot", sizes=SIZES, device="Some Device"):
    """Returns a run whose copies are as fast as SPEED."""
    samples = {}
    for way in ("h2d", "d2h"):
        for size in sizes:
            for variant, speed in SPEED.items():
                second = rows.size_bytes(size) / 1e9 / speed
                samples["%s_%s_sync_%s@%s" % (kind, way, size, variant)] = [second]
    return {
        "machine": {"device": device, "cuda": "1.2", "cpu_count": 3, "kernel": "4.5.6-somebody"},
        "commit": "abc1234",
        "benchmarks": [{"name": "copies", "rows": [], "samples": samples}],
    }


def parts(picture, tag, word=""):
    found = xml.fromstring(picture).iter(SVG + tag)
    return [part for part in found if word in part.get("class", "").split() or not word]


class Picture(unittest.TestCase):
    def test_every_text_is_inside(self):
        long = "A device with a name that is too long for one line of the picture " * 3
        for store in (made_up(), made_up(device=long), made_up(sizes=["4K"])):
            picture = chart.chart(store)
            root = xml.fromstring(picture)
            width, height = (float(n) for n in root.get("viewBox").split()[2:])
            for part in parts(picture, "text"):
                size = chart.SMALL if part.get("class") == "small" else chart.FONT
                wide = chart.text_width(part.text, size)
                share = {"end": 1, "middle": 0.5}.get(part.get("text-anchor"), 0)
                left = float(part.get("x")) - share * wide
                self.assertGreaterEqual(left, 0, part.text)
                self.assertLessEqual(left + wide, width, part.text)
                self.assertGreaterEqual(float(part.get("y")), size)
                self.assertLessEqual(float(part.get("y")), height - size / 3)

    def test_names_are_no_markup(self):
        store = made_up(device='<script>alert("x")</script> & more')
        self.assertEqual(list(xml.fromstring(chart.chart(store)).iter(SVG + "script")), [])

    def test_what_it_cannot_show(self):
        for store in ({"benchmarks": []}, made_up("first")):
            with self.assertRaises(chart.Unfit):
                chart.chart(store)


class Pages(unittest.TestCase):
    """Runs publish.py in a tree of its own."""

    MEASUREMENTS = "before\n<!-- run.py --front -->\nold\n<!-- end -->\nafter\n"
    TARGETS = ("manual\n<!-- run.py --targets, short -->\nold\n<!-- end -->\n### copies\nreasons\n")

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.tree = self.folder.name
        os.mkdir(os.path.join(self.tree, "doc"))
        self.write("doc/measurements.md", self.MEASUREMENTS)
        self.write("doc/targets.md", self.TARGETS)
        run = dict(made_up(), stderr={}, lib="/somebody/lib.so")
        samples = run["benchmarks"][0]["samples"]
        samples.update({key.replace("@hotpin", "@other"): [9.0] for key in samples if "@hotpin" in key})
        self.write("run.json", json.dumps(run))

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        with open(os.path.join(self.tree, name), "w") as out:
            out.write(text)

    def read(self, name):
        with open(os.path.join(self.tree, name)) as page:
            return page.read()

    def publish(self, *arguments):
        command = [sys.executable, os.path.join(HERE, "publish.py"), "--to", self.tree, *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    def test_written_and_kept(self):
        done = self.publish(os.path.join(self.tree, "run.json"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        measurements = self.read("doc/measurements.md")
        self.assertTrue(measurements.startswith("before\n") and
                        measurements.endswith("<!-- end -->\nafter\n"))
        self.assertNotIn("old", measurements)
        targets = self.read("doc/targets.md")
        self.assertIn("abc1234", targets)
        self.assertTrue(targets.startswith("manual\n") and "\n### copies\nreasons\n" in targets)
        self.assertNotIn("old", targets)
        self.assertIn("<svg", self.read("doc/copies.svg"))
        kept = self.read("doc/measured.json")
        self.assertNotIn("somebody", kept)
        self.assertNotIn("@other", kept, "the library of --against")
        self.assertEqual(kept.count("@hotpin"), 2 * len(SIZES))
        self.assertEqual(self.publish("--check").returncode, 0)
        self.assertEqual(self.publish().stdout, "", "nothing is left to write")

    def test_a_figure_that_somebody_changed(self):
        self.publish(os.path.join(self.tree, "run.json"))
        pages = (
            ("doc/measurements.md", "Nothing"),
            ("doc/targets.md", "measured"),
            ("doc/copies.svg", "50"),
        )
        for page, word in pages:
            before = self.read(page)
            self.write(page, before.replace(word, "x"))
            self.assertEqual(self.publish("--check").returncode, 1, page)
            self.write(page, before)

    def test_a_page_without_a_place(self):
        for page in ("doc/measurements.md", "doc/targets.md"):
            before = self.read(page)
            self.write(page, "no marks\n")
            done = self.publish(os.path.join(self.tree, "run.json"))
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("%s has no line" % page, done.stderr)
            self.write(page, before)

    def test_the_page_about_pytorch(self):
        row = {"metric": "save", "what": "a model", "kind": rows.SLOWER, "target": 1.02, "score": 0.5,
               "spread": None, "median": {"plain": 2, "hotpin": 1, "hand": 1},
               "met": True, "to_plain": 0.5}
        run = dict(made_up(), stderr={})
        run["benchmarks"].append({"name": "torch-models", "rows": [row], "samples": {"a@plain": [3]}})
        self.write("run.json", json.dumps(run))
        self.write("doc/pytorch.md", "a\n<!-- run.py --pytorch -->\nold\n<!-- end -->\nb\n")
        self.assertEqual(self.publish(os.path.join(self.tree, "run.json")).returncode, 0)
        page = self.read("doc/pytorch.md")
        self.assertIn("| a model | 2 s | 1 s | 1 s | 2.00 |", page)
        self.assertTrue(page.startswith("a\n") and page.endswith("<!-- end -->\nb\n"))
        self.assertEqual(self.publish("--check").returncode, 0)
        self.write("doc/pytorch.md", page.replace("2.00", "3.00"))
        self.assertEqual(self.publish("--check").returncode, 1)

    def test_what_was_missed_without_a_word(self):
        row = {"metric": "a", "what": "a", "kind": rows.FASTER, "target": 2.0, "score": 1.5,
               "spread": None, "median": {"plain": 3, "hotpin": 2},
               "met": False, "to_plain": None}
        run = dict(made_up(), stderr={})
        run["benchmarks"].append({"name": "burst", "rows": [row], "samples": {"a@plain": [3]}})
        self.write("run.json", json.dumps(run))
        done = self.publish(os.path.join(self.tree, "run.json"))
        self.assertEqual(done.returncode, 0)
        self.assertIn("does not say why this was missed: many small", done.stderr)
        self.assertIn("1.50 x faster (3 s, 2 s) | **no** |", self.read("doc/targets.md"))
        self.write("doc/targets.md", self.TARGETS.replace("### copies", "### burst"))
        self.assertEqual(self.publish().stderr, "")
        self.assertIn("| **no**, [why](#burst) |", self.read("doc/targets.md"))


if __name__ == "__main__":
    unittest.main()
