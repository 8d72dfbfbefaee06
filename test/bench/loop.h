/*
 * Loops that allocate a buffer for every copy, for any kind of allocation:
 * `take; write; copy to the device; drop`, and `take; copy from the device; read; drop`.
 *
 * A program defines take and drop.  The hand-tuned program reuses one pinned buffer that it
 * allocated before the loop, wrapped as the same type and written as often.
 */
#ifndef HP_BENCH_LOOP_H
#define HP_BENCH_LOOP_H

#include "bench.h"

#define LOOP_TURNS   15
#define LOOP_WARM_UP 3

struct loop_kind {
	const char *name;
	int hand_tuned;
	/* allocates so many bytes; kept: a pinned buffer of that size, or NULL unless hand-tuned */
	void *(*take)(size_t bytes, void *kept);
	void (*drop)(void *memory);
};

static inline uint64_t loop_read(const void *memory, size_t bytes)
{
	const uint64_t *word = (const uint64_t *)memory;
	uint64_t sum = 0;

	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		sum += word[i];
	return sum;
}

/*
 * `copy_SIZE` is the upload alone, `loop_SIZE` all four steps; `fetch_SIZE` and `back_SIZE` are the
 * same for the download.  Ends the program with 1 if a byte is wrong.
 */
static inline void loop_measure(const struct loop_kind *kind, const char *size)
{
	size_t bytes = bench_bytes(size);
	double copies[LOOP_TURNS], loops[LOOP_TURNS], fetches[LOOP_TURNS], backs[LOOP_TURNS];
	uint64_t *data = (uint64_t *)bench_allocate("malloc", bytes);
	uint64_t *seen = (uint64_t *)bench_allocate("malloc", bytes);
	void *kept = kind->hand_tuned ? bench_allocate("pinned", bytes) : NULL;
	CUdeviceptr device;
	__typeof__(cuMemcpyHtoD_v2) *to_device = CU(cuMemcpyHtoD_v2);
	__typeof__(cuMemcpyDtoH_v2) *to_host = CU(cuMemcpyDtoH_v2);

	bench_fill(data, bytes, 7);
	CU_OK(CU(cuMemAlloc_v2)(&device, bytes));
	for (size_t i = 0; i < LOOP_TURNS; i++) {
		data[0] = i;
		uint64_t sum = loop_read(data, bytes);

		double begin = bench_now();
		void *memory = kind->take(bytes, kept);
		memcpy(memory, data, bytes);
		double before = bench_now();
		CU_OK(to_device(device, memory, bytes));
		copies[i] = bench_now() - before;
		kind->drop(memory);
		loops[i] = bench_now() - begin;

		begin = bench_now();
		memory = kind->take(bytes, kept);
		before = bench_now();
		CU_OK(to_host(memory, device, bytes));
		fetches[i] = bench_now() - before;
		uint64_t read = loop_read(memory, bytes);
		kind->drop(memory);
		backs[i] = bench_now() - begin;

		CU_OK(to_host(seen, device, bytes));
		bench_same(seen, data, bytes, kind->name);
		if (read != sum) {
			fprintf(stderr, "wrong bytes: %s, %s, turn %zu\n", kind->name, size, i);
			exit(1);
		}
	}
	if (kept != NULL)
		bench_free("pinned", kept);
	free(data);
	free(seen);
	CU_OK(CU(cuMemFree_v2)(device));
	bench_report("copy", size, copies, LOOP_TURNS, LOOP_WARM_UP);
	bench_report("loop", size, loops, LOOP_TURNS, LOOP_WARM_UP);
	bench_report("fetch", size, fetches, LOOP_TURNS, LOOP_WARM_UP);
	bench_report("back", size, backs, LOOP_TURNS, LOOP_WARM_UP);
}

/* The main() of a program: its arguments are the name of a kind, and sizes. */
static inline int loop_main(const struct loop_kind *kinds, size_t count, int argc, char **argv)
{
	size_t kind = 0;

	while (kind < count && argc > 2 && strcmp(argv[1], kinds[kind].name) != 0)
		kind++;
	if (argc < 3 || kind == count) {
		fprintf(stderr, "usage: %s KIND SIZE...; kinds:", argv[0]);
		for (kind = 0; kind < count; kind++)
			fprintf(stderr, " %s", kinds[kind].name);
		fprintf(stderr, "\n");
		return 2;
	}
	bench_start();
	for (int i = 2; i < argc; i++)
		loop_measure(&kinds[kind], argv[i]);
	return 0;
}

#endif
