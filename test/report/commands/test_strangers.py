#!/usr/bin/env python3
"""Tests what a profile of a stranger cannot do to its reader.
test_strangers.py HOTPIN
"""
import copy
import ctypes
import json
import os
import pathlib
import re
import resource
import subprocess
import tempfile

import made
import program
import tap
from tap import check, opens, path, write

FOLDER = tap.FOLDER.name
OTHER = 1
SYMBOLS = {"secret_name": 0x1000}
ID = program.build_id(SYMBOLS)


def of_program(name, build_id=None):
    """Returns a profile with a place in that file, which is not newer than the run."""
    run = made.first()
    run["modules"] = [{"path": path(name), "build_id": build_id}]
    run["process"]["ended_utc"] = program.LATER
    run["buffers"], run["repeats"], run["sites"] = [], None, run["sites"][:1]
    run["sites"][0]["frames"] = [made.frame(0, 0x1011)]
    return run


def resolved(run, **more):
    """Returns the place's name that `hotpin resolve` stores, or None."""
    done = tap.run("resolve", write("resolved.json", run), **more)
    names = tap.loaded("resolved.json").get("names", [])
    return (names[0] if names else None), done


def other_files():
    """A module may be any kind of file: none is opened but a regular one."""
    os.makedirs(path("kinds"))
    os.mkfifo(path("kinds/pipe"))
    os.symlink("pipe", path("kinds/link"))
    write("kinds/program", program.elf(SYMBOLS))
    if os.geteuid() == 0:
        os.mknod(path("kinds/device"), 0o20666, os.makedev(1, 3))
    run = made.first()
    run["modules"] = [{"path": path("kinds/" + name), "build_id": None} for name in
                      ("pipe", "link", "device", "socket", ".", "", "program")]
    run["process"]["ended_utc"] = program.LATER
    run["sites"][0]["frames"] = [made.frame(module, 0x1011) for module in range(7)]
    write("kinds.json", {**run, "stage": "kinds"})
    for command in (("report",), ("annotate",), ("html",), ("trace",), ("report", "--csv", "sites"),
                    ("resolve",), ("compare", "--force", "kinds.json")):
        names = opens(path("kinds"), lambda: tap.run(*command, "kinds.json"))
        check(f"{' '.join(command)} opens programs alone", set(names) <= {"program"}, names)


LINES = {0x1010: ["/src/a.c:7"]}


def hostile_programs():
    """A program that crashes libdw has no names; others and kernels have theirs."""
    write("deep", program.elf(SYMBOLS, more=program.nested(1_000_000)))
    write("good", program.elf(SYMBOLS, LINES))
    run = made.first()
    run["modules"] = [{"path": path(name), "build_id": ID} for name in ("deep", "good", "deep")]
    run["buffers"], run["repeats"], run["sites"] = [], None, run["sites"][:1]
    run["sites"][0]["frames"] = [made.frame(module, 0x1011) for module in range(3)]
    done = tap.run("resolve", write("hostile.json", run))
    names = tap.loaded("hostile.json").get("names", [])
    check("the others have names", [(name["module"], name["line"]) for name in names] == [(1, 7)], names, done.stdout)
    check("kernels too", "heat_step(float const*, float*, int)" in tap.run("report", "--all", "hostile.json").stdout)


def links():
    """A debug file is a regular file next to the program or the system's, with the same build ID."""
    os.makedirs(path("linked/.debug"))
    os.mkfifo(path("pipe"))
    os.mkfifo(path("linked/pipe"))
    good = program.elf(SYMBOLS, LINES)

    def lines(link, section=".gnu_debuglink", **more):
        part = link.encode() + b"\0" + bytes(-(len(link) + 1) % 4) + bytes(4 if section == ".gnu_debuglink" else 20)
        write("linked/program", program.elf(SYMBOLS, more={section: part}, **more))
        found = []
        names = opens(path("linked"), lambda: found.append(resolved(of_program("linked/program", ID))[0]))
        return found[0]["file"] is not None, names

    write("linked/found.debug", good)
    check("one next to the program", lines("found.debug")[0])
    write("linked/.debug/hidden.debug", good)
    check("one in .debug", lines("hidden.debug")[0])
    write("linked/other.debug", program.elf({"other": 0x1000}, LINES))
    check("not one of another build", not lines("other.debug")[0])
    write("linked/program.debug", program.elf(SYMBOLS))
    check("not one without lines", not lines("program.debug")[0])
    write("found.debug", good)
    check("not one in another folder", not lines("../found.debug")[0])
    check("nor by its path", not lines(path("found.debug"))[0])
    for link in ("pipe", "../pipe", "..", ".", "", "none"):
        found, names = lines(link)
        check(f"no lines by the link '{link}', and no pipe is opened", not found and "pipe" not in names, names)
    found, names = lines("pipe", ".gnu_debugaltlink", lines={0x1010: [(program.ALTERNATIVE, "/src/a.c:7")]})
    check("no file is opened by a link to an alternative", found and "pipe" not in names, names)


