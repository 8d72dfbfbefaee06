#!/usr/bin/env python3
"""Tests what a profile of a stranger cannot do to its reader.
test_strangers.py HOTPIN
"""
import copy

import made
import tap
from tap import check, write


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
            if tap.run("csv", name).returncode == 0:
                files.append(name)
    check("most texts may be missing", len(files) > 60, files)
    for command in (("report", "--all", "--force"), ("report", "--json"), ("compare", "--force"), ("html",), ("trace",),
                    ("compare", "--force", "--json"), ("csv", "-t", "sites"), ("csv", "-t", "buffers"), ("csv", "--folded")):
        done = tap.run(*command, *files)
        check(f"{' '.join(command)} without each text", done.returncode in (0, 1, 3), done.returncode, done.stderr[-2000:])
        done = tap.run(*command, *reversed(files))
        check(f"{' '.join(command)} in the other order", done.returncode in (0, 1, 3), done.returncode, done.stderr[-2000:])
    for name in files:
        done = tap.run("annotate", name)
        if not check(f"annotate {name}", done.returncode in (0, 1), done.returncode, done.stderr):
            break


def main():
    missing_texts()
    tap.end()


main()
