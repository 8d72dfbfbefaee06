#!/usr/bin/env python3
"""Checks that sources include each other in cycles of at most three files, and the layers of trace.
cycles.py ROOT

x.c and x.h count as one file: x.c may include y.h, and y.c x.h, only if both are in one room and
the cycle has at most three files.  No cycle spans rooms.

src/README.md has a table of the layers of src/trace.  Each file is in it once, and includes files
of its own layer and of the layers above only.  Lists (.def) belong to no layer.
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


def read_layers(page):
    """Returns the files of each row of the table of layers, from the top."""
    rows = re.search(r"^\| layer \| files \|\n\|[-|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    return [re.findall(r"`([^`]+)`", row) for row in rows[1].splitlines()] if rows else []


def judge_layers(layers, graph, sources):
    """Yields what is wrong with the layers of trace."""
    layer_of = {}
    for number, names in enumerate(layers):
        for name in names:
            node = node_of(f"trace/{name}")
            if node in layer_of:
                yield f"{name} is twice in the table of layers"
            if not (sources / "trace" / name).exists():
                yield f"{name} is in the table of layers, but not in src/trace"
            layer_of[node] = number
    lists = {node_of(path.relative_to(sources)) for path in (sources / "trace").rglob("*.def")}
    nodes = {node for node in graph if room_of(node) == "trace"} - lists
    for node in sorted(nodes - layer_of.keys()):
        yield f"{node} is not in the table of layers"
    for node in sorted(nodes & layer_of.keys()):
        for target in sorted(graph[node] & layer_of.keys()):
            if layer_of[target] > layer_of[node]:
                yield f"{node} includes {target} of a layer below"


def main():
    root = pathlib.Path(sys.argv[1])
    sources = root / "src"
    graph = read_graph(sources)
    wrong = [] if graph else ["no files found"]
    page = (sources / "README.md").read_text(encoding="utf-8")
    for complaint in judge_layers(read_layers(page), graph, sources):
        print(complaint)
        wrong.append(complaint)
    for circle in circles(graph):
        complaint = judge(circle)
        if complaint:
            print(f"{complaint}: {', '.join(circle)}")
            wrong.append(complaint)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
