#!/usr/bin/env python3
"""wheel.py - the Python wheel of a build, written with Python's standard library alone.

    wheel.py BUILD FOLDER     writes FOLDER/hotpin-VERSION-py3-none-PLATFORM.whl, prints its path
    wheel.py --check WHEEL    checks the files, hashes and platform of a wheel

PLATFORM is manylinux_2_XX_MACHINE, where 2.XX is the newest version of glibc that the command and the
library need.  pip refuses the wheel where glibc is older.

All files lie in the folder of the package, the library where the command looks for it (../lib).  So
the wheel works wherever an installer puts packages, and uninstalling leaves nothing behind.
"""
import base64
import hashlib
import os
import re
import struct
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
MACHINES = {62: "x86_64"}
SECTION_DYNAMIC, SECTION_VERNEED, DYNAMIC_NEEDED = 6, 0x6FFFFFFE, 1
# Parts of glibc.  Every other library is one that a machine may lack.
GLIBC = re.compile(r"lib(c|m|dl|pthread|rt)\.so\.\d+|ld-linux[\w-]*\.so\.\d+")
# A mark of how a file was linked, and the version that understands it.
MARKS = {"GLIBC_ABI_DT_RELR": (2, 36)}
COMMAND, LIBRARY = "hotpin/bin/hotpin", "hotpin/lib/libhotpin.so"


class Wrong(Exception):
    """Why a file cannot be in a wheel, or a wheel is not to be installed."""


class Elf:
    """machine, needed (names of libraries), versions (of their symbols) of a 64-bit ELF file."""

    def __init__(self, name, content):
        if content[:6] != b"\x7fELF\x02\x01":
            raise Wrong("%s is not a 64-bit ELF file" % name)
        self.content = content
        self.machine, = struct.unpack_from("<H", content, 18)
        start, = struct.unpack_from("<Q", content, 40)
        size, count = struct.unpack_from("<HH", content, 58)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", content, start + i * size)
                         for i in range(count)]
        self.needed = list(self.read_needed())
        self.versions = list(self.read_versions())

    def of_kind(self, kind):
        """Yields offset, size, number of entries and offset of the strings of such sections."""
        for section in self.sections:
            if section[1] == kind:
                yield section[4], section[5], section[7], self.sections[section[6]][4]

    def text(self, at):
        return self.content[at:self.content.index(b"\0", at)].decode()

    def read_needed(self):
        for offset, size, _, strings in self.of_kind(SECTION_DYNAMIC):
            for tag, value in struct.iter_unpack("<qQ", self.content[offset:offset + size]):
                if tag == DYNAMIC_NEEDED:
                    yield self.text(strings + value)

    def read_versions(self):
        for offset, _, libraries, strings in self.of_kind(SECTION_VERNEED):
            for _ in range(libraries):
                _, symbols, _, first, following = struct.unpack_from("<HHIII", self.content, offset)
                at = offset + first
                for _ in range(symbols):
                    _, _, _, name, further = struct.unpack_from("<IHHII", self.content, at)
                    yield self.text(strings + name)
                    at += further
                offset += following


def glibc_of(name, elf):
    """Returns the newest version of glibc that the file needs, (2, 34)."""
    for library in elf.needed:
        if not GLIBC.fullmatch(library):
            raise Wrong("%s needs %s, which other machines may lack" % (name, library))
    newest = (2, 17)  # of the oldest manylinux that has this form of name
    for version in elf.versions:
        number = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version)
        if version not in MARKS and not number:
            raise Wrong("%s needs %s, which is no version of glibc" % (name, version))
        newest = max(newest, MARKS.get(version) or (int(number[1]), int(number[2])))
    return newest


def platform_of(binaries):
    """Returns the platform tag for {name: content}."""
    elves = {name: Elf(name, content) for name, content in binaries.items()}
    machines = {MACHINES.get(elf.machine) for elf in elves.values()}
    if len(machines) != 1 or None in machines:
        raise Wrong("no platform has files of these machines: %s"
                    % {name: elf.machine for name, elf in elves.items()})
    newest = max(glibc_of(name, elf) for name, elf in elves.items())
    return "manylinux_%d_%d_%s" % (*newest, machines.pop())


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def digest(content):
    code = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return "sha256=" + code.decode().rstrip("=")


