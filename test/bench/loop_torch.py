#!/usr/bin/env python3
"""loop_torch.py - loop.c with CPU tensors of PyTorch.

    loop_torch.py malloc|pinned SIZE...

The metrics are those of loop.h.  Copies are blocking Tensor.copy_() into existing memory, which is
one copy of the driver and one wait.  pinned: one tensor from pin_memory(), written as often.
"""

import statistics
import sys
import time

from torch_start import torch_start

TURNS = 40
WARM_UP = 8
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
    torch, hand_tuned, arguments = torch_start("loop_torch.py malloc|pinned SIZE...")
    for text in arguments:
        measure(torch, hand_tuned, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
