#!/usr/bin/env python3
"""arrays_jax.py - copies NumPy arrays to the GPU and back with JAX, on threads of JAX."""

import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
try:
    import jax
    import jax.numpy as jnp
    import numpy
except ImportError as error:
    print("skipped:", error, file=sys.stderr)
    sys.exit(77)


@jax.jit
def smooth(field):
    return (field + jnp.roll(field, 1, 0) + jnp.roll(field, -1, 0)) / 3


def turn(rows):
    field = jax.device_put(rows)
    return numpy.asarray(smooth(field))


def main():
    if jax.default_backend() != "gpu":
        print("skipped: no device that JAX can use", file=sys.stderr)
        sys.exit(77)
    rows = numpy.random.default_rng(1).random((512, 512), dtype=numpy.float32)
    for _ in range(100):
        back = turn(rows)
    print("%.6f" % back.sum())


main()
