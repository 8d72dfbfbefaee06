"""tests.py - runs modules of Python's own test suite, and prints one outcome a line.

    tests.py FOLDER|- MODULE...

FOLDER has modules in addition to the suite's own.  Durations vary, so only names and outcomes are
taken from the suite's report.  Modules that this Python lacks are skipped.  The exit status is 77
if there is no suite at all, as in Debian's python3 without libpython3.N-testsuite.
"""

import importlib.util
import os
import subprocess
import sys
import xml.etree.ElementTree

try:
    from test import libregrtest
except ImportError:
    print("no test suite: libpython3.N-testsuite is not installed", file=sys.stderr)
    sys.exit(77)

folder, modules = sys.argv[1], sys.argv[2:]
command = [sys.executable, "-m", "test", "--junit-xml", os.path.abspath("report.xml")]
if folder == "-":
    modules = [m for m in modules if importlib.util.find_spec("test." + m)]
else:
    command += ["--testdir", folder]
done = subprocess.run(command + modules, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
cases = []
for case in xml.etree.ElementTree.parse("report.xml").getroot().iter("testcase"):
    trouble = [part.tag for part in case if part.tag in ("error", "failure", "skipped")]
    cases.append(" ".join([case.get("name")] + (trouble or [case.get("result")])))
os.remove("report.xml")
print("\n".join(sorted(cases)))
print(len(cases), "tests of", *modules)
print("status", done.returncode)