def servers():
    """A debug file comes from a server only for a program and a profile of the user's own."""
    try:
        ctypes.CDLL("libdebuginfod.so.1")
    except OSError:
        print("# skipped: libdebuginfod is not installed")
        return
    os.makedirs(path(f"server/buildid/{ID}"))
    write(f"server/buildid/{ID}/debuginfo", program.elf(SYMBOLS, LINES))
    write("served", program.elf(SYMBOLS))
    os.makedirs(path("cache"))
    also = {"DEBUGINFOD_URLS": f"file://{path('server')}", "DEBUGINFOD_CACHE_PATH": path("cache")}

    def asked(run, owner=None, **more):
        subprocess.run(["rm", "-rf", path("cache")], check=True)
        name = write("served.json", run)
        if owner is not None:
            os.chown(path(name), owner, owner)
        text = tap.run("report", "--csv", "sites", name, **more).stdout
        return "a.c" in text, os.path.exists(path(f"cache/{ID}"))

    check("one that is configured", asked(of_program("served", ID), also=also) == (True, True))
    check("none that is not", asked(of_program("served", ID)) == (False, False))
    check("not without a build ID", asked(of_program("served"), also=also) == (False, False))
    os.makedirs(path(f"server/buildid/{'00' * 20}"))
    write(f"server/buildid/{'00' * 20}/debuginfo", program.elf(SYMBOLS, LINES))
    check("not for a build ID that is only in the profile", asked(of_program("served", "00" * 20), also=also)[0] is False and
          not os.path.exists(path("cache/" + "00" * 20)))
    os.chmod(path("served"), 0o757)
    check("not for a program that others write", asked(of_program("served", ID), also=also) == (False, False))
    os.chmod(path("served"), 0o755)
    if os.geteuid() == 0:
        check("not for a profile of another user", asked(of_program("served", ID), OTHER, also=also) == (False, False))
        os.chown(path("served"), OTHER, OTHER)
        check("nor for a program of another user", asked(of_program("served", ID), also=also) == (False, False))


def private_programs():
    """Names of a program reach only those who may read it, or have it."""
    write("private", program.elf(SYMBOLS))
    for mode, build_id, stored in ((0o644, None, True), (0o600, None, False), (0o600, ID, True),
                                   (0o600, ID[:16], True), (0o644, "00" * 20, False), (0o600, ID[:6], False)):
        os.chmod(path("private"), mode)
        name, done = resolved(of_program("private", build_id))
        check(f"mode {mode:o}, build ID {build_id and build_id[:8]}", (name is not None) == stored and
              ("secret_name" in done.stdout) == 0, name, done.stdout)
        check("neither names nor advice reveal more", ("secret_name" in tap.text_of(path("resolved.json"))) == stored)
    os.chmod(path("private"), 0o600)
    done = tap.run("resolve", write("private.json", of_program("private")))
    check("the reason is told", "it has no build ID, and not everybody may read it" in " ".join(done.stdout.split()), done.stdout)
    if os.geteuid() != 0:
        print("# skipped: only root can read another user's private program")
        return
    os.chown(path("private"), OTHER, OTHER)
    for build_id in (None, ID):
        name, done = resolved(of_program("private", build_id))
        shown = tap.run("report", "--all", "resolved.json").stdout
        check(f"root reveals nothing, build ID {build_id and build_id[:8]}", name is None and "secret_name" not in shown and
              "it cannot be read" in done.stdout, name, done.stdout)


def texts_of(value, path=()):
    """Yields the place of each text in a profile; of a list only that of the first entry's."""
    if isinstance(value, str):
        yield path
    for key, part in value.items() if isinstance(value, dict) else enumerate(value[:1] if isinstance(value, list) else ()):
        yield from texts_of(part, (*path, key))


