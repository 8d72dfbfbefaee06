/*
 * repeat.c - one buffer, copied to the device and back many times by synchronous copies.
 *
 *	repeat malloc|pinned BYTES COUNT
 *
 * Prints what the program took from its first allocation to its last copy, and the copies alone:
 * `whole_s copies_s h2d_median_us d2h_median_us`.  The data goes both ways and is compared.
 */
#include "bench.h"

#include <string.h>

static void *allocate(const char *kind, size_t bytes)
{
	void *memory = NULL;

	if (strcmp(kind, "pinned") == 0)
		CU_OK(CU(cuMemHostAlloc)(&memory, bytes, 0));
	else
		memory = malloc(bytes);
	if (memory == NULL)
		exit(1);
	return memory;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: repeat malloc|pinned BYTES COUNT\n");
		return 2;
	}
	size_t bytes = strtoull(argv[2], NULL, 0), count = strtoull(argv[3], NULL, 0);
	double *up = calloc(count, sizeof(*up)), *down = calloc(count, sizeof(*down));
	CUdeviceptr device;

	bench_start();
	CU_OK(CU(cuMemAlloc_v2)(&device, bytes));
	__typeof__(cuMemcpyHtoD_v2) *to_device = CU(cuMemcpyHtoD_v2);
	__typeof__(cuMemcpyDtoH_v2) *to_host = CU(cuMemcpyDtoH_v2);

	double begin = bench_now();
	uint64_t *memory = allocate(argv[1], bytes);
	bench_fill(memory, bytes, 42);
	double filled = bench_now();
	for (size_t i = 0; i < count; i++) {
		double before = bench_now();

		memory[0] = i;
		CU_OK(to_device(device, memory, bytes));
		up[i] = bench_now() - before;
		memory[0] = ~(uint64_t)0;
		memory[bytes / sizeof(*memory) - 1] ^= 1;
		before = bench_now();
		CU_OK(to_host(memory, device, bytes));
		down[i] = bench_now() - before;
		if (memory[0] != i) {
			fprintf(stderr, "repeat: wrong bytes after copy %zu\n", i);
			return 1;
		}
	}
	double end = bench_now();

	uint64_t *expected = malloc(bytes);
	bench_fill(expected, bytes, 42);
	expected[0] = count - 1;
	if (memcmp(expected, memory, bytes) != 0) {
		fprintf(stderr, "repeat: wrong bytes\n");
		return 1;
	}
	printf("%.6f %.6f %.2f %.2f\n", end - begin, end - filled, bench_median(up, count) * 1e6,
	       bench_median(down, count) * 1e6);
	return 0;
}
