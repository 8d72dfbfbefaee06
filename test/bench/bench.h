/*
 * The driver's functions for a benchmark, found as cudart finds them: by dlopen and dlsym, so
 * that nothing links libcuda and a preloaded library sees the look-ups.
 */
#ifndef HP_BENCH_BENCH_H
#define HP_BENCH_BENCH_H

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A driver function by its exported name, typed by NVIDIA's header. */
#define CU(name) ((__typeof__(name) *)bench_find(#name))

#define CU_OK(call)                                                                         \
	do {                                                                                \
		CUresult cu_result = (call);                                                \
		if (cu_result != CUDA_SUCCESS) {                                            \
			fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, \
				cu_result);                                                 \
			exit(1);                                                            \
		}                                                                           \
	} while (0)

static inline void *bench_find(const char *name)
{
	static void *driver;
	void *found;

	if (driver == NULL)
		driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (driver == NULL) {
		fprintf(stderr, "skipped: %s\n", dlerror());
		exit(77);
	}
	found = dlsym(driver, name);
	if (found == NULL) {
		fprintf(stderr, "%s: not in the driver\n", name);
		exit(1);
	}
	return found;
}

static inline double bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Makes device 0's primary context current; 77 where there is no device. */
static inline void bench_start(void)
{
	CUcontext context;
	CUresult result = CU(cuInit)(0);

	if (result != CUDA_SUCCESS) {
		fprintf(stderr, "skipped: cuInit: error %d\n", result);
		exit(77);
	}
	CU_OK(CU(cuDevicePrimaryCtxRetain)(&context, 0));
	CU_OK(CU(cuCtxSetCurrent)(context));
}

static inline void bench_fill(void *memory, size_t bytes, uint64_t seed)
{
	uint64_t *word = memory;

	for (size_t i = 0; i < bytes / sizeof(*word); i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		word[i] = seed ^ seed >> 29;
	}
}

static inline int bench_compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static inline double bench_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), bench_compare);
	return values[count / 2];
}

#endif
