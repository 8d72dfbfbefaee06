"""torch_start.py - how a benchmark of PyTorch starts."""

import sys

SKIPPED = 77


def skip(reason):
    print("skipped:", reason, file=sys.stderr)
    sys.exit(SKIPPED)


def torch_start(usage):
    """Returns torch; whether the loop is the hand-tuned one; and the other arguments."""
    if len(sys.argv) < 3 or sys.argv[1] not in ("malloc", "pinned"):
        print("usage:", usage, file=sys.stderr)
        sys.exit(2)
    try:
        import torch
    except ImportError as error:
        skip(error)
    if not torch.cuda.is_available():
        skip("no device that torch can use")
    return torch, sys.argv[1] == "pinned", sys.argv[2:]
