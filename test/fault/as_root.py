#!/usr/bin/env python3
"""Root reads the profile of another user: programs started for it run with that user's rights only.

    as_root.py HOTPIN FOLDER_OF_MADE MODULE    a module that knows its lines
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

OTHER = 1


def main():
    hotpin, helpers, lines = sys.argv[1:]
    sys.path.insert(0, helpers)
    sys.argv[1:] = [hotpin]
    import made  # pylint: disable=import-outside-toplevel
    if os.geteuid() != 0:
        print("1..0 # SKIP only root can make another user's files")
        return
    with tempfile.TemporaryDirectory(prefix="hotpin-root-") as folder:
        os.chmod(folder, 0o777)
        # Replaces addr2line, and only prints the user that runs it.
        with open(os.path.join(folder, "addr2line"), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nid -u >>'{folder}/users'\n")
        os.chmod(os.path.join(folder, "addr2line"), 0o755)
        with open(os.path.join(folder, "users"), "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o666)

        def users(owner):
            module = shutil.copy(lines, os.path.join(folder, f"module{owner}"))
            os.chown(module, owner, owner)
            profile = made.first()
            profile["modules"] = [{"path": "/usr/lib/libcudart.so.13", "build_id": None},
                                  {"path": module, "build_id": None}]
            profile["process"]["ended_utc"] = "20991231-235959"
            profile["sites"][0]["frames"] = [made.frame(0, 0x77), made.frame(1, 0x5000)]
            path = os.path.join(folder, "profile.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(profile, file)
            os.chown(path, owner, owner)
            open(os.path.join(folder, "users"), "w", encoding="utf-8").close()
            env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
            done = subprocess.run([hotpin, "report", path], env=env, capture_output=True,
                                  text=True, check=False)
            with open(os.path.join(folder, "users"), encoding="utf-8") as file:
                return done.returncode, set(file.read().split())

        print("1..2")
        failed = False
        for number, owner in enumerate((0, OTHER), 1):
            seen = users(owner)
            holds = seen == (0, {str(owner)})
            failed |= not holds
            print(f"{'ok' if holds else 'not ok'} {number} - a file of user {owner} {seen}")
        sys.exit(failed)


main()
