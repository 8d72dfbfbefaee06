#!/usr/bin/env python3
"""torch_loops.py - loops over the batches of a DataLoader.

    torch_loops.py malloc|pinned [[KIND:]MB:WORKERS...] [images:WORKERS...]

For each loop it prints medians of the iterations, in seconds.  NAME is its argument with _ instead
of `:`. `batch_NAME` is the time of one iteration of `for batch in loader: batch.cuda()`.
`cuda_NAME` is the part inside `.cuda()`, which ends with the copy; if it is the larger part, the
loop is bound by its copies.  `pinned` is the hand-tuned loop: pin_memory=True and
non_blocking=True.

A KIND changes the loop:

    pinned   pin_memory=True and non_blocking=True, with malloc too
    collate  a collate function of the script makes a dictionary of each batch
    custom   batches are of a class of the script, which pin_memory=True leaves pageable; hand-tuned,
             the class has a method pin_memory()
    own      the same with the method, pin_memory=True and non_blocking=True, with malloc too
    busy     each other core runs Python code
    images   JPEG files, which the script makes, decoded and cropped by torchvision
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from torch_fresh import Custom, Pinnable
from torch_start import skip, torch_start

SECTION_SECONDS = 0.4
LEAST_TURNS, MOST_TURNS, WARM_UP = 6, 60, 4
SAMPLES = 4
MOST_AHEAD = 2  # batches of each worker
STUCK_SECONDS = 170
IMAGES, IMAGE_SIDE, IMAGE_CROP, IMAGE_BATCH = 256, 256, 224, 32
KINDS = ("plain", "pinned", "collate", "custom", "own", "busy", "images")
BUSY = """
import os
parent = os.getppid()
while os.getppid() == parent:
    sum(range(100000))
