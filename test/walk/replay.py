#!/usr/bin/env python3
"""Random programs that saw a difference, as C.

    replay.py write LISTING NAME [OPTION=VALUE...]      the C of what `walk --verbose` printed
    replay.py run REPLAY LIBRARY                        each program with and without the library

The listing is that of a run without the library, as walk.py prints it for a difference (lines that
begin with "+ " are the other run's and left out).  What has no translation stands in the C as a
remark; whether it still shows the difference must be tried.
"""
import os
import re
import subprocess
import sys

WHERE = r"(?:(?P<name>\w+) )?l(?P<line>\d+)"
RULES = []
SLOWNESS = int(os.environ.get("TEST_SLOWNESS", "1"))


def rule(pattern):
    """A line of the listing, from its beginning."""
    def add(function):
        RULES.append((re.compile(pattern), function))
        return function
    return add


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


def at(text, host="h"):
    """h3+512 as C; 0 is left out."""
    letter, number, offset = re.fullmatch(r"(\w)(\d+)(?:\+(\d+))?", text).groups()
    place = f"{letter}[{number}]" + (f" + {offset}" if offset and offset != "0" else "")
    return place


def unified(text):
    return ("(CUdeviceptr)(" + at(text) + ")") if text[0] == "h" else at(text)


@rule(r"(h\d+) = malloc\((\d+)\)(, zeroed)?")
def malloced(p, m):
    p.sizes[m[1]] = m[2]
    return f"{at(m[1])} = {'calloc(1, ' if m[3] else 'malloc('}{m[2]});"


@rule(r"(h\d+) = (memalign|mmap)\((\d+)\)")
def made(p, m):
    p.sizes[m[1]] = m[3]
    return f"{at(m[1])} = {'aligned' if m[2] == 'memalign' else 'mapped'}({m[3]});"


@rule(r"(h\d+) is static, (\d+)")
def static(p, m):
    p.sizes[m[1]] = m[2]
    return f"{at(m[1])} = of_data({m[2]});\nfill({at(m[1])}, {m[2]}, {p.key()});"


@rule(r"h(\d+) = (cuMemAllocHost|cuMemHostAlloc)\((\d+)\)")
def pinned(p, m):
    p.sizes["h" + m[1]] = m[3]
    return f"CODE(cu[0].cuMemAllocHost_v2((void **)&h[{m[1]}], {m[3]}));"


@rule(r"(h\d+) = realloc\(h\d+, (\d+)\)")
def realloced(p, m):
    p.sizes[m[1]] = m[2]
    return f"{at(m[1])} = realloc({at(m[1])}, {m[2]});"


@rule(r"(h\d+) is filled")
def filled(p, m):
    return f"fill({at(m[1])}, {p.sizes[m[1]]}, {p.key()});"


@rule(r"(h\d+)\[(\d+), (\d+)\) is written")
def written(p, m):
    return f"fill({at(m[1] + '+' + m[2])}, {int(m[3]) - int(m[2])}, {p.key()});"


@rule(r"(h\d+)\[(\d+), (\d+)\) is [0-9a-f]{16}")
def read(_, m):
    return f"LOOK({at(m[1] + '+' + m[2])}, {int(m[3]) - int(m[2])});"


@rule(r"free\((h\d+)\)")
def freed(_, m):
    return f"free({at(m[1])});"


@rule(r"munmap\((h\d+)\)")
def unmapped(p, m):
    return f"munmap({at(m[1])}, {p.sizes[m[1]]});"


@rule(r"memmove\((h[\d+]+), (h[\d+]+), (\d+)\)")
def moved(_, m):
    return f"memmove({at(m[1])}, {at(m[2])}, {m[3]});"


@rule(r"cuMemHostRegister\((h[\d+]+), (\d+)\)")
def registered(_, m):
    return f"CODE(cu[0].cuMemHostRegister_v2({at(m[1])}, {m[2]}, 0));"


@rule(r"(cuMemHostUnregister|cuMemFreeHost)\((h[\d+]+)\)")
def unregistered(_, m):
    return f"CODE(cu[0].{m[1]}({at(m[2])}));"


@rule(r"d(\d+) = cuMemAlloc\((\d+)\)")
def allocated(_, m):
    return f"CODE(cu[0].cuMemAlloc_v2(&d[{m[1]}], {m[2]}));"


@rule(r"d(\d+) = cuMemAllocAsync\((\d+), " + WHERE + r"\)")
def pooled(p, m):
    return f"CODE(cu[0].cuMemAllocAsync(&d[{m[1]}], {m[2]}, {p.stream(m['name'], m['line'])}));"


