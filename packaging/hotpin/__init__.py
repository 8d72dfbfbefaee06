"""hotpin makes the host-device copies of unmodified CUDA programs fast.

It is a command, not a module for programs: `hotpin run python train.py`, or
`python -m hotpin run python train.py`.
"""
