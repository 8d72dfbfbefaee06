#!/usr/bin/env python3
"""Runs a set-user-id program in a system whose /etc/ld.so.preload names the library.

    secure.py PROGRAM LIBHOTPIN

It runs in a mount namespace of its own.  Only root can create one that has a second user.
"""
import os
import shutil
import stat
import subprocess
import sys
import tempfile

OTHER = 1


def main():
    program, library = sys.argv[1:]
    done = subprocess.run(["unshare", "-m", "true"], check=False, stderr=subprocess.DEVNULL)
    if os.geteuid() != 0 or done.returncode != 0:
        print("1..0 # SKIP this needs root and mount namespaces")
        return
    os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="hotpin-secure-") as folder:
        os.chmod(folder, 0o777)
        etc = os.path.join(folder, "etc")
        os.mkdir(etc)
        ours = shutil.copy(library, folder)
        os.chmod(ours, 0o755)
        if os.path.exists("/etc/ld.so.cache"):
            shutil.copy("/etc/ld.so.cache", etc)
        with open(os.path.join(etc, "ld.so.preload"), "w", encoding="utf-8") as file:
            file.write(ours + "\n")

        def run(name, mode, preload):
            path = shutil.copy(program, os.path.join(folder, name))
            if mode & stat.S_ISUID:
                os.chown(path, OTHER, OTHER)
            os.chmod(path, mode)
            files = {"HOTPIN_OUT": f"{folder}/{name}.json", "HOTPIN_LOG_FILE": f"{folder}/{name}.log"}
            env = {"PATH": os.environ["PATH"], "HOTPIN_LOG": "debug", "HOTPIN_PROFILE": "trace", **files}
            mount = f"mount --bind '{etc}' /etc && " if preload else ""
            shown = subprocess.run(["unshare", "-m", "sh", "-c", f"{mount}exec '{path}'"], env=env,
                                   capture_output=True, text=True, check=False)
            return (shown.stdout.split("offset ")[-1].strip(), shown.stdout, shown.stderr,
                    [os.path.exists(file) for file in files.values()])

        plain = run("plain", 0o755, False)
        other = run("other", 0o755, True)
        secure = run("secure", 0o4755, True)
        checks = [
            ("without it", plain[1].startswith("secure 0 loaded 0"), plain),
            ("an ordinary program has it",
             other[1].startswith("secure 0 loaded 1") and other[0] != plain[0] and other[3][1], other),
            ("a program with rights of its own has it loaded, and nothing else",
             secure[1].startswith("secure 1 loaded 1") and secure[0] == plain[0] and
             secure[2] == "" and not any(secure[3]), secure),
        ]
        print(f"1..{len(checks)}")
        for number, (what, holds, seen) in enumerate(checks, 1):
            print(f"{'ok' if holds else 'not ok'} {number} - {what}{'' if holds else f' {seen}'}")
        sys.exit(not all(holds for _, holds, _ in checks))


main()