def without(run, path, gone):
    """Returns a copy of a profile whose text at the path is null, or gone."""
    run = copy.deepcopy(run)
    part = run
    for key in path[:-1]:
        part = part[key]
    if gone and isinstance(part, dict):
        del part[path[-1]]
    else:
        part[path[-1]] = None
    return run


def missing_texts():
    """Any text may be missing: the file is refused, or every command can live without it."""
    whole, files = made.full(), []
    for path in texts_of(whole):
        for gone in (False, True):
            run = without(whole, path, gone)
            name = write(f"{len(files)}.json", {**run, "stage": run["stage"] and f"stage {len(files)}"} if "stage" in run else run)
            if tap.run("report", "--csv", "summary", name).returncode == 0:
                files.append(name)
    check("most texts may be missing", len(files) > 60, files)
    for command in (("report", "--all", "--force"), ("compare", "--force"), ("html",), ("trace",),
                    ("report", "--csv", "sites"), ("report", "--csv", "buffers"), ("report", "--folded")):
        done = tap.run(*command, *files)
        check(f"{' '.join(command)} without each text", done.returncode in (0, 1, 3), done.returncode, done.stderr[-2000:])
        done = tap.run(*command, *reversed(files))
        check(f"{' '.join(command)} in the other order", done.returncode in (0, 1, 3), done.returncode, done.stderr[-2000:])
    for name in files:
        done = tap.run("annotate", name)
        if not check(f"annotate {name}", done.returncode in (0, 1), done.returncode, done.stderr):
            break


SECRET = "the secret line\n"


def of_python(file, **more):
    """Returns a profile whose samples are in that file of Python, and what proves that it ran."""
    run = {**made.sampled(), "sites": [], "buffers": [], "samples": None, "repeats": None}
    run["python_samples"] = [{"python": [{"file": file, "function": "step", "line": 1}], "samples": 9, "cpu_ns": made.SECOND}]
    try:
        status = os.stat(path(file))
        run["python_files"] = [{"file": file, "bytes": status.st_size, "modified_ns": status.st_mtime_ns, **more}]
    except OSError:
        pass
    return run


def shows(run, *options):
    """Returns the commands that show the secret, or that say another reason."""
    name = write("shows.json", run)
    return {command: SECRET.strip() in tap.run(command, *options, name).stdout
            for command in ("annotate", "html")}