@rule(r"cuMemFreeAsync\((d\d+), " + WHERE + r"\)")
def freed_later(p, m):
    return f"CODE(cu[0].cuMemFreeAsync({at(m[1])}, {p.stream(m['name'], m['line'])}));"


@rule(r"cuMemFree\((d\d+)\)")
def device_freed(_, m):
    return f"CODE(cu[0].cuMemFree_v2({at(m[1])}));"


@rule(r"cuMemsetD8\((d\d+), \.\., (\d+)\)")
def new_set(_, m):
    return f"CODE(cu[0].cuMemsetD8_v2({at(m[1])}, 17, {m[2]}));"


@rule(r"cuMemset(D8|D32)\((d[\d+]+), (\d+), (\d+), (\w+)\)")
def device_set(_, m):
    flavour = int(m[5] == "own")
    return f"CODE(cu[{flavour}].cuMemset{m[1]}_v2({at(m[2])}, {m[3]}u, {m[4]}));"


@rule(r"cuMemset(D8|D32)Async\((d[\d+]+), (\d+|\.\.), (\d+), " + WHERE + r"\)")
def device_set_later(p, m):
    return (f"CODE(cu[0].cuMemset{m[1]}Async({at(m[2])}, {m[3].replace('..', '17')}u, {m[4]}, "
            f"{p.stream(m['name'], m['line'])}));")


@rule(r"(cuMemcpy(?:HtoD|DtoH|DtoD)?)(Async)?\(([hd][\d+]+), ([hd][\d+]+), (\d+), " + WHERE + r"\)")
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


@rule(r"cuMemcpy(DtoH|HtoD)(_ptds)?\((small, scratch|scratch, small), (\d+)\)")
def waited_by_copy(_, m):
    both = "small, scratch" if m[1] == "DtoH" else "scratch, small"
    return (f"{{\n\tstatic char small[64];\n\n"
            f"\tCODE(cu[{int(m[2] is not None)}].cuMemcpy{m[1]}_v2({both}, {m[4]}));\n}}")


@rule(r"xor<<<" + WHERE + r">>>\(([hd][\d+]+), (\d+)(?:, (\d+) ns)?\)")
def xored(p, m):
    return (f"KERNEL(K_XOR, {p.stream(m['name'], m['line'])}, (uint64_t)({at(m[3])}), {m[4]}, 7, "
            f"{m[5] or 0});")


@rule(r"mix<<<" + WHERE + r">>>\(([hd][\d+]+), ([hd][\d+]+), (\d+), (\d+) ns\)")
def mixed(p, m):
    return (f"KERNEL(K_MIX, {p.stream(m['name'], m['line'])}, (uint64_t)({at(m[3])}), "
            f"(uint64_t)({at(m[4])}), {m[5]}, {m[6]});")


@rule(r"spin<<<" + WHERE + r">>>\((\d+) ns\)")
def spun(p, m):
    return f"KERNEL(K_SPIN, {p.stream(m['name'], m['line'])}, {m[3]}, 0, 0, 0);"


@rule(r"cuLaunchHostFunc\(" + WHERE + r", (h[\d+]+), (\d+)\)")
def called_back(p, m):
    return f"change({p.stream(m['name'], m['line'])}, {at(m[3])}, {m[4]});"


@rule(r"l(\d+) = cuStreamCreate\((blocking|free)\)")
def stream_made(p, m):
    p.own.discard(int(m[1]))
    kind = "CU_STREAM_DEFAULT" if m[2] == "blocking" else "CU_STREAM_NON_BLOCKING"
    return f"CODE(cu[0].cuStreamCreate(&l[{m[1]}], {kind}));"


@rule(r"cuStreamDestroy\(l(\d+)\)")
def stream_gone(_, m):
    return f"CODE(cu[0].cuStreamDestroy_v2(l[{m[1]}]));"


@rule(r"cuStreamSynchronize\(" + WHERE + r"\)")
def stream_waited(p, m):
    return f"CODE(cu[0].cuStreamSynchronize({p.stream(m['name'], m['line'])}));"


@rule(r"cuStreamQuery\(" + WHERE + r"\)(, over or not)?")
def queried(p, m):
    return f"{'EITHER' if m[3] else 'CODE'}(cu[0].cuStreamQuery({p.stream(None, m['line'])}));"


@rule(r"cuCtxSynchronize\(\)")
def context_waited(_, __):
    return "CODE(cu[0].cuCtxSynchronize());"


