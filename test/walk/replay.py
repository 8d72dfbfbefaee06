#!/usr/bin/env python3
"""Writes random programs that observed a difference as C, and runs them.

    replay.py write LISTING NAME [OPTION=VALUE...]      the C of what `walk --verbose` printed
    replay.py run REPLAY LIBRARY                        each program with and without the library

The listing is that of a run without the library, as walk.py prints it for a difference (lines that
begin with "+ " belong to the other run and are left out).  Steps without a translation become
comments in the C.  Whether the program still shows the difference must be tried.
"""
import os
import re
import string
import subprocess
import sys

WHERE = r"(?:(?P<name>\w+) )?l(?P<line>\d+)"
SLOWNESS = int(os.environ.get("TEST_SLOWNESS", "1"))


class Program:
    def __init__(self):
        self.parts = []         # (thread, lines)
        self.sizes = {}         # of "h3" and the like, as far as known
        self.own = {1, 2, 3}    # lines that are threads' own streams; 0 is the legacy stream
        self.keys = 0

    def add(self, thread, text):
        if not self.parts or self.parts[-1][0] != thread:
            self.parts.append((thread, []))
        self.parts[-1][1].append(text)

    def key(self):
        self.keys += 1
        return self.keys

    def stream(self, name, line):
        line = int(line)
        if name == "own":
            self.own.add(line)
        if name == "legacy" or line == 0:
            return "CU_STREAM_LEGACY"
        return "CU_STREAM_PER_THREAD" if line in self.own else f"l[{line}]"


def at(text):
    """Returns h3+512 as C; an offset of 0 is left out."""
    letter, number, offset = re.fullmatch(r"(\w)(\d+)(?:\+(\d+))?", text).groups()
    place = f"{letter}[{number}]" + (f" + {offset}" if offset and offset != "0" else "")
    return place


def unified(text):
    return ("(CUdeviceptr)(" + at(text) + ")") if text[0] == "h" else at(text)


def event(text):
    return "spare" if text == "spare" else f"e[{text[1:]}]"


class Words:
    """The names in a template: {1} is a group, {at[1]} and {event[1]} are the group as C."""

    def __init__(self, function, match):
        self.function, self.match = function, match

    def __getitem__(self, group):
        return self.function(self.match[group])


class Fields:
    """Also {on}, the stream of WHERE; {flavor}, the meaning of NULL by its name; {key}, a new key.
    """

    def __init__(self, program, match):
        self.program, self.match = program, match

    def __getitem__(self, name):
        if name == "on":
            found = self.match.groupdict()
            return self.program.stream(found["name"], found["line"])
        if name == "flavor":
            return int(self.match["name"] == "own")
        if name == "key":
            return self.program.key()
        return Words({"at": at, "event": event, "size": self.program.sizes.get}[name], self.match)


def remembers(template):
    """Remembers the size, which is the last group."""
    def translated(p, m):
        p.sizes[m[1]] = m[m.lastindex]
        return expand(template, p, m)
    return translated


def expand(template, program, match):
    return string.Formatter().vformat(template, (match[0], *match.groups()), Fields(program, match))


def malloced(p, m):
    p.sizes[m[1]] = m[2]
    return f"{at(m[1])} = {'calloc(1, ' if m[3] else 'malloc('}{m[2]});"


def made(p, m):
    p.sizes[m[1]] = m[3]
    return f"{at(m[1])} = {'aligned' if m[2] == 'memalign' else 'mapped'}({m[3]});"


def pinned(p, m):
    p.sizes["h" + m[1]] = m[3]
    return f"CODE(cu[0].cuMemAllocHost_v2((void **)&h[{m[1]}], {m[3]}));"


def written(p, m):
    return f"fill({at(m[1] + '+' + m[2])}, {int(m[3]) - int(m[2])}, {p.key()});"


def read(_, m):
    return f"LOOK({at(m[1] + '+' + m[2])}, {int(m[3]) - int(m[2])});"


