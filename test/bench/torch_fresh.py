#!/usr/bin/env python3
"""torch_fresh.py - tensors that are new for every copy, as a data loader makes them.

    torch_fresh.py malloc|pinned MIB

`to_SIZE`: .to('cuda'); `cpu_SIZE`: .cpu().  pinned is what an author would write by hand: a pinned
tensor, and non_blocking=True.  Both wait for the device, and both write the tensor anew for every
copy: whose caches hold it makes a difference of its own.
"""

import statistics
import sys
import time

TURNS = 40
WARM_UP = 8


def timed(torch, call):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    result = call()
    torch.cuda.synchronize()
    return time.perf_counter() - begin, result


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("malloc", "pinned"):
        sys.exit("usage: torch_fresh.py malloc|pinned MIB")
    try:
        import torch
    except ImportError as error:
        print("skipped:", error, file=sys.stderr)
        return 77
    if not torch.cuda.is_available():
        print("skipped: no device that torch can use", file=sys.stderr)
        return 77
    by_hand = sys.argv[1] == "pinned"
    mib = int(sys.argv[2])
    data = torch.randint(-(2**62), 2**62, (mib << 17,), dtype=torch.int64)
    held = data.pin_memory() if by_hand else None
    back = torch.empty_like(data).pin_memory() if by_hand else None
    up, down = [], []
    for turn in range(TURNS):
        if by_hand:
            held.copy_(data)
            held[0] = turn
            spent, device = timed(torch, lambda: held.to("cuda", non_blocking=True))
        else:
            fresh = data.clone()
            fresh[0] = turn
            spent, device = timed(torch, lambda: fresh.to("cuda"))
            del fresh
        up.append(spent)
        if by_hand:
            spent, host = timed(torch, lambda: back.copy_(device, non_blocking=True))
        else:
            spent, host = timed(torch, lambda: device.cpu())
        down.append(spent)
        data[0] = turn
        if not torch.equal(host, data):
            print("wrong bytes: torch, turn", turn, file=sys.stderr)
            return 1
        del host, device
    print("to_%dM %.9g" % (mib, statistics.median(up[WARM_UP:])))
    print("cpu_%dM %.9g" % (mib, statistics.median(down[WARM_UP:])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
