#!/usr/bin/env python3
"""Runs frames.py in every installed CPython from 3.11 to 3.14, and a profiled script in other versions.

    python.py PROBE EMBED NATIVE LIBHOTPIN HOTPIN STANDIN

Interpreters are those of PATH and of ~/.pyenv; TEST_PYTHONS, a colon-separated list of paths, adds
some.  The output is TAP.
"""

import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

OLDEST, READABLE = 7, range(11, 15)  # of the versions 3.x

ASK = """
import sys, sysconfig
print(*sys.version_info[:2], hasattr(sys, "gettotalrefcount"), sys.executable, sys.base_prefix, sep="\\n")
print(sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME"), sep="/")
"""


def candidates():
    yield sys.executable
    yield from filter(None, os.environ.get("TEST_PYTHONS", "").split(":"))
    folders = os.environ.get("PATH", "").split(":") + glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin"))
    for folder in folders:
        for path in sorted(glob.glob(glob.escape(folder) + "/python3*")):
            if re.fullmatch(r"python3(\.\d+)?(t|d|-dbg)?", os.path.basename(path)):
                yield path


def interpreters():
    """Returns {(minor version, is it a debug build, installation folder): (program, library)}."""
    found, seen = {}, set()
    for path in candidates():
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        asked = subprocess.run([path, "-c", ASK], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            minor, debug, program, prefix, library = asked.stdout.split("\n")[1:6]
            if int(minor) < OLDEST:
                continue
            found.setdefault((int(minor), debug == "True", prefix), (program, library))
    return found


HERE = Path(__file__).parent
PROFILED = HERE / "profiled.py"


def run(command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


def embedded(embed, library):
    status, out, errors = run([embed, library])
    return [] if (status, out) == (0, "<string> inner 3\n<string> <module> 5\n") else [out, errors]


def frames(program, probe):
    status, out, errors = run([program, str(HERE / "frames.py"), probe])
    plan = re.match(r"1\.\.(\d+)\n", out)
    passed = len(re.findall(r"(?m)^ok ", out))
    return [] if status == 0 and plan and passed == int(plan.group(1)) else [out, errors]


def line_of(text):
    """Returns the number of the only line of profiled.py that contains the text."""
    lines = [number for number, line in enumerate(PROFILED.read_text().split("\n"), 1) if text in line]
    assert len(lines) == 1, (text, lines)
    return lines[0]


def short(frames):
    """Returns the last part of each file and function, and the line if it is in profiled.py."""
    for frame in frames:
        file = frame["file"].rsplit("/", 1)[-1]
        line = frame["line"] if file == PROFILED.name else None
        yield file, frame["function"].rsplit(".", 1)[-1], line


def expected():
    """Returns the sites of profiled.py, and its gap."""
    upload = ("profiled.py", "upload", line_of("cuMemcpyHtoD_v2(device"))
    main = "profiled.py", "main"
    sites = [
        ((upload, ("profiled.py", "batches", line_of("# twice")),
          ("profiled.py", "step", line_of("list(batches"))), 2),
        ((upload, ("profiled.py", "in_thread", line_of("# in a thread")), ("threading.py", "run", None)), 1),
        ((upload, ("<string>", "<module>", None), (*main, line_of('exec("upload'))), 1),
        ((), 5),
        ((upload, (*main, line_of("# at last")), ("profiled.py", "<module>", line_of("main()  # begin"))), 1),
    ]
    gap = [("profiled.py", "pause", line_of("# " + when + " the pause")) for when in ("before", "after")]
    return sorted(sites, key=repr), gap


def is_looked_at():
    """False under a seccomp filter."""
    return "Seccomp:\t0\n" in Path("/proc/self/status").read_text()


def said(profile):
    return [warning for warning in profile["warnings"] if warning.startswith("no Python lines: ")]


def profile_of(command, hotpin, standin, read=lambda path: None, **environment):
    """Returns the profile of a command and what read() makes of its file; None and the output if the command fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/profile.json"
        status, out, errors = run(command, LD_PRELOAD=hotpin, HOTPIN_OUT=path, **environment,
                                  LD_LIBRARY_PATH=standin + ":" + os.environ.get("LD_LIBRARY_PATH", ""))
        return (json.loads(Path(path).read_text()), read(path)) if status == 0 else (None, [out, errors])


def profiled(program, native, hotpin, tool, standin):
    profile, reported = profile_of([program, str(PROFILED)], hotpin, standin,
                                   lambda path: run([tool, "report", "--all", path])[1], NATIVE=native)
    if profile is None or said(profile):
        return said(profile) if profile else reported
    found = [(tuple(short(site.get("python", []))), sum(row["count"] for row in site["rows"]))
             for site in profile["sites"]]
    sites, gap = expected()
    ends = [[next(short(gap[end]["python"])) for end in ("before", "after")] for gap in profile["gaps"]
            if all(gap[end] and gap[end]["call"] == "cuCtxSynchronize" for end in ("before", "after"))]
    if sorted(found, key=repr) != sites or ends != [gap]:
        return [repr(found), "not", repr(sites), repr(ends), "not", repr(gap)]
    status = PROFILED.stat()
    if profile.get("python_files") != [{"file": str(PROFILED), "bytes": status.st_size,
                                        "modified_ns": status.st_mtime_ns}]:
        return ["files of the program itself", repr(profile.get("python_files"))]
    lines = re.search(r"PYTHON LINES[\s\S]* busy at profiled.py:", reported)
    lines = lines or not is_looked_at()
    return [] if f"upload at profiled.py:{sites[0][0][0][2]}" in reported and lines else [reported]


def as_text(program, hotpin, tool, standin):
    """Checks the lines of python -c: its sites, its samples and what the report suggests."""
    profile, reported = profile_of([program, "-c", PROFILED.read_text()], hotpin, standin,
                                   lambda path: " ".join(run([tool, "report", "--all", path])[1].split()))
    if profile is None:
        return reported
    expected = [f"upload at <string>:{line_of('cuMemcpyHtoD_v2(device')}"]
    if is_looked_at():
        expected += ["port this Python line ~", "at busy at <string>:"]
    return [] if all(words in reported for words in expected) else [reported]


def changed(program, hotpin, standin):
    """Checks that a file that was changed during the run is not recorded: another text may have run."""
    with tempfile.TemporaryDirectory() as folder:
        script = folder + "/script.py"
        Path(script).write_text(PROFILED.read_text())
        os.utime(script, (9_000_000_000, 9_000_000_000))
        profile, output = profile_of([program, script, "briefly"], hotpin, standin)
    if profile is None:
        return output
    return [repr(profile["python_files"])] if "python_files" in profile else []


def unreadable(program, hotpin, standin):
    """Checks that the profile of another version says why it has no lines."""
    profile, output = profile_of([program, str(PROFILED), "briefly"], hotpin, standin)
    if profile is None:
        return output
    lines = [site["python"] for site in profile["sites"] if "python" in site]
    return [] if not lines and len(said(profile)) == 1 else [repr(lines), repr(profile["warnings"])]


def main():
    probe, embed, native, hotpin, tool, standin = sys.argv[1:7]
    tests = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (minor, debug, prefix), (program, library) in sorted(interpreters().items()):
            name = f"3.{minor}" + (" debug" if debug else "") + " in " + prefix
            if minor not in READABLE:
                tests.append((name + " has no lines", pool.submit(unreadable, program, hotpin, standin)))
                continue
            tests.append((name, pool.submit(frames, program, probe)))
            tests.append((name + " profile", pool.submit(profiled, program, native, hotpin, tool, standin)))
            tests.append((name + " -c", pool.submit(as_text, program, hotpin, tool, standin)))
            tests.append((name + " changed", pool.submit(changed, program, hotpin, standin)))
            if os.path.exists(library) and ".so" in library:
                tests.append((name + " embedded", pool.submit(embedded, embed, library)))
    print(f"1..{len(tests)}")
    for number, (name, result) in enumerate(tests, 1):
        wrong = result.result()
        print("not ok" if wrong else "ok", number, "-", name)
        for text in wrong:
            print("\n".join("# " + line for line in text.splitlines()))


main()
