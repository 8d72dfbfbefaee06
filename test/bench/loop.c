/*
 * loop.c - `malloc; write; upload; free`, and `malloc; download; read; free`, repeatedly.
 *
 *	loop malloc|pinned SIZE...
 *
 * pinned: the hand-tuned program reuses one buffer that it allocated before the loop, written as
 * often.
 *
 * `copy_SIZE` is the upload alone, `loop_SIZE` all four steps; `fetch_SIZE` and `back_SIZE` are the
 * same for the download.  Ends with 1 if a byte is wrong.
 */
#include "bench.h"

#define TURNS   15
#define WARM_UP 3

static const char *kind;
static void *pinned; /* or NULL */

static void *take(size_t bytes)
{
	return pinned != NULL ? pinned : bench_allocate("malloc", bytes);
}

static void drop(void *memory)
{
	if (pinned == NULL)
		free(memory);
}

static uint64_t sum_of(const void *memory, size_t bytes)
{
	const uint64_t *word = (const uint64_t *)memory;
	uint64_t sum = 0;

	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		sum += word[i];
	return sum;
}

static void measure(const char *size)
{
	size_t bytes = bench_bytes(size);
	double copies[TURNS], loops[TURNS], fetches[TURNS], backs[TURNS];
	uint64_t *data = (uint64_t *)bench_allocate("malloc", bytes);
	uint64_t *seen = (uint64_t *)bench_allocate("malloc", bytes);
	CUdeviceptr device;
	__typeof__(cuMemcpyHtoD_v2) *to_device = CU(cuMemcpyHtoD_v2);
	__typeof__(cuMemcpyDtoH_v2) *to_host = CU(cuMemcpyDtoH_v2);

	if (strcmp(kind, "pinned") == 0)
		pinned = bench_allocate("pinned", bytes);
	bench_fill(data, bytes, 7);
	CU_OK(CU(cuMemAlloc_v2)(&device, bytes));
	for (size_t i = 0; i < TURNS; i++) {
		data[0] = i;
		uint64_t sum = sum_of(data, bytes);

		double begin = bench_now();
		void *memory = take(bytes);
		memcpy(memory, data, bytes);
		double before = bench_now();
		CU_OK(to_device(device, memory, bytes));
		copies[i] = bench_now() - before;
		drop(memory);
		loops[i] = bench_now() - begin;

		begin = bench_now();
		memory = take(bytes);
		before = bench_now();
		CU_OK(to_host(memory, device, bytes));
		fetches[i] = bench_now() - before;
		uint64_t read = sum_of(memory, bytes);
		drop(memory);
		backs[i] = bench_now() - begin;

		CU_OK(to_host(seen, device, bytes));
		bench_same(seen, data, bytes, kind);
		if (read != sum) {
			fprintf(stderr, "wrong bytes: %s, %s, turn %zu\n", kind, size, i);
			exit(1);
		}
	}
	if (pinned != NULL)
		bench_free("pinned", pinned);
	free(data);
	free(seen);
	CU_OK(CU(cuMemFree_v2)(device));
	bench_report("copy", size, copies, TURNS, WARM_UP);
	bench_report("loop", size, loops, TURNS, WARM_UP);
	bench_report("fetch", size, fetches, TURNS, WARM_UP);
	bench_report("back", size, backs, TURNS, WARM_UP);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: %s malloc|pinned SIZE...\n", argv[0]);
		return 2;
	}
	kind = argv[1];
	bench_start();
	for (int i = 2; i < argc; i++)
		measure(argv[i]);
	return 0;
}
