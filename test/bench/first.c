/*
 * first.c - the first copy of buffers that were never copied before.
 *
 *	first malloc|pinned touched|untouched SIZE...
 *
 * It prints `h2d_SIZE` (touched only) and `d2h_SIZE`.  All buffers of a size are freed at its end:
 * a block that was freed and allocated again would not have a first copy.
 */
#include "bench.h"

#define BUFFERS 5

static void *fresh(const char *kind, size_t bytes, uint64_t seed)
{
	void *memory = bench_allocate(kind, bytes);

	if (seed != 0)
		bench_fill(memory, bytes, seed);
	return memory;
}

static void measure(const char *kind, int touched, const char *size)
{
	size_t bytes = bench_bytes(size);
	double up[BUFFERS], down[BUFFERS];
	void *buffers[2 * BUFFERS];
	CUdeviceptr device;
	__typeof__(cuMemcpyHtoD_v2) *to_device = CU(cuMemcpyHtoD_v2);
	__typeof__(cuMemcpyDtoH_v2) *to_host = CU(cuMemcpyDtoH_v2);

	CU_OK(CU(cuMemAlloc_v2)(&device, bytes));
	for (size_t i = 0; i < BUFFERS; i++) {
		void *source = fresh(kind, bytes, 1 + i);
		double before = bench_now();
		CU_OK(to_device(device, source, bytes));
		up[i] = bench_now() - before;

		void *target = fresh(kind, bytes, touched ? 100 + i : 0);
		before = bench_now();
		CU_OK(to_host(target, device, bytes));
		down[i] = bench_now() - before;

		bench_check(target, bytes, 1 + i, "first");
		buffers[2 * i] = source;
		buffers[2 * i + 1] = target;
	}
	for (size_t i = 0; i < 2 * BUFFERS; i++)
		bench_free(kind, buffers[i]);
	CU_OK(CU(cuMemFree_v2)(device));
	if (touched)
		bench_report("h2d", size, up, BUFFERS, 0);
	bench_report("d2h", size, down, BUFFERS, 0);
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: first malloc|pinned touched|untouched SIZE...\n");
		return 2;
	}
	bench_start();
	for (int i = 3; i < argc; i++)
		measure(argv[1], strcmp(argv[2], "touched") == 0, argv[i]);
	return 0;
}
