#!/usr/bin/env python3
"""Checks which files of src and tools include which.  includes.py ROOT

* A room, which is a folder of src or tools, includes only the rooms that ALLOWED has.
* x.c includes x.h first, which so needs nothing before it.
* x.c and x.h count as one file, and such files include each other in cycles of at most three.
* src/README.md has a table of the layers of src/trace.  Each file is in it once, and includes files
  of its own layer and of the layers above only.  Lists (.def) belong to no layer.
"""
import pathlib
import re
import sys

# The other rooms whose headers each room may include.
ALLOWED = {
    "base": "", "real": "base", "heap": "base real", "pin": "base real heap",
    "stage": "base real heap pin", "trace": "base", "engine": "base real heap pin stage trace",
    "shim": "base real heap pin stage trace engine",
    "system": "base", "launch": "base system", "profile": "base system",
    "names": "base system profile", "analyze": "base system profile names",
    "tables": "base system profile names analyze",
    "compare": "base system profile names analyze tables",
    "show": "base system profile names analyze tables compare",
    "cmd": "base system profile names analyze tables compare show launch",
}
CYCLE_MOST = 3
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)', re.MULTILINE)

root = pathlib.Path(sys.argv[1])
wrong = []


def node_of(name):
    """`room/sub/x.c` and `room/sub/x.h` are one node."""
    return str(pathlib.PurePath(name).with_suffix(""))


def read_files():
    """Returns name, as others include it -> [(is it quoted, included name)]."""
    files = {}
    for top in (root / "src", root / "tools"):
        for path in sorted(top.rglob("*")):
            if path.suffix in (".c", ".h", ".S", ".def"):
                text = path.read_text(encoding="utf-8")
                files[str(path.relative_to(top))] = [(quote == '"', name)
                                                     for quote, name in INCLUDE.findall(text)]
    return files


def check_file(files, name, included):
    """Checks the arrows of one file, and that its own header comes first."""
    room = name.split("/")[0]
    own = name.removesuffix(".c") + ".h"
    if room not in ALLOWED or "/" not in name:
        wrong.append(f"{name} is in no room that this rule knows")
        return
    if name.endswith(".c") and own in files and included[:1] != [(True, own)]:
        wrong.append(f"{name}: its first include is not its own header")
    for quoted, header in included:
        other = header.split("/")[0]
        # driver.def is only a list, and needs no other header.
        if not quoted or (header == "real/driver.def" and (root / "tools" / name).exists()):
            continue
        if other == ".." or "/" not in header:
            wrong.append(f"{name}: {header}: name the room")
        elif other not in [room, *ALLOWED[room].split()]:
            wrong.append(f"{name}: {room} may not use {other} ({header})")


def read_graph(files):
    graph = {}
    for name, included in files.items():
        targets = {node_of(header) for quoted, header in included if quoted and header in files}
        graph.setdefault(node_of(name), set()).update(targets - {node_of(name)})
    return graph


def reachable(graph, node):
    seen, waiting = set(), [node]
    while waiting:
        new = graph[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen


def check_cycles(graph):
    """Checks sets of files that all reach each other; by ALLOWED, they are in one room."""
    reach = {node: reachable(graph, node) for node in graph}
    for circle in {frozenset(other for other in reach[node] if node in reach[other]) for node in graph}:
        if len(circle) > CYCLE_MOST:
            wrong.append(f"a cycle of {len(circle)} files: {', '.join(sorted(circle))}")


def check_layers(files, graph):
    """Checks the includes of src/trace by the table of its layers, from the top."""
    page = (root / "src/README.md").read_text(encoding="utf-8")
    table = re.search(r"^\| layer \| files \|\n\|[-|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    layer_of = {}
    for number, row in enumerate(table[1].splitlines() if table else []):
        for name in re.findall(r"`([^`]+)`", row):
            if node_of(f"trace/{name}") in layer_of:
                wrong.append(f"{name} is twice in the table of layers")
            if f"trace/{name}" not in files:
                wrong.append(f"{name} is in the table of layers, but not in src/trace")
            layer_of[node_of(f"trace/{name}")] = number
    nodes = {node_of(name) for name in files if name.startswith("trace/") and not name.endswith(".def")}
    for node in sorted(nodes):
        if node not in layer_of:
            wrong.append(f"{node} is not in the table of layers")
            continue
        wrong.extend(f"{node} includes {target} of a layer below" for target in sorted(graph[node] & nodes)
                     if layer_of.get(target, 0) > layer_of[node])


def main():
    files = read_files()
    graph = read_graph(files)
    for name, included in files.items():
        check_file(files, name, included)
    check_cycles(graph)
    check_layers(files, graph)
    print("\n".join(wrong) if wrong else f"{len(files)} files")
    return bool(wrong) or len(files) < 100


sys.exit(main())
