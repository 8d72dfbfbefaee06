/*
 * heap.c - the allocator in a program that rarely copies.
 *
 *	heap KIND THREADS COUNT SIZE...
 *
 *	pair		malloc and free, the memory not touched
 *	cycle		malloc, write all of it, free
 *	calloc		calloc, read and write a word in each page, free
 *	spot		calloc, read and write one word, free
 *	creep		realloc from 1 byte to SIZE in steps of 4 KiB, writing the new part
 *	three		malloc and free of SIZE, SIZE * 16 and SIZE * 3 in turn
 *	grow		realloc from 64 KiB to SIZE by doubling, writing the new part
 *
 * `KIND_SIZE` is the time of one operation, per thread: the median of rounds of at most COUNT.  A
 * pair by one thread is so short that other work on the second hardware thread may double its time,
 * for tens of ms.  So for short rounds, the longest of the best tenth counts.  The device is
 * in use by then, as in the programs that hotpin is for.  Written data must still be there before a
 * block is freed.
 */
#include "bench.h"

#include <pthread.h>
#include <stdbool.h>

#define ROUNDS       15
#define ROUNDS_SHORT 150
#define WARM_UP      2
#define MOST_THREADS 64
#define MAPPED_FROM  ((size_t)1 << 20)
#define WORDS_A_PAGE (4096 / sizeof(uint64_t))

struct job {
	void (*once)(size_t bytes, uint64_t seed);
	size_t bytes, count, rounds;
	double seconds[ROUNDS_SHORT];
};

static void wrong(const char *what)
{
	fprintf(stderr, "wrong bytes: heap, %s\n", what);
	exit(1);
}

static void *have(void *memory)
{
	if (memory == NULL) {
		fprintf(stderr, "heap: no memory\n");
		exit(1);
	}
	return memory;
}

static void pair(size_t bytes, uint64_t seed)
{
	/* Volatile, because the compiler would remove both calls. */
	void *volatile memory = malloc(bytes);

	(void)seed;
	free(memory);
}

static void cycle(size_t bytes, uint64_t seed)
{
	uint64_t *memory = have(malloc(bytes));

	for (size_t i = 0; i < bytes / sizeof(*memory); i++)
		memory[i] = seed + i;
	if (memory[bytes / sizeof(*memory) - 1] != seed + bytes / sizeof(*memory) - 1)
		wrong("cycle");
	free(memory);
}

static void clear(size_t bytes, uint64_t seed)
{
	uint64_t *memory = have(calloc(1, bytes));

	for (size_t i = 0; i < bytes / sizeof(*memory); i += WORDS_A_PAGE) {
		if (memory[i] != 0)
			wrong("calloc");
		memory[i] = seed;
	}
	free(memory);
}

static void spot(size_t bytes, uint64_t seed)
{
	uint64_t *memory = have(calloc(1, bytes));

	if (memory[bytes / sizeof(*memory) / 2] != 0)
		wrong("spot");
	memory[bytes / sizeof(*memory) / 2] = seed;
	free(memory);
}

static void three(size_t bytes, uint64_t seed)
{
	pair(bytes, seed);
	pair(bytes * 16, seed);
	pair(bytes * 3, seed);
}

static void creep(size_t bytes, uint64_t seed)
{
	char *memory = NULL;

	for (size_t want = 1; want <= bytes; want += 4096) {
		size_t new = want < 4096 ? want : 4096;

		memory = have(realloc(memory, want));
		memset(memory + want - new, (int)(seed + want), new);
	}
	for (size_t want = 1; want <= bytes; want += 4096)
		if (memory[want - 1] != (char)(seed + want))
			wrong("creep");
	free(memory);
}

static void grow(size_t bytes, uint64_t seed)
{
	size_t have_bytes = 0;
	uint64_t *memory = NULL;

	for (size_t want = 64 << 10; want <= bytes; want *= 2) {
		memory = have(realloc(memory, want));
		for (size_t i = have_bytes / sizeof(*memory); i < want / sizeof(*memory); i++)
			memory[i] = seed + i;
		have_bytes = want;
	}
	for (size_t i = 0; i < have_bytes / sizeof(*memory); i += WORDS_A_PAGE)
		if (memory[i] != seed + i)
			wrong("grow");
	free(memory);
}

static void *work(void *arg)
{
	struct job *job = arg;

	for (size_t round = 0; round < job->rounds; round++) {
		double begin = bench_now();

		for (size_t i = 0; i < job->count; i++)
			job->once(job->bytes, round * 31 + i);
		job->seconds[round] = (bench_now() - begin) / (double)job->count;
	}
	return NULL;
}

static void measure(const char *what, void (*once)(size_t, uint64_t), size_t threads, size_t count,
		    const char *size)
{
	static struct job jobs[MOST_THREADS];
	pthread_t ids[MOST_THREADS];
	double medians[MOST_THREADS];
	size_t bytes = bench_bytes(size);
	/*
	 * Kinds that write are limited by bytes; glibc maps and unmaps large blocks, 10 us for each
	 * pair.
	 */
	size_t most = once == spot                    ? 2000
		      : once != pair && once != three ? ((size_t)64 << 20) / bytes
		      : bytes < MAPPED_FROM           ? 200000
						      : 20000;

	bool is_short = once == pair && threads == 1;
	size_t rounds = is_short ? ROUNDS_SHORT : ROUNDS;

	count = count > most ? most : count;
	if (is_short)
		count /= ROUNDS_SHORT / ROUNDS / 2;
	for (size_t i = 0; i < threads; i++) {
		jobs[i] = (struct job){ .once = once,
					.bytes = bytes,
					.count = count == 0 ? 1 : count,
					.rounds = rounds };
		if (pthread_create(&ids[i], NULL, work, &jobs[i]) != 0)
			exit(1);
	}
	for (size_t i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		medians[i] = bench_median(jobs[i].seconds + WARM_UP, rounds - WARM_UP);
		if (is_short) /* the times are sorted now */
			medians[i] = jobs[i].seconds[WARM_UP + (rounds - WARM_UP) / 10];
	}
	bench_report(what, size, medians, threads, 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *what;
		void (*once)(size_t bytes, uint64_t seed);
	} kinds[] = { { "pair", pair }, { "cycle", cycle }, { "calloc", clear }, { "spot", spot },
		      { "grow", grow }, { "creep", creep }, { "three", three } };
	const size_t count = sizeof(kinds) / sizeof(kinds[0]);
	size_t threads = argc > 4 ? strtoull(argv[2], NULL, 10) : 0, kind = 0;

	while (kind < count && argc > 4 && strcmp(argv[1], kinds[kind].what) != 0)
		kind++;
	if (threads == 0 || threads > MOST_THREADS || kind == count) {
		fprintf(stderr, "usage: heap KIND THREADS COUNT SIZE...\n");
		return 2;
	}
	bench_start();
	for (int i = 4; i < argc; i++)
		measure(kinds[kind].what, kinds[kind].once, threads, strtoull(argv[3], NULL, 10),
			argv[i]);
	return 0;
}
