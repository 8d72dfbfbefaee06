#!/usr/bin/env python3
"""Commands of root in a folder like /tmp, where another user has prepared traps.

    users.py HOTPIN LIBRARY FOLDER_OF_MADE MODULE    a module that knows its lines
"""
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading

OTHER = 1
PATIENCE = 60 * int(os.environ.get("TEST_SLOWNESS", "1"))
CHECKS = []


def check(what, holds, *seen):
    CHECKS.append(holds)
    print(f"{'ok' if holds else 'not ok'} {len(CHECKS)} - {what}{'' if holds else f' {seen!a:.1500}'}", flush=True)


class Shared:
    """A folder that all can write, and a file of root's that must stay as it is."""

    def __init__(self, folder, hotpin):
        self.hotpin, self.path = hotpin, os.path.join(folder, "shared")
        self.precious = os.path.join(folder, "precious")
        self.inside = os.path.join(folder, "inside")
        os.mkdir(self.inside)
        os.mkdir(self.path)
        os.chmod(self.path, 0o1777)
        self.write(self.precious, "precious")

    def at(self, name):
        return os.path.join(self.path, name)

    def write(self, path, content, owner=0, mode=0o600):
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        os.chown(path, owner, owner)
        os.chmod(path, mode)
        return path

    def link(self, name, target, owner=OTHER):
        os.symlink(target, self.at(name))
        os.lchown(self.at(name), owner, owner)
        return self.at(name)

    def pipe(self, name, owner=OTHER):
        os.mkfifo(self.at(name))
        os.chown(self.at(name), owner, owner)
        os.chmod(self.at(name), 0o666)
        return self.at(name)

    def run(self, *arguments, user=None, hotpin=None, **more):
        command = [hotpin or self.hotpin, *arguments]
        if user is not None:
            command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command]
        if "stdout" not in more:
            more["stdout"] = subprocess.PIPE
        try:
            return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, timeout=PATIENCE, **more)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, None, "", "a trap delays it")

    def is_untouched(self):
        with open(self.precious, encoding="utf-8") as file:
            return file.read() == "precious" and os.listdir(self.inside) == []


def outputs(shared, profile):
    for command in ("html", "trace", "report --csv=summary"):
        link = shared.link(f"link.{command}", shared.precious)
        done = shared.run(*command.split(), "-o", link, profile)
        status = os.lstat(link)
        check(f"{command}: another user's link is replaced, not followed", done.returncode == 0 and
              shared.is_untouched() and stat.S_ISREG(status.st_mode) and status.st_uid == 0, done)
        done = shared.run(*command.split(), "-o", shared.link(f"folder.{command}", shared.inside) + "/x", profile)
        check(f"{command}: nor is that to a folder", done.returncode == 1 and "Permission denied" in done.stderr and
              shared.is_untouched(), done, os.listdir(shared.inside))
        pipe = shared.pipe(f"pipe.{command}")
        for read in (False, True):
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK) if read else None
            done = shared.run(*command.split(), "-o", pipe, profile)
            check(f"{command}: another user's pipe gets nothing{' that reads' if read else ''}",
                  done.returncode == 1 and "Permission denied" in done.stderr and
                  (not read or os.read(reader, 1) == b""), done)
        own, got = shared.pipe(f"own.{command}", 0), []
        thread = threading.Thread(target=lambda path=own, to=got: to.append(open(path, "rb").read()), daemon=True)
        thread.start()
        done = shared.run(*command.split(), "-o", own, profile)
        thread.join(PATIENCE)
        plain = shared.run(*command.split(), profile).stdout
        check(f"{command}: an own pipe works", done.returncode == 0 and got == [plain.encode()], done)
        done = shared.run(*command.split(), "-o", "/dev/stdout", profile)
        check(f"{command}: so does standard output", done.stdout == plain, done)
        # Not by root, who could replace the link in /dev.
        out = shared.write(shared.at(f"out.{command}"), "", OTHER)
        with open(out, "w", encoding="utf-8") as file:
            done = shared.run(*command.split(), "-o", "/dev/stdout", profile, user=OTHER, stdout=file)
        with open(out, encoding="utf-8") as file:
            check(f"{command}: that is a file", file.read() == plain, done)
        done = shared.run(*command.split(), "-o", "/dev/null", profile)
        check(f"{command}: and a device", done.returncode == 0 and
              stat.S_ISCHR(os.stat("/dev/null").st_mode), done)