@rule(r"c(\d) = cuCtxCreate\(\)")
def context_made(_, m):
    return f"CODE(cu[0].cuCtxCreate_v2(&c[{m[1]}], 0, 0));"


@rule(r"(cuCtxSetCurrent|cuCtxPushCurrent|cuCtxDestroy)\(c(\d)\)")
def context_named(_, m):
    return f"CODE(cu[0].{m[1]}{'' if 'Set' in m[1] else '_v2'}(c[{m[2]}]));"


@rule(r"cuCtxPopCurrent\(\)")
def context_popped(_, __):
    return "CODE(cu[0].cuCtxPopCurrent_v2(&(CUcontext){ NULL }));"


def event(text):
    return "spare" if text == "spare" else f"e[{text[1:]}]"


@rule(r"(e\d+) = cuEventCreate\((\d+)\)")
def event_made(_, m):
    return f"CODE(cu[0].cuEventCreate(&{event(m[1])}, {m[2]}));"


@rule(r"cuEventRecord\((spare|e\d+), " + WHERE + r"\)")
def recorded(p, m):
    return f"CODE(cu[0].cuEventRecord({event(m[1])}, {p.stream(m['name'], m['line'])}));"


@rule(r"cuStreamWaitEvent\(" + WHERE + r", (spare|e\d+)\)")
def event_awaited(p, m):
    return f"CODE(cu[0].cuStreamWaitEvent({p.stream(m['name'], m['line'])}, {event(m[3])}, 0));"


@rule(r"(cuEventSynchronize|cuEventDestroy)\((spare|e\d+)\)")
def event_waited(_, m):
    return f"CODE(cu[0].{m[1]}{'_v2' if m[1].endswith('y') else ''}({event(m[2])}));"


@rule(r"cuEventQuery\((e\d+)\)(, over or not)?")
def event_queried(_, m):
    return f"{'EITHER' if m[2] else 'CODE'}(cu[0].cuEventQuery({event(m[1])}));"


@rule(r"cuStreamBeginCapture\(" + WHERE + r", mode (\d)\)")
def capture_begun(p, m):
    stream = p.stream(m["name"], m["line"])
    return f"CODE(cu[0].cuStreamBeginCapture_v2({stream}, (CUstreamCaptureMode){m[3]}));"


@rule(r"cuStreamEndCapture\(" + WHERE + r"\)")
def capture_ended(p, m):
    return f"CODE(cu[0].cuStreamEndCapture({p.stream(m['name'], m['line'])}, &recorded));"


@rule(r"g(\d+) = cuGraphInstantiate\(\)")
def instantiated(_, m):
    return f"CODE(cu[0].cuGraphInstantiateWithFlags(&g[{m[1]}], recorded, 0));"


@rule(r"cuGraphDestroy\(\)")
def graph_gone(_, __):
    return "CODE(cu[0].cuGraphDestroy(recorded));"


@rule(r"cuGraphLaunch\(g(\d+), " + WHERE + r"\)")
def graph_launched(p, m):
    return f"CODE(cu[0].cuGraphLaunch(g[{m[1]}], {p.stream(m['name'], m['line'])}));"


@rule(r"cuGraphExecDestroy\(g(\d+)\)")
def exec_gone(_, m):
    return f"CODE(cu[0].cuGraphExecDestroy(g[{m[1]}]));"


@rule(r"the device comes to (\d+) of l(\d+)")
def stepped(p, m):
    return f"step({p.stream(None, m[2])}, {m[1]});"


@rule(r"(d\d+) is [0-9a-f]{16}")
def last_look(_, __):
    return ""


@rule(r"cuMemcpyDtoH\(room, (d\d+), (\d+)\)")
def read_back(_, m):
    return (f"{{\n\tchar *room = malloc({m[2]});\n\n"
            f"\tCODE(cu[0].cuMemcpyDtoH_v2(room, {at(m[1])}, {m[2]}));\n"
            f"\tLOOK(room, {m[2]});\n\tfree(room);\n}}")


def translate(listing):
    program, left = Program(), 0
    for line in listing:
        line = line[2:] if line.startswith("- ") else line
        found = re.match(r"\s*(-?\d+)\.(\d) (.*)", line)
        if line.startswith("+ ") or not found:
            continue
        thread, words = int(found[2]), found[3]
        # A step's kind, before its calls.
        if re.fullmatch(r"[a-z_]+", words):
            continue
        for pattern, function in RULES:
            match = pattern.match(words)
            if match:
                text = function(program, match)
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
