#!/usr/bin/env python3
"""test_programs.py - tests the verdicts of programs.py with shell programs that differ in known
ways.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
UNDER = 'if [ -n "$LD_PRELOAD" ]; then %s; else %s; fi'
ONCE = '[ -n "$LD_PRELOAD" ] && [ ! -e %s ] && : > %s && echo wrong; echo right'


def a_library():
    """Returns any library that has no effect when it is preloaded."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return re.search(r"/\S*/(libc|ld-musl)\S*\.so\S*", maps.read())[0]


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_list(self, programs, *options):
        """Returns the verdict of the mode `default` by program, the exit status, and all output."""
        with open(self.path("list"), "w", encoding="utf-8") as file:
            file.write("# a remark\n\n")
            for name, (script, *settings) in programs.items():
                with open(self.path(name), "w", encoding="utf-8") as shell:
                    shell.write(script + "\n")
                file.write("\t".join([name, f"sh {self.path(name)} 'an argument'", *settings]))
                file.write("\n")
        done = subprocess.run(
            [sys.executable, "-B", os.path.join(HERE, "programs.py"), "--modes", "plain,default",
             "--json", self.path("run.json"), *options, a_library(), self.path("list")],
            text=True, capture_output=True, check=False)
        self.assertEqual(done.stderr, "")
        self.records, verdicts = [], {}
        if os.path.exists(self.path("run.json")):
            with open(self.path("run.json"), encoding="utf-8") as file:
                self.records = json.load(file)["programs"]
            verdicts = {record["name"]: record["verdicts"].get("default") for record in self.records}
        with open(self.path("run.diff"), encoding="utf-8") as file:
            return verdicts, done.returncode, done.stdout + file.read()

    def check(self, verdict, status, programs, *options):
        verdicts, returned, said = self.run_list(programs, *options)
        self.assertEqual(verdicts, {name: verdict for name in programs}, said)
        self.assertEqual(returned, status, said)
        return said

    def test_same(self):
        os.mkdir(self.path("some"))
        with open(self.path("some/input"), "w", encoding="utf-8") as file:
            file.write("data\n")
        said = self.check("same", 0, {
            "plain": ("echo \"$1\"; echo 3 > file; exit 3",),
            "time": (UNDER % ("echo 'took   1.5 ms'", "echo 'took 22 ms'"),),
            "next": (UNDER % ("printf 'GPU time:\\n1.5\\n'", "printf 'GPU time:\\n2\\n'"),),
            "rate": (UNDER % ("echo inf GB/s > file", "echo 5.1 GB/s > file"),),
            "self": ("echo $$ > log.$$; echo at 0x7f$$00000000; pwd",),
            "left": (UNDER % ("echo size 1", "echo size 2"), "ignore=^size"),
            "data": ("cat input; rm input", "data=some"),
            "env": ("echo $A $B; test $A = 1=2", "env=A=1=2", "env=B=3"),
            "kill": ("kill -SEGV $$",)})
        self.assertRegex(said, r"plain +0\.\d+ +\d+\.\d+  same \(plain: status 3")
        self.assertIn("signal 11", said)
        self.assertIn("9 compared, 9 same", said)

    def test_differs(self):
        said = self.check("DIFFERS", 1, {
            "number": (UNDER % ("echo sum 1.25", "echo sum 1.26"),),
            "steps": (UNDER % ("echo timestep 4: 1", "echo timestep 4: 2"),),
            "stderr": (UNDER % ("echo x >&2", ":"),),
            "more": (UNDER % ("echo; echo", "echo"),),
            "order": (UNDER % ("echo a; echo b", "echo b; echo a"),),
            "file": (UNDER % ("echo a > f", "echo b > f"),),
            "binary": (UNDER % ("printf 'a\\0' > f", "printf 'b\\0' > f"),),
            "link": (UNDER % ("ln -s a f", "ln -s b f"),),
            "missing": (UNDER % (":", "echo b > f"),),
            "status": (UNDER % ("exit 1", "exit 2"),),
            "crash": (UNDER % ("kill -SEGV $$", ":"),),
            "speaks": (UNDER % ("echo 'hotpin[1] warn: it' >&2", ":"), "ignore=hotpin"),
            "passes": (UNDER % ("echo no", "echo yes"), "pass=yes", "ignore=."),
            "soft": (UNDER % ("echo 1 nan", "echo 1 2"), "soft=1")})
        for words in ("-sum 1.26\n    +sum 1.25", "file f is missing", "status 1, plain status 2",
                      "signal 11, plain status 0", "the library speaks", "does not pass",
                      "file f\n    binary, 2 bytes"):
            self.assertIn(words, said)

    def test_hangs(self):
        said = self.check("DIFFERS", 1, {"hang": (UNDER % ("sleep 60", ":"),)}, "--limit", "0.6")
        self.assertIn("hangs, plain status 0", said)

    def test_own(self):
        random, shuffle = "od -An -N8 -tx1 /dev/urandom", "shuf -i 1-20 | sed s/^/it/"
        verdicts, status, said = self.run_list({
            "text": (f"echo same; {random}",),
            "file": (f"{random} > f",),
            "binary": ("head -c64 /dev/zero > f; head -c8 /dev/urandom >> f",),
            "order": (shuffle,),
            "adds": (f"{shuffle}; " + UNDER % ("echo it3", ":"),),
            "hides": (f"{random}; " + UNDER % ("echo sum 1", "echo sum 2"),),
            "nan": ("date +0.%N; " + UNDER % ("echo nan", "date +0.%N"),)})
        wrong = ("adds", "hides", "nan")
        self.assertEqual(verdicts, {name: "DIFFERS" if name in wrong else "own"
                                    for name in verdicts}, said)
        self.assertEqual(status, 1)

    def test_numbers_may_differ(self):
        self.check("numbers", 0, {"soft": (UNDER % ("echo sum 1.25", "echo sum 1.26"), "soft=1")})

    def test_once(self):
        mark = self.path("mark")
        self.check("once", 0, {"once": (ONCE % (mark, mark),)})
        os.unlink(mark)
        self.check("once", 0, {"once": (ONCE % (mark, mark),)}, "--reps", "3")

    def test_trace_may_report(self):
        script = ("printf b >&2; echo a; "
                  "[ ! $HOTPIN_PROFILE ] || { printf '==hotpin== wall\\n' >&2; : > $HOTPIN_OUT; }")
        said = self.run_list({"it": (script,)}, "--modes", "default,trace")[2]
        self.assertEqual(self.records[0]["verdicts"], {"default": "same", "trace": "same"}, said)
        self.assertEqual(self.records[0]["profiles"], 1)

    def test_nothing_compared(self):
        verdicts, status, said = self.run_list({"late": ("sleep 60",)}, "--limit", "0.1")
        self.assertEqual((verdicts, status), ({"late": None}, 2), said)
        self.assertIn("plain: hangs", said)
        self.assertEqual(self.run_list({"it": ("echo",)}, "--only", "that")[1], 2)
        said = self.run_list({"it": ("echo",)}, "--budget", "-1")[2]
        self.assertIn("not begun in time: it", said)

    def test_rows_are_printed_at_once(self):
        """The second program ends when the row of the first one has been read."""
        go = self.path("go")
        with open(self.path("list"), "w", encoding="utf-8") as file:
            file.write(f"it\techo\nlate\tsh -c 'until test -e {go}; do sleep 0.05; done'\n")
        with subprocess.Popen(
                [sys.executable, "-B", os.path.join(HERE, "programs.py"), "--modes", "plain,default",
                 "--limit", "20", a_library(), self.path("list")],
                text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            lines = iter(run.stdout.readline, "")
            self.assertTrue(any(line.startswith("it ") for line in lines))
            open(go, "w", encoding="utf-8").close()
            self.assertIn("2 compared", run.communicate()[0])

    def test_what_is_not_there(self):
        status, said = self.run_list({"it": ("echo", "data=nowhere"), "that": ("echo",)})[1:]
        self.assertEqual(status, 2)
        self.assertRegex(said, "could not be run: it .*nowhere")

    def test_bad_list(self):
        with self.assertRaisesRegex(AssertionError, "list:3: no such option: shape"):
            self.run_list({"it": ("echo", "shape=round")})


if __name__ == "__main__":
    unittest.main()
