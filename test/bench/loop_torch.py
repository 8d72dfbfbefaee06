#!/usr/bin/env python3
"""loop_torch.py - loop.c with CPU tensors of PyTorch.

    loop_torch.py malloc|pinned SIZE...

The metrics are those of loop.h.  Copies are blocking Tensor.copy_() into existing memory, which is
one copy of the driver and one wait.  pinned: one tensor from pin_memory(), written as often.
"""

import statistics
import sys
import time

TURNS = 40
WARM_UP = 8
SKIPPED = 77
UNITS = {"K": 10, "M": 20, "G": 30}


def measure(torch, hand_tuned, text):
    words = (int(text[:-1]) << UNITS[text[-1]]) // 8
    data = torch.randint(-(2**62), 2**62, (words,), dtype=torch.int64)
    held = torch.empty(words, dtype=torch.int64).pin_memory() if hand_tuned else None
    device = torch.empty(words, dtype=torch.int64, device="cuda")
    spent = {"copy": [], "loop": [], "fetch": [], "back": []}
    for turn in range(TURNS):
        data[0] = turn
        torch.cuda.synchronize()
        begin = time.perf_counter()
        tensor = held if hand_tuned else torch.empty(words, dtype=torch.int64)
        tensor.copy_(data)
        before = time.perf_counter()
        device.copy_(tensor)
        torch.cuda.synchronize()
        spent["copy"].append(time.perf_counter() - before)
        del tensor
        spent["loop"].append(time.perf_counter() - begin)
        begin = time.perf_counter()
        tensor = held if hand_tuned else torch.empty(words, dtype=torch.int64)
        before = time.perf_counter()
        tensor.copy_(device)
        spent["fetch"].append(time.perf_counter() - before)
        same = torch.equal(tensor, data)
        del tensor
        spent["back"].append(time.perf_counter() - begin)
        if not same:
            sys.exit("wrong bytes: torch, %s, turn %d" % (text, turn))
    for what, seconds in spent.items():
        print("%s_%s %.9g" % (what, text, statistics.median(seconds[WARM_UP:])))


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("malloc", "pinned"):
        print("usage: loop_torch.py malloc|pinned SIZE...", file=sys.stderr)
        return 2
    try:
        import torch
    except ImportError as error:
        print("skipped:", error, file=sys.stderr)
        return SKIPPED
    if not torch.cuda.is_available():
        print("skipped: no device that torch can use", file=sys.stderr)
        return SKIPPED
    for text in sys.argv[2:]:
        measure(torch, sys.argv[1] == "pinned", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