"""


class Skipped(Exception):
    pass


class Samples:
    """Sample i is filled with i; SAMPLES of them are a batch."""

    def __init__(self, torch, mb):
        self.torch = torch
        self.words = mb * 1000000 // 4 // SAMPLES

    def __len__(self):
        return (MOST_TURNS + WARM_UP) * SAMPLES

    def __getitem__(self, i):
        return self.torch.full((self.words,), i, dtype=self.torch.int32)


def collate(samples):
    import torch

    return {"data": torch.stack(samples), "lengths": torch.tensor([len(s) for s in samples])}


def ahead(megabytes, workers):
    """Returns how many batches each worker may load ahead: all of them share /dev/shm, which may be
    small."""
    try:
        free = os.statvfs("/dev/shm")
    except OSError as error:
        raise Skipped(str(error)) from error
    room = free.f_bavail * free.f_frsize // 2 // (megabytes * 1000000)
    each = min(MOST_AHEAD, (room - 1) // workers)
    if each < 1:
        raise Skipped("%d workers and batches of %d MB need more of /dev/shm" % (workers, megabytes))
    return each


def make_images(folder):
    """Makes two classes of JPEG files; all are the same picture of noise and gradients."""
    import PIL.Image

    slope = PIL.Image.linear_gradient("L").resize((IMAGE_SIDE, IMAGE_SIDE))
    noise = PIL.Image.effect_noise((IMAGE_SIDE, IMAGE_SIDE), 40)
    photo = PIL.Image.merge("RGB", (slope, noise, slope.rotate(90)))
    for i in range(IMAGES):
        place = os.path.join(folder, "class%d" % (i % 2))
        os.makedirs(place, exist_ok=True)
        photo.rotate(i).save(os.path.join(place, "%04d.jpg" % i), quality=90)


class Repeated:
    """Repeats the images, so that an epoch does not end within a loop."""

    def __init__(self, images):
        self.images = images

    def __len__(self):
        return (MOST_TURNS + WARM_UP) * IMAGE_BATCH

    def __getitem__(self, i):
        return self.images[i % len(self.images)][0]


def open_images(folder):
    try:
        import PIL  # noqa: F401
        from torchvision import datasets, transforms
        make_images(folder)
    except (ImportError, OSError, RuntimeError) as error:
        # A torchvision of another torch, or Pillow without JPEG.
        raise Skipped("%s: %s" % (type(error).__name__, error)) from error
    steps = [transforms.RandomCrop(IMAGE_CROP), transforms.RandomHorizontalFlip(),
             transforms.ToTensor()]
    return Repeated(datasets.ImageFolder(folder, transforms.Compose(steps)))


def data_of(batch):
    if isinstance(batch, Custom):
        return batch.data
    return batch["data"] if isinstance(batch, dict) else batch


def loader_of(samples, kind, hand_tuned, mb, workers):
    from torch.utils.data import DataLoader

    collates = {"collate": collate, "custom": Pinnable if hand_tuned else Custom, "own": Pinnable}
    more = {"timeout": 30, "prefetch_factor": ahead(mb, workers)} if workers > 0 else {}
    return DataLoader(samples, batch_size=IMAGE_BATCH if kind == "images" else SAMPLES,
                      num_workers=workers, collate_fn=collates.get(kind),
                      pin_memory=hand_tuned or kind in ("pinned", "own"), **more)


def check_samples(sums, samples, name):
    for i, (total, last) in enumerate(sums):
        expected = sum(range(i * SAMPLES, (i + 1) * SAMPLES)) * samples.words
        if int(total) != expected or last != (i + 1) * SAMPLES - 1:
            sys.exit("wrong bytes: torch, %s, batch %d" % (name, i))


def turn(torch, batch, asynchronous):
    """Returns the batch on the GPU and the duration of its copy."""
    begin = time.perf_counter()
    device = batch.to("cuda", non_blocking=asynchronous)
    torch.cuda.synchronize()
    return device, time.perf_counter() - begin


def loop(torch, hand_tuned, name, kind, samples, mb, workers):
    batches = loader_of(samples, kind, hand_tuned, mb, workers)
    turns, copies, sums = [], [], []
    begin = last = time.perf_counter()
    for batch in batches:
        data = data_of(batch)
        device, spent = turn(torch, data, batches.pin_memory)
        now = time.perf_counter()
        turns.append(now - last)
        copies.append(spent)
        if kind == "images":
            if not torch.equal(device.cpu(), data):
                sys.exit("wrong bytes: torch, %s, batch %d" % (name, len(turns)))
        else:
            sums.append((device.sum(dtype=torch.int64), int(data[-1][-1])))
        torch.cuda.synchronize()
        last = time.perf_counter()
        if last - begin > SECTION_SECONDS and len(turns) >= LEAST_TURNS + WARM_UP:
            break
    check_samples(sums, samples, name)
    print("batch_%s %.9g" % (name, statistics.median(turns[WARM_UP:])))
    print("cuda_%s %.9g" % (name, statistics.median(copies[WARM_UP:])), flush=True)


class Busy:
    """Runs Python code on each core except one; hotpin is not loaded into those processes."""

    def __enter__(self):
        environment = {n: v for n, v in os.environ.items() if n != "LD_PRELOAD" and n[:6] != "HOTPIN"}
        cores = len(os.sched_getaffinity(0))
        self.crowd = [subprocess.Popen([sys.executable, "-S", "-c", BUSY], env=environment)
                      for _ in range(max(1, cores - 1))]

    def __exit__(self, *_):
        for process in self.crowd:
            process.kill()
        for process in self.crowd:
            process.wait()


def section(torch, hand_tuned, argument):
    parts = argument.split(":")
    kind = parts.pop(0) if parts[0] in KINDS else "plain"
    name, workers = argument.replace(":", "_"), int(parts[-1])
    if kind == "images":
        mb = 1 + IMAGE_BATCH * IMAGE_CROP * IMAGE_CROP * 3 * 4 // 1000000
        with tempfile.TemporaryDirectory() as folder:
            loop(torch, hand_tuned, name, kind, open_images(folder), mb, workers)
        return
    mb = int(parts[0])
    samples = Samples(torch, mb)
    if kind == "busy":
        with Busy():
            loop(torch, hand_tuned, name, kind, samples, mb, workers)
        return
    loop(torch, hand_tuned, name, kind, samples, mb, workers)


def main():
    torch, hand_tuned, arguments = torch_start(
        "torch_loops.py malloc|pinned [[KIND:]MB:WORKERS...] [images:WORKERS...]"
    )
    signal.alarm(STUCK_SECONDS)
    # Its threads would compete with the workers for the cores.
    torch.set_num_threads(1)
    try:
        for argument in arguments:
            section(torch, hand_tuned, argument)
    except Skipped as reason:
        skip(reason)
    return 0


if __name__ == "__main__":
    sys.exit(main())
