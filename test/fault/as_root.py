#!/usr/bin/env python3
"""Root reads the profile of another user: programs started for it run with that user's rights only.

    as_root.py HOTPIN FOLDER_OF_MADE MODULE    a module that knows its lines
"""
import json
import os
import pathlib
import re
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
        os.chmod(folder, 0o755)
        if not all(os.stat(parent).st_mode & 1 for parent in pathlib.Path(folder).parents):
            print("1..0 # SKIP others cannot reach", folder)
            return
        # Replaces addr2line; its answer names the user that runs it.
        with open(os.path.join(folder, "addr2line"), "w", encoding="utf-8") as file:
            file.write("#!/bin/bash\nprintf '%s\\n' 0x0 work /user-$EUID.c:1\n")
        os.chmod(os.path.join(folder, "addr2line"), 0o755)

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
            env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
            done = subprocess.run([hotpin, "csv", "-t", "sites", path], env=env, capture_output=True,
                                  text=True, check=False)
            return done.returncode, set(re.findall(r"user-(\d+)\.c:1", done.stdout))

        print("1..2")
        failed = False
        for number, owner in enumerate((0, OTHER), 1):
            seen = users(owner)
            holds = seen == (0, {str(owner)})
            failed |= not holds
            print(f"{'ok' if holds else 'not ok'} {number} - a file of user {owner} {seen}")
        sys.exit(failed)


main()