def runs(shared, library):
    """`hotpin run` says so before the program starts."""
    for name in (shared.pipe("run.pipe"), shared.link("run.folder", shared.inside) + "/x"):
        done = shared.run("run", "--library", library, "-o", name, "true")
        check(f"run: {os.path.basename(name)}", done.returncode == 125 and "Permission denied" in done.stderr, done)
    done = shared.run("run", "--library", library, "-o", shared.link("run.link", shared.precious), "true")
    check("run: a link that is replaced", done.returncode == 0 and shared.is_untouched(), done)


def libraries(shared, library):
    """A library that another user could change is not preloaded; test_find.c has each way to change one."""
    def refuses(what, path, *arguments, hotpin=None):
        for command in (("run", *arguments, "env"), ("bench", "-o", shared.at("b"), *arguments, "true")):
            done = shared.run(*command, hotpin=hotpin)
            check(f"{command[0]}: {what}", done.returncode != 0 and "LD_PRELOAD=" not in done.stdout and
                  f"{path} is not used, because other users can change it" in done.stderr, done)

    theirs, ours = shared.at("theirs.so"), os.path.join(shared.inside, "libhotpin.so")
    shutil.copy(library, theirs)
    refuses("a library in a folder of all", theirs, "--library", theirs)
    shutil.copy(library, ours)
    done = shared.run("run", "--library", ours, "env")
    check("run: our own", f"LD_PRELOAD={ours}\n" in done.stdout, done)
    os.unlink(ours)
    # Next to hotpin, where it would find its own.
    for name in ("ours", "src"):
        os.mkdir(shared.at(name))
    hotpin = shutil.copy(shared.hotpin, shared.at("ours/hotpin"))
    planted = shutil.copy(library, shared.at("src/libhotpin.so"))
    os.chown(shared.at("src"), OTHER, OTHER)
    refuses("a planted library", planted, hotpin=hotpin)
    done = shared.run("doctor", hotpin=hotpin)
    check("doctor: a planted library", "no      library       not usable" in done.stdout, done)
    os.chown(shared.at("src"), 0, 0)
    done = shared.run("run", "env", hotpin=hotpin)
    check("run: our own next to hotpin", f"LD_PRELOAD={planted}\n" in done.stdout, done)


def names(shared, made, lines):
    """`hotpin resolve` replaces the file, which keeps its owner."""
    profile = made.first()
    profile["modules"] = [{"path": "/usr/lib/libcudart.so.13", "build_id": None}, {"path": lines, "build_id": None}]
    profile["process"]["ended_utc"] = "20991231-235959"
    profile["names"] = [{"module": 0, "offset": 0x76, "function": "f", "file": None, "line": None}]
    profile["sites"][0]["frames"] = [made.frame(0, 0x77), made.frame(1, 0x5000)]

    def resolved(what, path, holds, **more):
        with open(path, encoding="utf-8") as file:
            before = file.read()
        done = shared.run("resolve", path, **more)
        status = os.stat(path)
        with open(path, encoding="utf-8") as file:
            check(f"resolve: {what}", holds(done, status, file.read() == before), done, status)

    path = shared.write(shared.at("theirs.json"), profile, OTHER, 0o640)
    resolved("another user's profile stays that user's", path, lambda done, status, same: done.returncode == 0 and
             not same and (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (OTHER, OTHER, 0o640))
    path = shared.write(os.path.join(shared.inside, "ours.json"), profile)
    resolved("another user's link is not followed", shared.link("link.json", path),
             lambda done, _, same: done.returncode == 1 and same and "Permission denied" in done.stderr)
    os.unlink(path)
    os.chmod(shared.path, 0o777)
    path = shared.write(shared.at("roots.json"), profile, 0, 0o666)
    resolved("no other user becomes the owner", path, lambda done, status, same: done.returncode == 1 and same and
             status.st_uid == 0 and "belongs to another user" in done.stderr, user=OTHER)
    os.chmod(shared.path, 0o1777)


def main():
    hotpin, library, helpers, lines = (os.path.abspath(path) for path in sys.argv[1:])
    sys.path.insert(0, helpers)
    sys.argv[1:] = [hotpin]
    import made  # pylint: disable=import-outside-toplevel
    if os.geteuid() != 0:
        print("1..0 # SKIP only root can make another user's files")
        return
    os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="hotpin-users-") as folder:
        os.chmod(folder, 0o755)
        shutil.copy(hotpin, folder)
        shared = Shared(folder, os.path.join(folder, "hotpin"))
        own = shutil.copy(library, os.path.join(folder, "libhotpin.so"))
        profile = shared.write(os.path.join(folder, "run.json"), made.looped(3), mode=0o644)
        outputs(shared, profile)
        runs(shared, own)
        libraries(shared, own)
        names(shared, made, lines)
    print(f"1..{len(CHECKS)}")
    sys.exit(not all(CHECKS))


main()