def device_set_later(p, m):
    return (f"CODE(cu[0].cuMemset{m[1]}Async({at(m[2])}, {m[3].replace('..', '17')}u, {m[4]}, "
            f"{p.stream(m['name'], m['line'])}));")


def copied(p, m):
    to, source = at(m[3]), at(m[4])
    if m[1] == "cuMemcpy":
        to, source, version = unified(m[3]), unified(m[4]), ""
    else:
        version = "_v2"
    if m[2]:
        stream = p.stream(m["name"], m["line"])
        return f"CODE(cu[0].{m[1]}Async{version}({to}, {source}, {m[5]}, {stream}));"
    return f"CODE(cu[{int(m['name'] == 'own')}].{m[1]}{version}({to}, {source}, {m[5]}));"


def waited_by_copy(_, m):
    both = "small, scratch" if m[1] == "DtoH" else "scratch, small"
    return (f"{{\n\tstatic char small[64];\n\n"
            f"\tCODE(cu[{int(m[2] is not None)}].cuMemcpy{m[1]}_v2({both}, {m[4]}));\n}}")


def xored(p, m):
    return (f"KERNEL(K_XOR, {p.stream(m['name'], m['line'])}, (uint64_t)({at(m[3])}), {m[4]}, 7, "
            f"{m[5] or 0});")


def stream_made(p, m):
    p.own.discard(int(m[1]))
    kind = "CU_STREAM_DEFAULT" if m[2] == "blocking" else "CU_STREAM_NON_BLOCKING"
    return f"CODE(cu[0].cuStreamCreate(&l[{m[1]}], {kind}));"


def queried(p, m):
    return f"{'EITHER' if m[3] else 'CODE'}(cu[0].cuStreamQuery({p.stream(None, m['line'])}));"


def context_named(_, m):
    return f"CODE(cu[0].{m[1]}{'' if 'Set' in m[1] else '_v2'}(c[{m[2]}]));"


def event_waited(_, m):
    return f"CODE(cu[0].{m[1]}{'_v2' if m[1].endswith('y') else ''}({event(m[2])}));"


def event_queried(_, m):
    return f"{'EITHER' if m[2] else 'CODE'}(cu[0].cuEventQuery({event(m[1])}));"


def stepped(p, m):
    return f"step({p.stream(None, m[2])}, {m[1]});"


