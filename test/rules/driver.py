#!/usr/bin/env python3
"""Checks that driver.def lists every entry point that the toolkit's headers declare.  driver.py
ROOT CUDA

It compares src/real/driver.def with cuda.h and its companions (declarations under every name that
their macros can give them), with cudaTypedefs.h and its companions (one typedef for each base name,
version and stream flavor), and with the exports of the toolkit's stub library. Nothing may be
missing, listed twice, or unknown to the toolkit and to src/real/newer.h. The position of the
CUstream argument must be that of the prototype. If a name implies a class, the row must have it;
all flavors have the same class. src/shim/driver/stacked.def must have the words that each prototype
takes on the stack.

A row has the role REQUIRED or OPTIONAL if, and only if, src calls it by REAL() or REAL_ON():
REQUIRED if every supported driver has it.  Only OPTIONAL rows are queried by REAL_HAS().
"""
import os
import re
import subprocess
import sys
import tempfile

root, cuda = sys.argv[1:3]
sys.path.insert(0, os.path.join(root, "test/standin"))
sys.dont_write_bytecode = True
from entries import ABSENT, entries
include = os.path.join(cuda, "include")
problems = []

with open(os.path.join(include, "cuda.h"), encoding="utf-8") as header:
    if int(re.search(r"^#define CUDA_VERSION (\d+)", header.read(), re.M)[1]) < 13000:
        print("the list is that of CUDA 13; these headers are older")
        sys.exit(77)

HEADERS = ["cuda.h", "cudaGL.h", "cudaVDPAU.h", "cudaEGL.h", "cudaProfiler.h"]
TYPEDEFS = ["cudaTypedefs.h", "cudaGLTypedefs.h", "cudaVDPAUTypedefs.h", "cudaEGLTypedefs.h",
            "cudaProfilerTypedefs.h"]
# Conditions before a function runs (enum real_class), as far as names imply them.
CLASSES = [
    (r"cu(Ctx|Stream|Event)Synchronize", "WAIT"),
    (r"cu(Stream|Event)Query|cuEventElapsedTime", "OBSERVE"),
    (r"cu(Graph)?Launch\w*|cuMemset\w+|cuMem(Alloc|Free)\w*Async", "ENQUEUE"),
    (r"cuEventRecord\w*|cuStreamWait\w+", "ENQUEUE"),
    (r"cuMemcpy\w*", "COPY"),
    (r"cuMem(Alloc|Free)(?!\w*Async)\w*|cuMemHost(Alloc|Register|Unregister)|cuMem(Map|Unmap)",
     "MEMORY"),
    (r"cuStream(Begin|End)Capture\w*", "CAPTURE"),
    (r"cu(Ctx|Stream)(Create|Destroy)\w*|cuEventDestroy", "LIFE"),
    (r"cu(Module|Library)(Load|Unload)\w*", "LIFE"),
]
# Functions after which device work is host-visible (enum real_visibility): declared by a row, or in
# shim/driver/visibility.c.
SEEN = [
    (r"LaunchHostFunc|StreamAddCallback|Graph\w*HostNode(SetParams)?$", "CALLBACK"),
    (r"StreamBatchMemOp|(Write|Wait)Value|BatchMemOpNode(SetParams)?$", "MEMORY_OPS"),
    (r"Managed|AttachMem", "MANAGED"),
    (r"ImportExternal", "EXTERNAL"),
    (r"Import(From|Pointer)|ExportTo|ExportPointer|Ipc(Get|Open)", "SHARED"),
    (r"GreenCtxCreate", "GREEN"),
]
ROLES = ("", "REQUIRED", "OPTIONAL", "KERNEL", "GRAPH")
# Functions that launch work.
LAUNCHES = [
    (r"cuLaunch(?!HostFunc)\w*", "KERNEL"),
    (r"cuGraphLaunch\w*", "GRAPH"),
]
# Required functions exist in the oldest supported driver.
OLDEST = 11030
# The argument registers, and the words on the stack of structs that are too large for them.
REGISTERS, LARGE = 6, {"CUipcEventHandle": 8, "CUipcMemHandle": 8}
# These headers need not be installed: the preprocessor does not need their types.
STAND_INS = ["GL/gl.h", "EGL/egl.h", "EGL/eglext.h", "vdpau/vdpau.h"]


