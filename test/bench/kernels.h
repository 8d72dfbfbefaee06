/*
 * The kernels of the benchmarks: do nothing, spin for a time, read a buffer for a time, check a
 * buffer.
 *
 * They are those of ptx.h, so the programs need no device compiler and also run on the stand-in.
 */
#ifndef HP_BENCH_KERNELS_H
#define HP_BENCH_KERNELS_H

#include "bench.h"

struct kernels {
	CUfunction nothing, spin, consume, weigh;
	__typeof__(cuLaunchKernel) *launch;
};

/* Needs a current context.  Ends the program on failure, as do the other functions. */
void kernels_load(struct kernels *kernels);

/* Launches one thread that returns. */
void kernels_nothing(const struct kernels *kernels, CUstream stream);

/* Launches one thread that runs for so long. */
void kernels_spin(const struct kernels *kernels, CUstream stream, uint64_t ns);

/* Combines the 8-byte words of `in` into *out by exclusive or, and runs for so long. */
void kernels_consume(const struct kernels *kernels, CUstream stream, CUdeviceptr in, uint64_t words,
		     CUdeviceptr out, uint64_t ns);

/* Adds ptx_weight() of `in` to *out, which detects wrong words and swapped words. */
void kernels_weigh(const struct kernels *kernels, CUstream stream, CUdeviceptr in, uint64_t words,
		   CUdeviceptr out);

#endif