# The start of a line of the listing, and its C: a template, or a function that makes it.
RULES = [(re.compile(pattern), how) for pattern, how in [
    (r"(h\d+) = malloc\((\d+)\)(, zeroed)?", malloced),
    (r"(h\d+) = (memalign|mmap)\((\d+)\)", made),
    (r"(h\d+) is static, (\d+)",
     remembers("{at[1]} = of_data({2});\nfill({at[1]}, {2}, {key});")),
    (r"h(\d+) = (cuMemAllocHost|cuMemHostAlloc)\((\d+)\)", pinned),
    (r"(h\d+) = realloc\(h\d+, (\d+)\)", remembers("{at[1]} = realloc({at[1]}, {2});")),
    (r"(h\d+) is filled", "fill({at[1]}, {size[1]}, {key});"),
    (r"(h\d+)\[(\d+), (\d+)\) is written", written),
    (r"(h\d+)\[(\d+), (\d+)\) is [0-9a-f]{16}", read),
    (r"free\((h\d+)\)", "free({at[1]});"),
    (r"munmap\((h\d+)\)", "munmap({at[1]}, {size[1]});"),
    (r"memmove\((h[\d+]+), (h[\d+]+), (\d+)\)", "memmove({at[1]}, {at[2]}, {3});"),
    (r"cuMemHostRegister\((h[\d+]+), (\d+)\)",
     "CODE(cu[0].cuMemHostRegister_v2({at[1]}, {2}, 0));"),
    (r"(cuMemHostUnregister|cuMemFreeHost)\((h[\d+]+)\)", "CODE(cu[0].{1}({at[2]}));"),
    (r"d(\d+) = cuMemAlloc\((\d+)\)", "CODE(cu[0].cuMemAlloc_v2(&d[{1}], {2}));"),
    (r"d(\d+) = cuMemAllocAsync\((\d+), " + WHERE + r"\)",
     "CODE(cu[0].cuMemAllocAsync(&d[{1}], {2}, {on}));"),
    (r"cuMemFreeAsync\((d\d+), " + WHERE + r"\)", "CODE(cu[0].cuMemFreeAsync({at[1]}, {on}));"),
    (r"cuMemFree\((d\d+)\)", "CODE(cu[0].cuMemFree_v2({at[1]}));"),
    (r"cuMemsetD8\((d\d+), \.\., (\d+)\)", "CODE(cu[0].cuMemsetD8_v2({at[1]}, 17, {2}));"),
    (r"cuMemset(D8|D32)\((d[\d+]+), (\d+), (\d+), (?P<name>\w+)\)",
     "CODE(cu[{flavor}].cuMemset{1}_v2({at[2]}, {3}u, {4}));"),
    (r"cuMemset(D8|D32)Async\((d[\d+]+), (\d+|\.\.), (\d+), " + WHERE + r"\)", device_set_later),
    (r"(cuMemcpy(?:HtoD|DtoH|DtoD)?)(Async)?\(([hd][\d+]+), ([hd][\d+]+), (\d+), " + WHERE + r"\)",
     copied),
    (r"cuMemcpy(DtoH|HtoD)(_ptds)?\((small, scratch|scratch, small), (\d+)\)", waited_by_copy),
    (r"xor<<<" + WHERE + r">>>\(([hd][\d+]+), (\d+)(?:, (\d+) ns)?\)", xored),
    (r"mix<<<" + WHERE + r">>>\(([hd][\d+]+), ([hd][\d+]+), (\d+), (\d+) ns\)",
     "KERNEL(K_MIX, {on}, (uint64_t)({at[3]}), (uint64_t)({at[4]}), {5}, {6});"),
    (r"spin<<<" + WHERE + r">>>\((\d+) ns\)", "KERNEL(K_SPIN, {on}, {3}, 0, 0, 0);"),
    (r"cuLaunchHostFunc\(" + WHERE + r", (h[\d+]+), (\d+)\)", "change({on}, {at[3]}, {4});"),
    (r"l(\d+) = cuStreamCreate\((blocking|free)\)", stream_made),
    (r"cuStreamDestroy\(l(\d+)\)", "CODE(cu[0].cuStreamDestroy_v2(l[{1}]));"),
    (r"cuStreamSynchronize\(" + WHERE + r"\)", "CODE(cu[0].cuStreamSynchronize({on}));"),
    (r"cuStreamQuery\(" + WHERE + r"\)(, over or not)?", queried),
    (r"cuCtxSynchronize\(\)", "CODE(cu[0].cuCtxSynchronize());"),
    (r"c(\d) = cuCtxCreate\(\)", "CODE(cu[0].cuCtxCreate_v2(&c[{1}], 0, 0));"),
    (r"(cuCtxSetCurrent|cuCtxPushCurrent|cuCtxDestroy)\(c(\d)\)", context_named),
    (r"cuCtxPopCurrent\(\)", "CODE(cu[0].cuCtxPopCurrent_v2(&(CUcontext){{ NULL }}));"),
    (r"(e\d+) = cuEventCreate\((\d+)\)", "CODE(cu[0].cuEventCreate(&{event[1]}, {2}));"),
    (r"cuEventRecord\((spare|e\d+), " + WHERE + r"\)",
     "CODE(cu[0].cuEventRecord({event[1]}, {on}));"),
    (r"cuStreamWaitEvent\(" + WHERE + r", (spare|e\d+)\)",
     "CODE(cu[0].cuStreamWaitEvent({on}, {event[3]}, 0));"),
    (r"(cuEventSynchronize|cuEventDestroy)\((spare|e\d+)\)", event_waited),
    (r"cuEventQuery\((e\d+)\)(, over or not)?", event_queried),
    (r"cuStreamBeginCapture\(" + WHERE + r", mode (\d)\)",
     "CODE(cu[0].cuStreamBeginCapture_v2({on}, (CUstreamCaptureMode){3}));"),
    (r"cuStreamEndCapture\(" + WHERE + r"\)", "CODE(cu[0].cuStreamEndCapture({on}, &recorded));"),
    (r"g(\d+) = cuGraphInstantiate\(\)",
     "CODE(cu[0].cuGraphInstantiateWithFlags(&g[{1}], recorded, 0));"),
    (r"cuGraphDestroy\(\)", "CODE(cu[0].cuGraphDestroy(recorded));"),
    (r"cuGraphLaunch\(g(\d+), " + WHERE + r"\)", "CODE(cu[0].cuGraphLaunch(g[{1}], {on}));"),
    (r"cuGraphExecDestroy\(g(\d+)\)", "CODE(cu[0].cuGraphExecDestroy(g[{1}]));"),
    (r"the device comes to (\d+) of l(\d+)", stepped),
    (r"(d\d+) is [0-9a-f]{16}", ""),
    (r"cuMemcpyDtoH\(room, (d\d+), (\d+)\)",
     "{{\n\tchar *room = malloc({2});\n\n\tCODE(cu[0].cuMemcpyDtoH_v2(room, {at[1]}, {2}));\n"
     "\tLOOK(room, {2});\n\tfree(room);\n}}"),
]]


