"""blobs.py - large files to put under version control: blobs.py MIB FOLDER

It writes four files of MIB each: 1 is incompressible, 2 is a copy of 1 with parts moved and
changed, 3 compresses well, and `text` has a number in each line.
"""

import os
import sys

size, folder = int(sys.argv[1]) << 20, sys.argv[2]
os.makedirs(folder)
state = bytearray(range(256)) * 256
pieces = []
number = 1
while len(pieces) * len(state) < size:
    number = (number * 48271) % 0x7FFFFFFF
    key = number.to_bytes(4, "little") + (number * 69621 % 0x7FFFFFFF).to_bytes(4, "little")
    mixed = int.from_bytes(state, "little") * int.from_bytes(key + b"\1", "little")
    state = bytearray(mixed.to_bytes(len(state) + 16, "little")[9 : 9 + len(state)])
    pieces.append(bytes(state))
random = b"".join(pieces)[:size]
half = size // 2
moved = random[half:] + b"between" + random[:half]
text = b"".join(b"%d\n" % (i * 7919 % 1000003) for i in range(size // 7))
for name, data in (
    ("1", random),
    ("2", moved[:1000] + b"changed" + moved[1000:]),
    ("3", (random[:5000] + b"again " * 3000) * (size // 23000)),
    ("text", text),
):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)
