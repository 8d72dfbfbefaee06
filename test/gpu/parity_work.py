"""Provides work for the parity check: PyTorch or CuPy with cuBLAS, cuDNN, cuFFT and graphs.

    LD_PRELOAD=libhotpin.so HOTPIN_PROFILE=trace HOTPIN_CUPTI=off HOTPIN_PIN=0 \
    HOTPIN_OUT=ours.json python3 parity_work.py torch PARITY.SO LIBCUPTI cupti.json

CUPTI counts from before the first CUDA call until the device is idle at the end.  hotpin counts
until the process ends by os._exit(), directly afterwards.
"""
import ctypes
import os
import sys


def torch_work():
    import torch

    torch.manual_seed(1)
    device = torch.device("cuda")
    a = torch.randn(1024, 1024).to(device)
    b = (a @ a).cpu()
    image = torch.randn(8, 16, 64, 64).to(device)
    conv = torch.nn.Conv2d(16, 32, 3).to(device)
    total = conv(image).sum().item()
    spectrum = torch.fft.fft(torch.randn(4096).to(device)).cpu()
    static = torch.zeros(256, 256, device=device)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            static.add_(1)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        static.mul_(2)
    for _ in range(5):
        graph.replay()
    torch.cuda.synchronize()
    big = torch.randn(4 << 20)
    for _ in range(4):
        big = big.to(device).mul(2).cpu()
    torch.cuda.synchronize()
    return float(b.sum()), total, float(spectrum.abs().sum()), float(static.sum()), float(big.sum())


def cupy_work():
    import cupy
    import numpy

    random = numpy.random.default_rng(1)
    a = cupy.asarray(random.standard_normal((512, 512)))
    product = cupy.asnumpy(a @ a)
    spectrum = cupy.asnumpy(cupy.fft.fft(cupy.asarray(random.standard_normal(4096))))
    values = cupy.asnumpy(cupy.linalg.svd(a, compute_uv=False))
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        b = a * 2
        graph = stream.end_capture()
        for _ in range(5):
            graph.launch(stream)
    stream.synchronize()
    big = random.standard_normal(2 << 20)
    for _ in range(4):
        big = cupy.asnumpy(cupy.asarray(big) + 1)
    cupy.cuda.Device().synchronize()
    return float(product.sum()), float(abs(spectrum).sum()), float(values.sum()), float(b.size), float(big.sum())


def main():
    kind, parity, cupti, out = sys.argv[1:]
    counter = ctypes.CDLL(parity)
    result = counter.parity_start(cupti.encode())
    if result != 0:
        sys.exit(f"parity_start: {result}")
    print(*(value.hex() for value in {"torch": torch_work, "cupy": cupy_work}[kind]()), flush=True)
    counter.parity_stop(out.encode())
    os._exit(0)


main()
