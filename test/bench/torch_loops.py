#!/usr/bin/env python3
"""torch_loops.py - loops over the batches of a DataLoader, by size of the batch and number of workers.

    torch_loops.py malloc|pinned [MB:WORKERS...]

Prints, for each pair, `batch_MB_WORKERS`: the time of a turn of `for batch in loader: batch.cuda()`,
and `cuda_MB_WORKERS`: the part of it inside `.cuda()`, which ends with the copy.  A loop is bound by
its copies if the second is most of the first.  Medians of the turns, seconds.
pinned is what an author would write by hand: pin_memory=True and non_blocking=True.
"""

import signal
import statistics
import sys
import time

SKIPPED = 77
SECTION_SECONDS = 0.6
LEAST_TURNS, MOST_TURNS, WARM_UP = 8, 60, 4
SAMPLES = 4
STUCK_SECONDS = 240


class Samples:
    """Sample i is full of i; SAMPLES of them are a batch."""

    def __init__(self, torch, mb):
        self.torch = torch
        self.words = mb * 1000000 // 4 // SAMPLES

    def __len__(self):
        return (MOST_TURNS + WARM_UP) * SAMPLES

    def __getitem__(self, i):
        return self.torch.full((self.words,), i, dtype=self.torch.int32)


def loop(torch, by_hand, mb, workers):
    from torch.utils.data import DataLoader

    samples = Samples(torch, mb)
    batches = DataLoader(samples, batch_size=SAMPLES, num_workers=workers, pin_memory=by_hand,
                         timeout=30 if workers > 0 else 0)
    turns, copies, sums = [], [], []
    begin = turn = time.perf_counter()
    for batch in batches:
        before = time.perf_counter()
        device = batch.to("cuda", non_blocking=by_hand)
        torch.cuda.synchronize()
        now = time.perf_counter()
        turns.append(now - turn)
        copies.append(now - before)
        sums.append((device.sum(dtype=torch.int64), int(batch[-1][-1])))
        torch.cuda.synchronize()
        turn = time.perf_counter()
        if turn - begin > SECTION_SECONDS and len(turns) >= LEAST_TURNS + WARM_UP:
            break
    for i, (total, last) in enumerate(sums):
        expected = sum(range(i * SAMPLES, (i + 1) * SAMPLES)) * samples.words
        if int(total) != expected or last != (i + 1) * SAMPLES - 1:
            sys.exit("wrong bytes: torch, %d MB, %d workers, batch %d" % (mb, workers, i))
    print("batch_%d_%d %.9g" % (mb, workers, statistics.median(turns[WARM_UP:])))
    print("cuda_%d_%d %.9g" % (mb, workers, statistics.median(copies[WARM_UP:])), flush=True)


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("malloc", "pinned"):
        print("usage: torch_loops.py malloc|pinned [MB:WORKERS...]", file=sys.stderr)
        return 2
    try:
        import torch
    except ImportError as error:
        print("skipped:", error, file=sys.stderr)
        return SKIPPED
    if not torch.cuda.is_available():
        print("skipped: no device that torch can use", file=sys.stderr)
        return SKIPPED
    signal.alarm(STUCK_SECONDS)
    # Its threads would fight for the cores with the workers.
    torch.set_num_threads(1)
    for pair in sys.argv[2:]:
        mb, workers = map(int, pair.split(":"))
        loop(torch, sys.argv[1] == "pinned", mb, workers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
