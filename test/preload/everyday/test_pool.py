"""Runs Python's tests of multiprocessing with fork that move much memory between processes.

The suite's own module of all these tests is missing from some installations, and takes six minutes.
"""

import test._test_multiprocessing

KEPT = ("Array", "Connection", "Heap", "PoolWorkerErrors", "PoolWorkerLifetime", "SharedMemory")
test._test_multiprocessing.install_tests_in_module_dict(globals(), "fork")
for name in [n for n in globals() if "Test" in n and not n.endswith(KEPT)]:
    del globals()[name]