def sources():
    """A page has source lines of files that are source files, and that the run has proven, or the user asks for."""
    outside = tempfile.TemporaryDirectory()
    files = {"good.py": 0o644, "part/deep.py": 0o644, "private.py": 0o600, "half/private.py": 0o640, ".hidden.py": 0o644,
             ".git/config": 0o644, "part/.ssh/id_rsa": 0o600, "linked.py": 0o600}
    for name, mode in files.items():
        os.makedirs(os.path.dirname(path(name)), exist_ok=True)
        write(name, SECRET * 3)
        os.chmod(path(name), mode)
    os.link(path("linked.py"), path("again.py"))
    secret = os.path.join(outside.name, "secret.py")
    with open(secret, "w", encoding="utf-8") as file:
        file.write(SECRET)
    os.symlink(secret, path("link.py"))
    os.symlink(outside.name, path("part/folder"))
    os.symlink(".git/config", path("git.py"))
    rows = [ # file, shown, shown with --source .
        ("good.py", True, True), (path("good.py"), True, True), ("part/../part/deep.py", True, True),
        ("private.py", False, True), ("half/private.py", False, True), ("linked.py", False, False),
        (".hidden.py", False, False), (".git/config", False, False), ("git.py", False, False),
        ("part/.ssh/id_rsa", False, False), (secret, False, False), (os.path.relpath(secret, FOLDER), False, False),
        ("link.py", False, False), ("part/folder/secret.py", False, False), ("/etc/shadow", False, False)]
    os.chmod(FOLDER, 0o755)
    reachable = all(os.stat(parent).st_mode & 1 for parent in pathlib.Path(path("good.py")).parents)
    if os.geteuid() == 0:
        for name, mode, shown in (("theirs.py", 0o644, reachable), ("their_private.py", 0o600, False)):
            write(name, SECRET)
            os.chmod(path(name), mode)
            os.chown(path(name), OTHER, OTHER)
            rows.append((name, False, shown))
    for file, shown, asked in rows:
        found = shows(of_python(file))
        check(f"{file} is {'' if shown else 'not '}shown", set(found.values()) == {shown}, found)
        found = shows(of_python(file), "--source", ".")
        check(f"{file} is {'' if asked else 'not '}shown by --source", set(found.values()) == {asked}, found)
    check("a folder that the user names", set(shows(of_python(secret), "-s", outside.name).values()) == {True})
    for change in ({"bytes": 1}, {"modified_ns": 1}, {"bytes": None}, {"modified_ns": None}):
        found = shows(of_python("good.py", **change))
        check(f"not another file than ran: {change}", not any(found.values()), found)
    claimed = of_python("good.py")
    del claimed["python_files"]
    check("nor one of which nothing is known", not any(shows(claimed).values()))
    says = tap.run("annotate", write("why.json", of_python("good.py", bytes=1))).stdout
    check("the reason is told", "not shown: it was changed since the run; --source DIR" in says, says)
    places = [secret, os.path.join(outside.name, "none.py"), os.path.join(outside.name, "none/secret.py"), outside.name,
              os.path.join(outside.name, "n" * 300), os.path.relpath(secret, FOLDER)]
    for command in ("annotate", "html"):
        told = [" ".join(re.findall("the source is not shown: ([^;]*);", " ".join(tap.run(
            command, write("elsewhere.json", of_python(place, bytes=9))).stdout.split()))) for place in places]
        check(f"{command} does not tell which files there are elsewhere", set(told) == {"it is not below the current folder"},
              *told)
    says = tap.run("annotate", write("none.json", of_python(path("none.py")))).stdout
    check("but below the current folder", "not shown: No such file or directory; --source DIR" in says, says)
    without_proc()
    outside.cleanup()


def verified_sources():
    """The line table of a program proves its sources, if the program is the one that ran."""
    write("native.c", SECRET)
    write("native", program.elf(SYMBOLS, {0x1010: ["native.c:1"]}))
    rows = [("the one that ran", ID, 0o755, True), ("one without a build ID", None, 0o755, False),
            ("one that others write", ID, 0o757, False)]
    for name, build_id, mode, shown in rows:
        os.chmod(path("native"), mode)
        found = shows(of_program("native", build_id))
        check(f"{name} names its source", set(found.values()) == {shown}, found)
        found = shows(of_program("native", build_id), "-s.")
        check(f"{name}, with --source", set(found.values()) == {True}, found)
    stored = {**of_program("none"), "names": [{"module": 0, "offset": 0x1010, "function": "f", "file": "native.c", "line": 1}]}
    check("names in the profile prove nothing", not any(shows(stored).values()))
    os.chmod(path("native"), 0o755)
    if os.geteuid() == 0:
        os.chown(path("native"), OTHER, OTHER)
        check("nor a program of another user", not any(shows(of_program("native", ID)).values()))


def without_proc():
    """Where /proc is missing, links on the way are not known, so no source is shown."""
    bare = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "-"]
    if os.geteuid() != 0 or tap.is_sanitized() or subprocess.run([*bare, "true"], capture_output=True, check=False).returncode != 0:
        print("# skipped: no machine without /proc")
        return
    for file in ("link.py", path("link.py"), "part/folder/secret.py", "good.py"):
        for options in ([], ["--source", "."]):
            done = subprocess.run([*bare, tap.HOTPIN, "annotate", *options, write("bare.json", of_python(file))], cwd=FOLDER,
                                  capture_output=True, text=True, check=False)
            check(f"{file} without /proc {options}", done.returncode == 0 and SECRET.strip() not in done.stdout, done)


def private_page():
    """Who may read a page may read the lines in it."""
    os.umask(0o022)
    for file, mode, said in (("good.py", 0o600, "hotpin: the page contains lines of good.py\n"), ("none.py", 0o644, "")):
        done = tap.run("html", "-o", "page.html", write("page.json", of_python(file)))
        seen = os.stat(path("page.html")).st_mode & 0o777
        check(f"a page of {file}", (seen, done.stderr) == (mode, said), oct(seen), done.stderr)


