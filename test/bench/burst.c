/*
 * burst.c - many small uploads in a row, then one wait.
 *
 *	burst malloc|pinned SIZE...
 *
 * `burst_SIZE` is the time of one burst, including the wait, divided by the number of its copies.
 * pinned is the hand-tuned program: asynchronous copies.
 */
#include "bench.h"

#define COPIES  256
#define BURSTS  40
#define WARM_UP 5

static void measure(const char *kind, const char *size)
{
	size_t bytes = bench_bytes(size), all = bytes * COPIES;
	int hand_tuned = strcmp(kind, "pinned") == 0;
	double bursts[BURSTS];
	char *memory = bench_allocate(kind, all), *back = malloc(all);
	CUdeviceptr device;
	__typeof__(cuMemcpyHtoD_v2) *copy = CU(cuMemcpyHtoD_v2);
	__typeof__(cuMemcpyHtoDAsync_v2) *enqueue = CU(cuMemcpyHtoDAsync_v2);
	__typeof__(cuCtxSynchronize) *wait = CU(cuCtxSynchronize);

	CU_OK(CU(cuMemAlloc_v2)(&device, all));
	for (size_t i = 0; i < BURSTS; i++) {
		bench_fill(memory, all, i);
		double begin = bench_now();
		for (size_t at = 0; at < all; at += bytes)
			if (hand_tuned)
				CU_OK(enqueue(device + at, memory + at, bytes, NULL));
			else
				CU_OK(copy(device + at, memory + at, bytes));
		CU_OK(wait());
		bursts[i] = (bench_now() - begin) / COPIES;
		CU_OK(CU(cuMemcpyDtoH_v2)(back, device, all));
		bench_same(back, memory, all, "burst");
	}
	bench_free(kind, memory);
	free(back);
	CU_OK(CU(cuMemFree_v2)(device));
	bench_report("burst", size, bursts, BURSTS, WARM_UP);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: burst malloc|pinned SIZE...\n");
		return 2;
	}
	bench_start();
	for (int i = 2; i < argc; i++)
		measure(argv[1], argv[i]);
	return 0;
}
