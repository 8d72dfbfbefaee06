"""A program with symbols and lines; no compiler is needed."""
import hashlib
import re
import struct

LATER = "20991231-235959" # no file here is newer
# DWARF 4: tags, attributes and forms.  Functions without a name have codes of their own.
STRING, ADDRESS, WORD, LONG, OFFSET = 0x08, 0x01, 0x06, 0x07, 0x17
UNIT, FUNCTION, INLINED, NAMELESS = 1, 2, 3, 2
NAMESPACE, ELSEWHERE, DECLARED, HOLDER, ALTERNATIVE = 6, 7, 8, 9, "(in another file)"
ABBREVIATIONS = {NAMESPACE: (0x39, ()), HOLDER: (0x2e, ()), ELSEWHERE: (0x2e, ((0x11, ADDRESS), (0x12, LONG), (0x03, 0x1f21))),
                 DECLARED: (0x2e, ((0x11, ADDRESS), (0x12, LONG), (0x3a, WORD), (0x3b, WORD), (0x03, STRING))), UNIT: (0x11, ((0x10, OFFSET), (0x11, ADDRESS), (0x12, LONG)))}
for code, tag, call in ((FUNCTION, 0x2e, ()), (INLINED, 0x1d, ((0x58, WORD), (0x59, WORD)))):
    ABBREVIATIONS[code + NAMELESS] = (tag, ((0x11, ADDRESS), (0x12, LONG), *call))
    ABBREVIATIONS[code] = (tag, ((0x11, ADDRESS), (0x12, LONG), *call, (0x03, STRING)))


def build_id(symbols):
    return hashlib.sha1(repr(symbols).encode()).hexdigest()


def text(value):
    return value.encode(errors="surrogateescape") + b"\0"


def leb(value):
    """A number in LEB128, with or without a sign."""
    out = b""
    while value >= 64:
        out, value = out + bytes([value % 128 | 128]), value // 128
    return out + bytes([value])


def unit(body):
    return struct.pack("<I", len(body)) + body


def nested(depth):
    """Returns the sections of DWARF with namespaces in one another."""
    parts = dwarf({})
    body = struct.pack("<HIB", 4, 0, 8) + bytes([UNIT]) + struct.pack("<IQQ", 0, 0, 1 << 40) + bytes([NAMESPACE]) * depth
    return {**parts, ".debug_info": unit(body)}


def dwarf(lines):
    """Returns the sections of DWARF; lines: {address: ["/src/heat.c:5", ..]}, innermost first.
    ("step", "/src/heat.c:5") also names the function; the name ALTERNATIVE is in another file.  A third
    text is the line that declares a function, which is not inlined.  All functions are within one that has no code, as lambdas are."""
    places = {address: [(None, entry) if isinstance(entry, str) else entry for entry in found]
              for address, found in lines.items()}
    split = {text: re.match(r"(.*):(\d+)", text, re.S).groups()
             for found in places.values() for entry in found for text in entry[1:]}
    paths = sorted({path for path, _ in split.values()})
    program, functions = b"", b""
    for address, found in sorted(places.items()):
        path, line = split[found[0][1]]
        # DW_LNE_set_address, file, line (from 1), copy; then a byte further the end.
        program += b"\0\x09\x02" + struct.pack("<Q", address) + b"\x04" + leb(paths.index(path) + 1)
        program += b"\x03" + leb((int(line) - 1) % (1 << 63)) + b"\x01\x02\x01\0\x01\x01"
        for level in range(len(found) - 1, -1, -1):
            name, _, *declared = found[level]
            code = (INLINED if level < len(found) - 1 else ELSEWHERE if name == ALTERNATIVE else
                    DECLARED if declared else FUNCTION)
            functions += bytes([code if name else code + NAMELESS]) + struct.pack("<QQ", address, 1)
            if code in (INLINED, DECLARED):
                path, line = split[found[level + 1][1] if code == INLINED else declared[0]]
                functions += struct.pack("<II", paths.index(path) + 1, int(line) % (1 << 32))
            functions += bytes(4) if code == ELSEWHERE else text(name) if name else b""
        functions += b"\0" * len(found)
    header = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 13) + bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)) + b"\0"
    header += b"".join(text(path) + b"\0\0\0" for path in paths) + b"\0"
    abbreviations = b"".join(
        leb(code) + leb(tag) + b"\x01" + b"".join(leb(name) + leb(form) for name, form in attributes) + b"\0\0"
        for code, (tag, attributes) in ABBREVIATIONS.items()) + b"\0"
    return {".debug_abbrev": abbreviations,
            ".debug_info": unit(struct.pack("<HIB", 4, 0, 8) + bytes([UNIT]) +
                                struct.pack("<IQQ", 0, 0, 1 << 40) + bytes([HOLDER]) + functions + b"\0\0"),
            ".debug_line": unit(struct.pack("<HI", 4, len(header)) + header + program)}


def elf(symbols, lines=None, more=None):
    """Returns an ELF file with functions of 256 bytes; symbols: {name: address}; lines: as for
    dwarf(), or None; more: {section: bytes}."""
    texts, table = b"\0", struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)
    for name, address in symbols.items():
        table += struct.pack("<IBBHQQ", len(texts), 2, 0, 1, address, 256)
        texts += name.encode() + b"\0"
    note = struct.pack("<III", 4, 20, 3) + b"GNU\0" + bytes.fromhex(build_id(symbols))
    parts = {"": (0, b""), ".symtab": (2, table), ".strtab": (3, texts), ".note.gnu.build-id": (7, note)}
    parts.update({name: (1, part) for name, part in {**(dwarf(lines) if lines is not None else {}), **(more or {})}.items()})
    names = b"".join(name.encode() + b"\0" for name in [*parts, ".shstrtab"])
    parts[".shstrtab"] = (3, names)
    body, sections = b"", b""
    for name, (kind, part) in parts.items():
        link, size = (list(parts).index(".strtab"), 24) if kind == 2 else (0, 0)
        body += b"\0" * (-len(body) % 8)
        sections += struct.pack("<IIQQQQIIQQ", names.index(name.encode() + b"\0"), kind, 0, 0, 64 + len(body),
                                len(part), link, 0, {2: 8, 7: 4}.get(kind, 1), size)
        body += part
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 64 + len(body),
                                                     0, 64, 0, 0, 64, len(parts), len(parts) - 1)
    return head + body + sections
