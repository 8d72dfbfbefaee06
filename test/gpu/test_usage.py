#!/usr/bin/env python3
"""test_usage.py - tests what the scripts for a machine with a device say without their arguments."""

import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
# The number of programs that each script needs.
SCRIPTS = {"advice/advice.py": 1, "hazards.py": 0, "launchers.py": 2, "programs.py": 0,
           "truth.py": 2}


class Usage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_script(self, script, *arguments):
        done = subprocess.run([sys.executable, "-B", os.path.join(HERE, script), *arguments],
                              cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(os.listdir(self.folder), [])
        return done

    def test_help(self):
        for script in SCRIPTS:
            with self.subTest(script):
                done = self.run_script(script, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertRegex(done.stdout, "^usage: ")

    def test_no_arguments(self):
        for script in SCRIPTS:
            with self.subTest(script):
                done = self.run_script(script)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertRegex(done.stderr, "^usage: ")

    def test_no_such_program(self):
        for script, count in SCRIPTS.items():
            for bad in range(count):
                programs = ["/bin/sh"] * count
                programs[bad] = "/nonexistent/program"
                with self.subTest(script, bad=bad):
                    done = self.run_script(script, *programs)
                    self.assertEqual((done.returncode, done.stdout), (2, ""))
                    self.assertRegex(done.stderr, "^usage: (.|\n)*/nonexistent/program is not a program")


if __name__ == "__main__":
    unittest.main()
