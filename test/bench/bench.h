/*
 * Common parts of the benchmark programs: the driver's functions, found by dlopen and dlsym as
 * cudart finds them, so that nothing links libcuda and a preloaded library sees the look-ups;
 * random data and its verification; and the output format, `NAME SECONDS` a line, which run.py
 * reads.
 *
 * A program exits with 0, with 1 if anything failed or a byte was wrong, with 2 for a bad command
 * line, and with 77 if there is no device.
 */
#ifndef HP_BENCH_BENCH_H
#define HP_BENCH_BENCH_H

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A driver function by its exported name, with the type of NVIDIA's header.  Look-ups take time. */
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

/* Returns the time in seconds. */
static inline double bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Makes device 0's primary context current; exits with 77 if there is no device. */
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

static inline uint64_t bench_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state ^ *state >> 29;
}

/* Fills memory with random bytes that follow from `seed`; `bytes` must be a multiple of 8. */
static inline void bench_fill(void *memory, size_t bytes, uint64_t seed)
{
	uint64_t *word = (uint64_t *)memory;

	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		word[i] = bench_random(&seed);
}

/* Exits with 1 unless the memory has the bytes of bench_fill(). */
static inline void bench_check(const void *memory, size_t bytes, uint64_t seed, const char *what)
{
	const uint64_t *word = (const uint64_t *)memory;

	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		if (word[i] != bench_random(&seed)) {
			fprintf(stderr, "wrong bytes: %s, %zu bytes, at %zu\n", what, bytes,
				i * sizeof(*word));
			exit(1);
		}
}

/* Exits with 1 unless two buffers are equal. */
static inline void bench_same(const void *a, const void *b, size_t bytes, const char *what)
{
	if (memcmp(a, b, bytes) != 0) {
		fprintf(stderr, "wrong bytes: %s, %zu bytes\n", what, bytes);
		exit(1);
	}
}

/* Parses "64", "4K", "16M" or "1G"; exits with 2 for anything else. */
static inline size_t bench_bytes(const char *text)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);
	int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;

	if (end == text || value == 0 || end[shift != 0] != '\0') {
		fprintf(stderr, "%s: not a size\n", text);
		exit(2);
	}
	return (size_t)value << shift;
}

/* Allocates by malloc(), or pinned as a careful author would, according to `kind`. */
static inline void *bench_allocate(const char *kind, size_t bytes)
{
	void *memory = NULL;

	if (strcmp(kind, "pinned") == 0)
		CU_OK(CU(cuMemHostAlloc)(&memory, bytes, 0));
	else
		memory = malloc(bytes);
	if (memory == NULL) {
		fprintf(stderr, "%zu bytes: no memory\n", bytes);
		exit(1);
	}
	return memory;
}

static inline void bench_free(const char *kind, void *memory)
{
	if (strcmp(kind, "pinned") == 0)
		CU_OK(CU(cuMemFreeHost)(memory));
	else
		free(memory);
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

/* Reports the median of `count` times as `WHAT_SIZE SECONDS`; the first `skip` are warm-up. */
static inline void bench_report(const char *what, const char *size, double *seconds, size_t count,
				size_t skip)
{
	printf("%s%s%s %.9g\n", what, size[0] != '\0' ? "_" : "", size,
	       bench_median(seconds + skip, count - skip));
}

#endif
