#!/usr/bin/env python3
"""The page of `hotpin html` in a browser, where Chromium is installed.  test_browser.py HOTPIN"""
import os
import re
import shutil
import subprocess
import sys

import made
import tap
from tap import check, write

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
                None)
MEASURE = ("<script>parent.postMessage([innerWidth, document.documentElement.scrollWidth, "
           "getComputedStyle(document.body).backgroundColor].join(' '), '*')</script></body>")
# A window is never narrower than 500 pixels; a frame may be.
FRAME = """<!DOCTYPE html><meta name="color-scheme" content="light dark"/><title>nothing</title>
<script>onmessage = message => document.title = message.data</script>
<iframe src="framed.html" width="{}" height="900" style="border:0"></iframe>"""


def title(page, dark):
    """The title of the page once it has been shown."""
    path = os.path.join(tap.FOLDER.name, write("shown.html", page))
    command = [CHROMIUM, "--headless", "--disable-gpu", "--disable-dev-shm-usage",
               f"--user-data-dir={tap.FOLDER.name}/browser", "--window-size=1400,1000", "--virtual-time-budget=3000",
               f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--dump-dom",
               *(["--no-sandbox"] if os.geteuid() == 0 else []), "file://" + path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 * tap.SLOWNESS, check=False)
    found = re.search("<title>(.*?)</title>", done.stdout, re.S)
    return found.group(1) if found else done.stderr[-2000:]


def main():
    if not CHROMIUM:
        print("1..0 # SKIP no Chromium")
        sys.exit(0)
    files = [write(f"{i}.json", profile) for i, profile in
             enumerate((made.first(), made.hostile(), made.third(), made.without_device()))]
    page = tap.run("html", *files).stdout
    if not title("<title>works</title>", False) == "works":
        print("1..0 # SKIP Chromium does not start here")
        sys.exit(0)
    shown = title(page.replace("</body>", "<script>document.title='ran'</script></body>"), False)
    check("its policy lets no script run", shown.startswith("hotpin: 4 profiles"), shown)
    # The policy taken out, so that the page can be measured.
    open_page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    write("framed.html", open_page.replace("</body>", MEASURE))
    for width, dark in ((390, False), (390, True), (1280, False), (1280, True)):
        shown = title(FRAME.format(width), dark)
        found = re.fullmatch(r"(\d+) (\d+) rgb\((\d+), (\d+), (\d+)\)", shown)
        name = f"{width} pixels wide, {'dark' if dark else 'light'}"
        if check(name + ": shown", found, shown):
            inner, needs, *colours = map(int, found.groups())
            check(name + ": nothing sticks out", inner == width and needs <= width, shown)
            check(name + ": its background", (max(colours) < 60) == dark, shown)
    tap.end()


main()
