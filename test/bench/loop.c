/*
 * loop.c - `malloc; write; copy to the device; free`, over and over.
 *
 *	loop malloc|pinned SIZE...
 *
 * `copy_SIZE` is the copy alone, `loop_SIZE` all four.  pinned is what an author would write by
 * hand: one buffer, allocated before the loop.  What arrived is read back between the timed parts.
 */
#include "bench.h"

#define TURNS   15
#define WARM_UP 3

static void measure(const char *kind, const char *size)
{
	size_t bytes = bench_bytes(size);
	int by_hand = strcmp(kind, "pinned") == 0;
	double copies[TURNS], turns[TURNS];
	uint64_t *data = malloc(bytes), *back = malloc(bytes), *kept = NULL;
	CUdeviceptr device;
	__typeof__(cuMemcpyHtoD_v2) *to_device = CU(cuMemcpyHtoD_v2);
	__typeof__(cuMemcpyDtoH_v2) *to_host = CU(cuMemcpyDtoH_v2);

	bench_fill(data, bytes, 7);
	CU_OK(CU(cuMemAlloc_v2)(&device, bytes));
	if (by_hand)
		kept = bench_allocate(kind, bytes);
	for (size_t i = 0; i < TURNS; i++) {
		data[0] = i;
		double begin = bench_now();
		uint64_t *memory = by_hand ? kept : bench_allocate(kind, bytes);
		memcpy(memory, data, bytes);
		double before = bench_now();
		CU_OK(to_device(device, memory, bytes));
		copies[i] = bench_now() - before;
		if (!by_hand)
			free(memory);
		turns[i] = bench_now() - begin;

		CU_OK(to_host(back, device, bytes));
		bench_same(back, data, bytes, "loop");
	}
	if (by_hand)
		bench_free(kind, kept);
	free(data);
	free(back);
	CU_OK(CU(cuMemFree_v2)(device));
	bench_report("copy", size, copies, TURNS, WARM_UP);
	bench_report("loop", size, turns, TURNS, WARM_UP);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: loop malloc|pinned SIZE...\n");
		return 2;
	}
	bench_start();
	for (int i = 2; i < argc; i++)
		measure(argv[1], argv[i]);
	return 0;
}