def limited(run):
    """Runs hotpin; returns its most memory in bytes, and its CPU time in user space."""
    def child():
        done = tap.run(*run)
        most = resource.getrusage(resource.RUSAGE_CHILDREN)
        os.write(ends[1], json.dumps([most.ru_maxrss * 1024, most.ru_utime, done.returncode, done.stderr[-500:]]).encode())

    # What the children of a process take is known of all together.
    ends = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            child()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    os.close(ends[1])
    with os.fdopen(ends[0], "rb") as file:
        return json.loads(file.read())


def memory():
    """Memory grows with the size of a file, however empty its values are."""
    count, sanitized = 1_000_000, tap.is_sanitized()
    least, *_ = limited(("report", write("least.json", made.first())))
    for name, value in (("objects", "{}"), ("lists", "[]"), ("keys", '{"a":0}'), ("nested", "[[{}],{}]")):
        for part in () if sanitized else ("", "kernels", "sites", "events"):
            text = "[" + ",".join([value] * count) + "]"
            inside = json.dumps({**made.first(), part: "HERE"}).replace('"HERE"', text) if part else text
            most, _, status, said = limited(("report", write("empty.json", inside)))
            check(f"{name} as {part or 'a file'}", status in (0, 1) and most - least < 40 * len(inside) + (24 << 20), most,
                  len(inside), said)
    functions = made.sampled()
    functions["samples"] = [{"frames": [made.frame(0, 16 * i)], "first_thread": 1, "other_threads": 0} for i in range(8000)]
    functions["names"] = [{"module": 0, "offset": 16 * i, "function": f"f{i}", "file": "/a.c", "line": i + 1} for i in range(8000)]
    inside = json.dumps(functions)
    most, _, status, said = limited(("report", "--all", write("functions.json", inside)))
    check("8000 functions with a sample each", sanitized or (status == 0 and most - least < 40 * len(inside) + (24 << 20)),
          most, len(inside), said)
    for entry in ("transfers", "modules", "gaps", "ranges", "calls", "launches", "what_if", "python_samples"):
        done = tap.run("report", write("long.json", {**made.first(), entry: [None] * 5000}))
        check(f"{entry} are few", done.returncode == 1 and f"{entry} has more than 4096 entries" in done.stderr, done.stderr)
    done = tap.run("report", write("long.json", {**made.first(), "counters": {f"c{i}": i for i in range(5000)}}))
    check("so are counters", done.returncode == 1 and "counters has more than" in done.stderr, done.stderr)


def many(count):
    """Returns a profile with as many sites and buffers, all of them different."""
    run = made.ported_next()
    run["repeats"] = None
    run["sites"] = [{"frames": [made.frame(0, 0x1000 + 16 * i)],
                     "rows": [{"direction": "h2d", "memory": "pageable", "count": 2, "bytes": 9, "host_ns": 10 + i,
                               "sync_count": 1, "sync_ns": 5}]} for i in range(count)]
    trips = [made.trips(9, 9, made.MILLI + i, 100 + i, download_site=i, upload_site=i) for i in range(count)]
    run["buffers"] = [{"kind": "heap", "frames": [made.frame(0, 0x10 + 16 * i)], "largest_bytes": 9, "promoted_bytes": 0,
                       "pins": 0, "pin_ns": 0, "saved_ns": 0, "could_save_ns": 0, "h2d": made.total(1, 8, 9 + i),
                       "d2h": made.total(0, 0, 0), "round_trips": trips[i], "follows": {**trips[i], "after": 0}}
                      for i in range(count)]
    return run


def time():
    """Four times as many entries take about four times as long, not sixteen times."""
    for count in (3000, 12000):
        write(f"many{count}.json", many(count))
    write("other.json", {**made.first(), "stage": "other"})
    for command in (("report", "--all", "NAME"), ("report", "--force", "NAME", "NAME"), ("html", "other.json", "NAME"),
                    ("report", "--csv", "sites", "NAME")):
        least = [min(limited([f"many{count}.json" if word == "NAME" else word for word in command])[1] for _ in range(2))
                 for count in (3000, 12000)]
        check(f"{' '.join(command)}", least[1] < 8 * max(least[0], 0.02), least)


def main():
    memory()
    time()
    sources()
    verified_sources()
    private_page()
    missing_texts()
    other_files()
    hostile_programs()
    links()
    servers()
    private_programs()
    tap.end()


main()
