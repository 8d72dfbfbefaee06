#!/usr/bin/env python3
"""Makes the pictures of doc/page.md from recorded profiles.  pictures.py HOTPIN

Run it manually, with Chromium, when the page has changed: readers of the manual see these pictures.
"""
import glob
import os

import browser
import tap

DOC = os.path.join(tap.HERE, *[".."] * 3, "doc")
# name: the profiles, the height
PICTURES = {
    "page_stage2.png": ("porting/stage2-*.json", 800),
    "page_stages.png": ("porting/stage?-?.json", 800),
    "page_program.png": ("recorded/hecbench_wyllie.json", 800),
    "page_pytorch.png": ("recorded/pytorch_training.json", 800),
}


def main():
    shown, why = browser.start(60)
    if not shown:
        raise SystemExit(why)
    for picture, (pattern, height) in PICTURES.items():
        files = sorted(glob.glob(os.path.join(DOC, pattern)))
        page = os.path.join(tap.FOLDER.name, "page.html")
        done = tap.run("html", "-o", page, *files)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        shown.show(page, 1100, height)
        shown.picture(os.path.join(DOC, picture), height)
    shown.close()
    tap.end()


main()
