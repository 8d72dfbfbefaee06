#!/usr/bin/env python3
"""test_lines.py - tests the shares that lines.py computes from a profile."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lines"))

import lines  # noqa: E402


def site(python, *rows):
    return {"frames": [{"module": 0, "offset": 16}, {}], "python": python,
            "rows": [{"direction": direction, "count": count} for direction, count in rows]}


class Lines(unittest.TestCase):
    def test_shares(self):
        step = [{"file": "train.py", "line": 42, "function": "step"}]
        modules = [{"path": "/lib/libtorch.so"}]
        wait = {"looks": 3, "places": [{"looks": 2, "python": step}]}
        sites = [dict(site(None, ("h2d", 5)), main_thread=wait), site(step, ("h2d", 3), ("d2d", 50)), site(step, ("d2h", 4)), site([], ("h2d", 1)),
                 site([], ("d2d", 9)), dict(site(None, ("d2h", 2)), frames=[])]
        total, known, seen, without, found = lines.shares({"sites": sites, "modules": modules})
        self.assertEqual((total, known, seen), (15, 7, 5))
        self.assertEqual(without, [("no frames", 2), ("libtorch.so+0x10 < ?+0x0", 1)])
        self.assertEqual(found, [("train.py:42 step", 7),
                                 ("main thread then at train.py:42 step (2 of 3 looks)", 5)])

    def test_groups(self):
        words = ["a.py", "1", ",", "b.py", ","]
        self.assertEqual(lines.groups(words), [["a.py", "1"], ["b.py"]])


if __name__ == "__main__":
    unittest.main()