def metadata(version):
    return """Metadata-Version: 2.1
Name: hotpin
Version: %s
Summary: fast host-device copies for unmodified CUDA programs
License: MIT
Requires-Python: >=3.7
Classifier: Operating System :: POSIX :: Linux
Classifier: Environment :: GPU :: NVIDIA CUDA
Description-Content-Type: text/markdown

`hotpin run python train.py` runs a CUDA program with faster copies between host and device.
`hotpin run --profile python train.py` also says where its time goes.
""" % version


def man_pages(folder):
    return sorted(name for name in os.listdir(os.path.join(folder, "tools", "scripts"))
                  if re.fullmatch(r".+\.[1-8]", name))


def manual():
    """Paths of README.md and of the manual, from the root of the tree."""
    found = [os.path.relpath(os.path.join(folder, name), ROOT)
             for folder, _, names in os.walk(os.path.join(ROOT, "doc")) for name in names]
    return ["README.md"] + sorted(path for path in found if path != os.path.join("doc", "measured.json"))


def build(folder, out):
    version = re.search(r"version: '([^']+)'", read(ROOT, "meson.build").decode())[1]
    name = "hotpin-" + version
    info = name + ".dist-info"
    binaries = {COMMAND: read(folder, "tools", "hotpin"),
                LIBRARY: read(folder, "src", "libhotpin.so")}
    tag = "py3-none-" + platform_of(binaries)
    files = dict(binaries)
    files["hotpin/profile.schema.json"] = read(folder, "tools", "profile.schema.json")
    for path in ("packaging/hotpin/__init__.py", "packaging/hotpin/__main__.py"):
        files["hotpin/" + os.path.basename(path)] = read(ROOT, path)
    for page in man_pages(folder):
        files["hotpin/share/man/man%s/%s" % (page[-1], page)] = read(folder, "tools", "scripts", page)
    for path in manual():
        files["hotpin/share/doc/hotpin/" + path] = read(ROOT, path)
    files[info + "/LICENSE"] = read(ROOT, "LICENSE")
    files[info + "/entry_points.txt"] = b"[console_scripts]\nhotpin = hotpin.__main__:main\n"
    files[info + "/METADATA"] = metadata(version).encode()
    files[info + "/WHEEL"] = ("Wheel-Version: 1.0\nGenerator: hotpin\nRoot-Is-Purelib: false\n"
                              "Tag: %s\n" % tag).encode()
    record = ["%s,%s,%d\n" % (path, digest(content), len(content))
              for path, content in files.items()]
    files[info + "/RECORD"] = "".join(record + [info + "/RECORD,,\n"]).encode()

    os.makedirs(out, exist_ok=True)
    wheel = os.path.join(out, "%s-%s.whl" % (name, tag))
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            # The same bytes from the same build: no time of day.
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if path in binaries else 0o100644) << 16
            archive.writestr(entry, content)
    return wheel


def check(wheel):
    name = re.fullmatch(r"(hotpin-[^-]+)-(py3-none-([^-]+))\.whl", os.path.basename(wheel))
    if not name:
        raise Wrong("%s is not the name of a wheel of hotpin" % wheel)
    info = name[1] + ".dist-info"
    try:
        with zipfile.ZipFile(wheel) as archive:
            files = {path: archive.read(path) for path in archive.namelist()}
        binaries = {path: files[path] for path in (COMMAND, LIBRARY)}
        tags = re.findall(r"^Tag: (.*)$", files[info + "/WHEEL"].decode(), re.M)
        record = dict(line.split(",", 1) for line in files[info + "/RECORD"].decode().split())
    except (zipfile.BadZipFile, KeyError) as error:
        raise Wrong("%s: %s" % (wheel, error)) from error
    if platform_of(binaries) != name[3]:
        raise Wrong("%s: its files are of %s" % (wheel, platform_of(binaries)))
    if tags != [name[2]]:
        raise Wrong("%s: it calls itself %s" % (wheel, tags))
    wanted = {path: "%s,%d" % (digest(content), len(content)) for path, content in files.items()}
    wanted[info + "/RECORD"] = ","
    if record != wanted:
        raise Wrong("%s: RECORD is not that of its files" % wheel)


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        if sys.argv[1] == "--check":
            check(sys.argv[2])
        else:
            print(build(sys.argv[1], sys.argv[2]))
    except (Wrong, OSError) as error:
        print("wheel.py:", error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