def translate(listing):
    program, left = Program(), 0
    for line in listing:
        line = line[2:] if line.startswith("- ") else line
        found = re.match(r"\s*(-?\d+)\.(\d) (.*)", line)
        if line.startswith("+ ") or not found:
            continue
        thread, words = int(found[2]), found[3]
        # A line with a step's kind comes before its calls.
        if re.fullmatch(r"[a-z_]+", words):
            continue
        for pattern, how in RULES:
            match = pattern.match(words)
            if match:
                text = expand(how, program, match) if isinstance(how, str) else how(program, match)
                break
        else:
            text, left = f"/* {words} */", left + 1
        if text:
            program.add(thread, text)
    return program, left


def write(path, name, options):
    with open(path, encoding="utf-8") as listing:
        program, left = translate(listing)
    out = ["/*", f" * {name} - what is left of a random program; test/walk/replay.py wrote it.", " */",
           '#include "replay.h"', ""]
    for number, (thread, lines) in enumerate(program.parts):
        body = "\n".join(lines).split("\n")
        out += [f"static void part_{number}(void)", "{", *["\t" + line if line else "" for line in body],
                "}", ""]
    out += [f'PROGRAM({name}, "{" ".join(options)}")', "{"]
    out += [f"\ton({thread}, part_{number});" for number, (thread, _) in enumerate(program.parts)]
    out += ["}"]
    print("\n".join(out))
    if left:
        print(f"{left} lines have no translation", file=sys.stderr)


def run(replay, library):
    base = {name: value for name, value in os.environ.items()
            if not name.startswith(("HOTPIN", "STANDIN_", "LD_PRELOAD"))}
    listed = subprocess.run([replay, "--list"], text=True, stdout=subprocess.PIPE, check=True, env=base)
    wrong = 0
    for line in listed.stdout.splitlines():
        name, *options = line.split()
        with_it = dict(base, LD_PRELOAD=os.path.abspath(library), HOTPIN_LOG="error",
                       **dict(option.split("=", 1) for option in options))
        plain, ours = (subprocess.run([replay, name], text=True, stdout=subprocess.PIPE, env=env,
                                      stderr=subprocess.DEVNULL, timeout=60 * SLOWNESS, check=False)
                       for env in (base, with_it))
        same = plain.stdout == ours.stdout and plain.returncode == ours.returncode == 0
        same = same and plain.stdout.endswith("end\n")
        wrong += not same
        print(f"{'ok' if same else 'DIFFERS'} {name}")
        if not same:
            for a, b in zip(plain.stdout.splitlines(), ours.stdout.splitlines()):
                if a != b:
                    print(f"    line {a}; with the library {b}")
    return wrong != 0 or not listed.stdout


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        sys.exit(run(sys.argv[2], sys.argv[3]))
