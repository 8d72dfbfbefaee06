/*
 * repeat.c - one buffer that is uploaded and downloaded many times by synchronous copies.
 *
 *	repeat malloc|pinned|static COUNT SIZE...
 *
 * For each size: `h2d_SIZE` and `d2h_SIZE`, the median of one copy; `pair_SIZE`, of an upload and
 * the download after it, which waits for an upload that returned early; and `whole_SIZE`, from
 * before the allocation to after the last copy.  COUNT 0: as many copies as the size allows.  Every
 * copy carries a number that must return, and all bytes are compared at the end.
 */
#include "bench.h"

#define STATIC_BYTES ((size_t)256 << 20)
#define WARM_UP      2
#define MOST_COPIES  1000

/* Memory that no allocator provided. */
static uint64_t array[STATIC_BYTES / sizeof(uint64_t)];

static size_t fitting_count(size_t bytes)
{
	size_t count = ((size_t)2 << 30) / bytes;

	return count < 7 ? 7 : count > MOST_COPIES ? MOST_COPIES : count;
}

static void *take(const char *kind, size_t bytes)
{
	if (strcmp(kind, "static") != 0)
		return bench_allocate(kind, bytes);
	if (bytes > STATIC_BYTES)
		exit(2);
	return array;
}

static void measure(const char *kind, size_t count, const char *size)
{
	static double up[MOST_COPIES], down[MOST_COPIES], both[MOST_COPIES];
	size_t bytes = bench_bytes(size), last = bytes / sizeof(uint64_t) - 1;
	__typeof__(cuMemcpyHtoD_v2) *to_device = CU(cuMemcpyHtoD_v2);
	__typeof__(cuMemcpyDtoH_v2) *to_host = CU(cuMemcpyDtoH_v2);
	CUdeviceptr device;

	if (count == 0)
		count = fitting_count(bytes);
	CU_OK(CU(cuMemAlloc_v2)(&device, bytes));

	double begin = bench_now();
	uint64_t *memory = take(kind, bytes);
	bench_fill(memory, bytes, 42);
	uint64_t at_last = memory[last];
	for (size_t i = 0; i < count; i++) {
		memory[0] = i;
		double before = bench_now();
		CU_OK(to_device(device, memory, bytes));
		up[i] = bench_now() - before;
		memory[0] = ~(uint64_t)0;
		memory[last] ^= 1;
		before = bench_now();
		CU_OK(to_host(memory, device, bytes));
		down[i] = bench_now() - before;
		both[i] = up[i] + down[i];
		if (memory[0] != i || (last != 0 && memory[last] != at_last)) {
			fprintf(stderr, "wrong bytes: repeat, %s, copy %zu\n", size, i);
			exit(1);
		}
	}
	double end = bench_now();

	uint64_t seed = 42;
	memory[0] = bench_random(&seed);
	bench_check(memory, bytes, 42, "repeat");
	CU_OK(CU(cuMemFree_v2)(device));
	if (memory != array)
		bench_free(kind, memory);
	size_t skip = count > WARM_UP ? WARM_UP : 0;
	bench_report("h2d", size, up, count, skip);
	bench_report("d2h", size, down, count, skip);
	bench_report("pair", size, both, count, skip);
	printf("whole_%s %.9g\n", size, end - begin);
}

int main(int argc, char **argv)
{
	size_t count = argc > 3 ? strtoull(argv[2], NULL, 10) : MOST_COPIES + 1;

	if (count > MOST_COPIES) {
		fprintf(stderr, "usage: repeat malloc|pinned|static COUNT SIZE...\n");
		return 2;
	}
	bench_start();
	for (int i = 3; i < argc; i++)
		measure(argv[1], count, argv[i]);
	return 0;
}