def preprocess(header, *defines):
    """Returns the text of one of the toolkit's headers, with macros replaced."""
    program = f'#include "{header}"\n'
    result = subprocess.run(
        [*os.environ.get("CC", "cc").split(), "-E", "-P", "-x", "c", "-I", empty, "-I", include,
         *[f"-D{define}" for define in defines], "-"],
        input=program, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        problems.append(f"{header}: cannot be preprocessed: {result.stderr[:300]}")
    return result.stdout


def stream_argument(arguments):
    """Returns the index of the first CUstream passed by value, or None."""
    for index, argument in enumerate(arguments.split(",")):
        if re.search(r"\bCUstream\b(?!\s*\*)", argument):
            return index
    return None


def stacked(arguments):
    """Returns the words that the arguments take on the stack."""
    kinds = ["*" if re.search(r"[*\[]", each) else each.split()[0] for each in arguments.split(",")]
    large = [LARGE[kind] for kind in kinds if kind in LARGE]
    return sum(large) + max(0, len(kinds) - len(large) - REGISTERS)


def declarations():
    """Returns name -> index of the CUstream argument, of every declared function, and name -> words
    on the stack, of those that take any."""
    found, words = {}, {}
    for header in HEADERS:
        for define in ("HOTPIN_NOTHING", "CUDA_API_PER_THREAD_DEFAULT_STREAM",
                       "__CUDA_API_VERSION_INTERNAL"):
            text = preprocess(header, define)
            for name, arguments in re.findall(r"\bCUresult\s+(cu[A-Z]\w*)\s*\(([^;{}]*)\)\s*;", text):
                if not re.search(r"\(\s*\*", arguments):
                    found.setdefault(name, stream_argument(arguments))
                    if stacked(arguments) > 0:
                        words[name] = stacked(arguments)
    return found, words


def typedefs():
    """Returns (base name, suffix) -> {version: index of the CUstream argument}."""
    found = {}
    for header in TYPEDEFS:
        text = preprocess(header)
        for name, version, suffix, arguments in re.findall(
                r"typedef\s+CUresult\s*\(\s*\*\s*PFN_(cu\w+?)_v(\d+)(_pt[sd][sz])?\s*\)\s*\(([^;]*)\)\s*;",
                text):
            found.setdefault((name, suffix), {})[int(version)] = stream_argument(arguments)
    return found


def table():
    """Returns, for each row of driver.def: name -> stream index, name -> class, name -> how it
    exposes ("" or, for wrapped functions, None), name -> role ("" for none), and name -> its kind.
    """
    rows, classes, visibilities, roles, kinds = {}, {}, {}, {}, {}
    with open(os.path.join(root, "src/real/driver.def"), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            row = re.match(r"(DRIVER|WRAPPED|EXPOSES)(_PTDS|_PTSZ)?"
                           r"\((\w+),\s*(\w+),\s*(\w+)((?:,\s*\w+)*)\)", line)
            if row is None:
                continue
            kind, flavor, export, row_class, stream, rest = row.groups()
            rest = re.findall(r"\w+", rest)
            visibility = rest.pop(0) if kind == "EXPOSES" and rest else ""
            role = rest.pop(0) if rest else ""
            if rest or role not in ROLES:
                problems.append(f"driver.def:{number}: {export}: {role} {' '.join(rest)}: no role")
            if re.search(r"_pt[sd][sz]$", export):
                problems.append(f"driver.def:{number}: {export} is a flavor: write _PTSZ or _PTDS")
            for name in [export] + ([export + flavor.lower()] if flavor else []):
                if name in rows:
                    problems.append(f"driver.def:{number}: {name} is there twice")
                classes[name] = row_class
                visibilities[name] = None if kind == "WRAPPED" else visibility
                roles[name], kinds[name] = role, kind
                rows[name] = None if stream in ("NONE", "CONFIG") else int(stream)
    return rows, classes, visibilities, roles, kinds


def uses():
    """Returns (file, "", "_ON" or "_HAS", name) of each REAL(), REAL_ON() and REAL_HAS() in src."""
    for folder, _, files in os.walk(os.path.join(root, "src")):
        for file in files:
            if not file.endswith((".c", ".h")):
                continue
            path = os.path.join(folder, file)
            with open(path, encoding="utf-8") as text:
                for how, name in re.findall(r"\bREAL(|_HAS|_ON)\((?:[^;]*?,\s*)??(cu[A-Z]\w*)\)",
                                            text.read()):
                    yield os.path.relpath(path, root), how, name


def check_roles():
    """Checks that src calls functions according to their roles."""
    called, asked = {}, set()
    age = {name: version for name, (_, version, _) in entries(include).items()}
    for path, how, name in uses():
        if name not in rows:
            problems.append(f"{path}: {name} is not in driver.def")
        elif how == "_HAS":
            asked.add((path, name))
            if roles[name] != "OPTIONAL":
                problems.append(f"{path}: REAL_HAS({name}), which is not OPTIONAL in driver.def")
        # A wrapper makes the program's own call.
        elif not (path.startswith("src/shim/driver/") and kinds[name] == "WRAPPED"):
            called.setdefault(name, set()).add(path)
    for name, paths in sorted(called.items()):
        wanted = "REQUIRED" if age.get(name, 0) <= OLDEST else "OPTIONAL"
        if roles[name] != wanted:
            problems.append(f"{name} is called by {', '.join(sorted(paths))}: it must be {wanted}")
        for path in sorted(paths):
            if roles[name] == "OPTIONAL" and (path, name) not in asked:
                problems.append(f"{path}: {name} is OPTIONAL and called without REAL_HAS()")
    for name, role in sorted(roles.items()):
        wanted = next((launch for pattern, launch in LAUNCHES if re.fullmatch(pattern, name)), "")
        base = re.sub(r"_pt[sd][sz]$", "", name)
        if role in ("REQUIRED", "OPTIONAL"):
            if base not in called and name not in called:
                problems.append(f"{name} is {role}, but src does not call it")
        elif role != wanted:
            problems.append(f"{name}: driver.def has role {role or 'none'}, its name says "
                            f"{wanted or 'none'}")


def split(name):
    """Returns (base name, suffix) of an export: cuMemcpyHtoD_v2_ptds -> (cuMemcpyHtoD, _ptds)."""
    base, _, suffix = re.fullmatch(r"(\w+?)(_v\d+)?(_pt[sd][sz])?", name).groups()
    return base, suffix or ""


def stub_exports():
    """Returns the exports of the toolkit's stub library; empty if there is no stub."""
    for folder in ("lib64/stubs", "lib/stubs", "targets/x86_64-linux/lib/stubs"):
        path = os.path.join(cuda, folder, "libcuda.so")
        if os.path.exists(path):
            names = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True,
                                   text=True, check=True).stdout
            return set(re.findall(r"\b(cu[A-Z]\w*)$", names, re.M))
    return set()


with tempfile.TemporaryDirectory() as empty:
    for other in STAND_INS:
        os.makedirs(os.path.dirname(os.path.join(empty, other)), exist_ok=True)
        with open(os.path.join(empty, other), "w", encoding="utf-8"):
            pass
    (declared, stack_words), typed = declarations(), typedefs()

(rows, classes, visibilities, roles, kinds), stubs = table(), stub_exports()
flavors = {}
for name in rows:
    flavors.setdefault(split(name), []).append(name)

for name, stream in sorted(declared.items()):
    if name in ABSENT:
        continue
    if name not in rows:
        problems.append(f"{name} is declared by the toolkit and is not in driver.def")
    elif rows[name] != stream:
        problems.append(f"{name}: driver.def has stream {rows[name]}, its prototype {stream}")
for (base, suffix), versions in sorted(typed.items()):
    exports = flavors.get((base, suffix), [])
    if base in ABSENT:
        continue
    if len(exports) < len(versions):
        problems.append(f"{base}{suffix}: versions {sorted(versions)} in the typedefs, "
                        f"but driver.def has {sorted(exports)}")
    wanted = set(versions.values())
    for name in exports:
        if rows[name] not in wanted:
            problems.append(f"{name}: driver.def has stream {rows[name]}, the typedefs {wanted}")
# Some toolkits' libcuda also exports functions of cudaVDPAU.h, which needs VDPAU's own headers.
for name in sorted(name for name in stubs - set(rows) if "VDPAU" not in name):
    problems.append(f"{name} is exported by the toolkit's libcuda and is not in driver.def")
with open(os.path.join(root, "src/real/newer.h"), encoding="utf-8") as file:
    newer = re.findall(r"^(?:PTSZ\(|CUresult )(cu[A-Z]\w*)", file.read(), re.M)
known = set(declared) | stubs | set(newer) | {f"{name}_ptsz" for name in newer}
for name in sorted(rows):
    if name not in known and split(name) not in typed:
        problems.append(f"{name} is in driver.def, but this toolkit does not know it")

for base in {split(name)[0] for name in rows}:
    names = [name for name in rows if split(name)[0] == base]
    if len({classes[name] for name in names}) > 1:
        problems.append(f"flavors of {base} have several classes: "
                        + ", ".join(f"{name} {classes[name]}" for name in sorted(names)))
    for pattern, wanted in CLASSES:
        if re.fullmatch(pattern, base) and classes[names[0]] != wanted:
            problems.append(f"{base}: driver.def has class {classes[names[0]]}, "
                            f"its name says {wanted}")

for name, visibility in sorted(visibilities.items()):
    for pattern, wanted in SEEN:
        if re.search(pattern, name) and visibility not in (wanted, None):
            problems.append(f"{name}: driver.def has {visibility or 'nothing'} to see, "
                            f"its name says {wanted}")

with open(os.path.join(root, "src/shim/driver/stacked.def"), encoding="utf-8") as file:
    stack_rows = {name: int(words) for name, words in
                  re.findall(r"^STACKED\((\w+), +(\d+)\)", file.read(), re.M)}
for name in sorted(stack_rows.keys() | stack_words.keys()):
    if name in declared and stack_rows.get(name) != stack_words.get(name):
        problems.append(f"{name}: stacked.def has {stack_rows.get(name)}, its prototype takes "
                        f"{stack_words.get(name)}")

check_roles()

print(f"{len(rows)} rows; {len(declared)} declarations, "
      f"{sum(len(versions) for versions in typed.values())} typedefs, {len(stubs)} exports")
for problem in problems:
    print(problem)
if len(declared) < 400 or len(typed) < 400:
    sys.exit("the headers were not understood")
sys.exit(1 if problems else 0)
