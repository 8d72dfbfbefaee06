#!/usr/bin/env python3
"""torch_models.py - copies the weights of a model to the GPU and back.

    torch_models.py malloc|pinned MIB

It prints medians in seconds, for a model of MIB mebibytes in layers of 16 MiB:

    state     `.cpu()` of each tensor of the model's state, into new memory
    save      torch.save() of the state of a model on the GPU, to a file
    load      torch.load() of that file, load_state_dict() and `.to('cuda')`
    mapped    the same with mmap=True
    offload   a step that copies each layer to the GPU and multiplies there, weights on the CPU

`pinned` is the hand-tuned program: it downloads into pinned tensors that it keeps, loads through
tensors of pin_memory(), and offloads pinned weights with non_blocking=True.  The file is in memory
(/dev/shm) if there is enough.
"""

import os
import signal
import statistics
import sys
import tempfile
import time

from torch_start import torch_start

SIDE = 2048  # a layer is a square of float32: 16 MiB
BATCH = 256
SECTION_SECONDS = 1.2
LEAST_TURNS, MOST_TURNS, WARM_UP = 4, 20, 2
STUCK_SECONDS = 170


def measure(torch, name, call, check=None):
    """Prints the median; `call` is one turn, `check` gets its result."""
    spent = []
    begin = time.perf_counter()
    while len(spent) < LEAST_TURNS + WARM_UP or (
        len(spent) < MOST_TURNS and time.perf_counter() - begin < SECTION_SECONDS
    ):
        torch.cuda.synchronize()
        before = time.perf_counter()
        result = call()
        torch.cuda.synchronize()
        spent.append(time.perf_counter() - before)
        if check is not None and not check(result):
            sys.exit("wrong bytes: torch, %s, turn %d" % (name, len(spent)))
        del result
    print("%s %.9g" % (name, statistics.median(spent[WARM_UP:])), flush=True)


def make_model(torch, layers, device):
    squares = (torch.nn.Linear(SIDE, SIDE, bias=False, device=device) for _ in range(layers))
    return torch.nn.Sequential(*squares)


def same_state(torch, state, expected):
    return state.keys() == expected.keys() and all(
        torch.equal(state[name].cpu(), tensor) for name, tensor in expected.items()
    )


def checkpoint(torch, hand_tuned, model, path):
    """state and save."""
    expected = {name: tensor.cpu() for name, tensor in model.state_dict().items()}
    kept = {name: tensor.pin_memory() for name, tensor in expected.items()} if hand_tuned else None

    def state():
        if not hand_tuned:
            return {name: tensor.cpu() for name, tensor in model.state_dict().items()}
        for name, tensor in model.state_dict().items():
            kept[name].copy_(tensor, non_blocking=True)
        torch.cuda.synchronize()
        return kept

    def save():
        torch.save(state() if hand_tuned else model.state_dict(), path)

    measure(torch, "state", state, lambda result: same_state(torch, result, expected))
    measure(torch, "save", save)
    if not same_state(torch, torch.load(path, map_location="cpu"), expected):
        sys.exit("wrong bytes: torch, save")
    return expected


def loading(torch, hand_tuned, layers, path, expected):
    """load and mapped."""

    def load(mmap):
        state = torch.load(path, map_location="cpu", mmap=mmap)
        if hand_tuned:
            state = {name: tensor.pin_memory().to("cuda", non_blocking=True)
                     for name, tensor in state.items()}
        model = make_model(torch, layers, "meta")
        model.load_state_dict(state, assign=True)
        return model.to("cuda")

    for name, mmap in (("load", False), ("mapped", True)):
        measure(torch, name, lambda: load(mmap),
                lambda model: same_state(torch, model.state_dict(), expected))


def offloading(torch, hand_tuned, expected):
    """offload."""
    weights = [tensor.pin_memory() if hand_tuned else tensor.clone() for tensor in expected.values()]
    there = [tensor.to("cuda") for tensor in weights]
    sample = torch.full((BATCH, SIDE), 1.0 / SIDE, device="cuda")

    def offload():
        result = sample
        for weight in weights:
            result = result @ weight.to("cuda", non_blocking=hand_tuned)
        return result

    def multiply():
        result = sample
        for weight in there:
            result = result @ weight
        return result

    correct = multiply()
    measure(torch, "offload", offload, lambda result: torch.equal(result, correct))


def folder_for(size):
    """Returns /dev/shm if a file of that size fits twice, otherwise the default folder."""
    try:
        free = os.statvfs("/dev/shm")
        return "/dev/shm" if free.f_bavail * free.f_frsize > 2 * size else None
    except OSError:
        return None


def main():
    torch, hand_tuned, arguments = torch_start("torch_models.py malloc|pinned MIB")
    signal.alarm(STUCK_SECONDS)
    mib = max(16, int(arguments[0]))
    layers = mib * (1 << 20) // (SIDE * SIDE * 4)
    torch.manual_seed(1)
    torch.set_grad_enabled(False)
    model = make_model(torch, layers, "cuda")
    with tempfile.TemporaryDirectory(dir=folder_for(mib << 20)) as folder:
        path = os.path.join(folder, "model.pt")
        expected = checkpoint(torch, hand_tuned, model, path)
        del model
        loading(torch, hand_tuned, layers, path, expected)
    offloading(torch, hand_tuned, expected)
    return 0


if __name__ == "__main__":
    sys.exit(main())
