#!/usr/bin/env python3
"""torch_fresh.py - new tensors for every copy, batches of data loaders, and concurrent work.

    torch_fresh.py malloc|pinned [MIB...] [loaders]

For each size, `to_SIZE`: .to('cuda'); `cpu_SIZE`: .cpu().  Both wait for the device, and both write
the tensor again for every copy, because it matters whose caches hold it.

With loaders also `loader0`, `loader4`: a batch of a DataLoader with 0 or 4 workers until it is on
the device; `custom4`: of a type that pin_memory does not know; `pinning4`: with pin_memory=True, in
every variant; `concurrent`: a fixed amount of work on every core, while a tensor is uploaded and
downloaded every 20 ms.

pinned is the hand-tuned program: pinned tensors, pin_memory=True and non_blocking=True.  Every
section has a time limit that does not depend on its figures; all of them take about 10 s.
"""

import os
import signal
import statistics
import subprocess
import sys
import time

from torch_start import torch_start

SECTION_SECONDS = 1.2
LEAST_TURNS, MOST_TURNS = 6, 40
WARM_UP = 2
BATCHES = 40
WORKERS = 4
STUCK_SECONDS = 75
WORK = """
import time
begin = time.perf_counter()
total = 0
for i in range(12000000):
    total += i
print(time.perf_counter() - begin)
"""


def timed(torch, call):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    result = call()
    torch.cuda.synchronize()
    return time.perf_counter() - begin, result


def check(torch, host, data, what):
    if not torch.equal(host, data):
        sys.exit("wrong bytes: torch, %s" % what)


def fresh(torch, hand_tuned, mib):
    data = torch.randint(-(2**62), 2**62, (mib << 17,), dtype=torch.int64)
    held = data.pin_memory() if hand_tuned else None
    back = torch.empty_like(data).pin_memory() if hand_tuned else None
    up, down = [], []
    begin = time.perf_counter()
    while len(up) < LEAST_TURNS or (
        len(up) < MOST_TURNS and time.perf_counter() - begin < SECTION_SECONDS
    ):
        data[0] = len(up)
        if hand_tuned:
            held.copy_(data)
            spent, device = timed(torch, lambda: held.to("cuda", non_blocking=True))
        else:
            tensor = data.clone()
            spent, device = timed(torch, lambda: tensor.to("cuda"))
            del tensor
        up.append(spent)
        if hand_tuned:
            spent, host = timed(torch, lambda: back.copy_(device, non_blocking=True))
        else:
            spent, host = timed(torch, lambda: device.cpu())
        down.append(spent)
        check(torch, host, data, "%d MiB, turn %d" % (mib, len(up)))
        del host, device
    print("to_%dM %.9g" % (mib, statistics.median(up[WARM_UP:])))
    print("cpu_%dM %.9g" % (mib, statistics.median(down[WARM_UP:])))


class Samples:
    """Sample i is filled with i; a batch is BATCH samples."""

    BATCH = 16

    def __init__(self, torch, mib):
        self.torch = torch
        self.words = (mib << 17) // self.BATCH

    def __len__(self):
        return (BATCHES + WARM_UP) * self.BATCH

    def __getitem__(self, i):
        return self.torch.full((self.words,), i, dtype=self.torch.int64)


class Custom:
    """A type that pin_memory does not change."""

    def __init__(self, samples):
        import torch

        self.data = torch.stack(samples)


class Pinnable(Custom):
    def pin_memory(self):
        self.data = self.data.pin_memory()
        return self


def room_for_batches():
    """Returns the MiB of a batch: the batches in flight share /dev/shm, which may be small."""
    try:
        free = os.statvfs("/dev/shm")
        most = free.f_bavail * free.f_frsize // (4 * WORKERS * 2) >> 20
    except OSError:
        most = 1
    return max(1, min(16, most))


def loader(torch, name, workers, pin, collate=None):
    from torch.utils.data import DataLoader

    samples = Samples(torch, room_for_batches())
    batches = DataLoader(
        samples,
        batch_size=samples.BATCH,
        num_workers=workers,
        pin_memory=pin,
        collate_fn=collate,
        timeout=20 if workers > 0 else 0,
    )
    begin, first, seen = time.perf_counter(), 0, 0
    sums = []
    for batch in batches:
        data = batch.data if isinstance(batch, Custom) else batch
        device = data.to("cuda", non_blocking=pin)
        sums.append((device.sum(), device[:, -1].sum()))
        seen += 1
        if seen == WARM_UP:
            torch.cuda.synchronize()
            begin, first = time.perf_counter(), seen
        if time.perf_counter() - begin > SECTION_SECONDS and seen > first + LEAST_TURNS:
            break
    torch.cuda.synchronize()
    spent = (time.perf_counter() - begin) / (seen - first)
    del batches
    for i, (total, last) in enumerate(sums):
        expected = sum(range(i * samples.BATCH, (i + 1) * samples.BATCH))
        if int(total) != expected * samples.words or int(last) != expected:
            sys.exit("wrong bytes: torch, %s, batch %d" % (name, i))
    print("%s %.9g" % (name, spent))


def concurrent(torch, hand_tuned):
    """Other processes keep the cores busy; hotpin is not measured in them."""
    environment = {n: v for n, v in os.environ.items() if n != "LD_PRELOAD" and n[:6] != "HOTPIN"}
    cores = len(os.sched_getaffinity(0))
    data = torch.ones(16 << 17, dtype=torch.int64)
    if hand_tuned:
        data = data.pin_memory()
    crowd = [
        subprocess.Popen(
            [sys.executable, "-S", "-c", WORK], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(cores)
    ]
    begin = time.perf_counter()
    turns = 0
    while any(process.poll() is None for process in crowd) and turns < 500:
        data.to("cuda", non_blocking=hand_tuned).cpu()
        turns += 1
        time.sleep(max(0.0, begin + turns * 0.02 - time.perf_counter()))
    spent = [float(process.communicate()[0]) for process in crowd]
    print("concurrent %.9g" % statistics.median(spent))


def main():
    torch, hand_tuned, arguments = torch_start("torch_fresh.py malloc|pinned [MIB...] [loaders]")
    # Ends a test that hangs, for the sake of later ones.
    signal.alarm(STUCK_SECONDS)
    for mib in arguments:
        if mib != "loaders":
            fresh(torch, hand_tuned, int(mib))
    if "loaders" not in arguments:
        return 0
    # Its threads would compete with the workers for the cores.
    torch.set_num_threads(1)
    loader(torch, "loader0", 0, hand_tuned)
    loader(torch, "loader4", WORKERS, hand_tuned)
    loader(torch, "custom4", WORKERS, hand_tuned, Pinnable if hand_tuned else Custom)
    loader(torch, "pinning4", WORKERS, True)
    concurrent(torch, hand_tuned)
    return 0


if __name__ == "__main__":
    sys.exit(main())
