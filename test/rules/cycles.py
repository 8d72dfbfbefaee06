#!/usr/bin/env python3
"""Checks that sources include each other in cycles of at most three files.  cycles.py ROOT

x.c and x.h count as one file: x.c may include y.h, and y.c x.h, only if both are in one room and
the cycle has at most three files.  No cycle spans rooms.
"""
import pathlib
import re
import sys

FILES_MOST = 3

SUFFIXES = [".c", ".h", ".def"]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def node_of(path):
    """`room/sub/x.c` and `room/sub/x.h` are one node."""
    return str(pathlib.PurePath(path).with_suffix(""))


def room_of(node):
    return node.split("/")[0]


def read_graph(sources):
    graph = {}
    for path in sorted(sources.rglob("*")):
        if path.suffix not in SUFFIXES:
            continue
        node = node_of(path.relative_to(sources))
        headers = INCLUDE.findall(path.read_text(encoding="utf-8"))
        targets = {node_of(name) for name in headers
                   if (sources / name).exists() and pathlib.PurePath(name).suffix in SUFFIXES}
        graph.setdefault(node, set()).update(targets - {node})
    return graph


def reachable(graph, node):
    seen, waiting = set(), [node]
    while waiting:
        for target in graph[waiting.pop()]:
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


def circles(graph):
    """Returns sets of files that all reach each other."""
    reach = {node: reachable(graph, node) for node in graph}
    found = {frozenset(other for other in reach[node] if node in reach[other])
             for node in graph if node in reach[node]}
    return sorted(sorted(circle) for circle in found)


def judge(circle):
    """Returns what is wrong with the cycle, or None."""
    rooms = {room_of(node) for node in circle}
    if len(rooms) > 1:
        return "a circle across rooms"
    if len(circle) > FILES_MOST:
        return f"a circle of {len(circle)} files"
    return None


def main():
    sources = pathlib.Path(sys.argv[1]) / "src"
    graph = read_graph(sources)
    wrong = [] if graph else ["no files found"]
    for circle in circles(graph):
        complaint = judge(circle)
        if complaint:
            print(f"{complaint}: {', '.join(circle)}")
            wrong.append(complaint)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
