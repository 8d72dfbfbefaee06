/*
 * heap.c - the allocator under a program that hardly copies.
 *
 *	heap pair THREADS COUNT SIZE...	malloc and free, the memory not touched
 *	heap cycle THREADS COUNT SIZE...	malloc, write all of it, free
 *	heap calloc THREADS COUNT SIZE...	calloc, read and write a word a page, free
 *	heap grow THREADS COUNT SIZE...	realloc from 64 KiB to SIZE by doubling, writing what is new
 *
 * `WHAT_SIZE`: one of it, per thread, by the median of rounds of COUNT at most.  The device is
 * in use by then, as it is in the programs that hotpin is for.  What was written must still be
 * there before it is freed.
 */
#include "bench.h"

#include <pthread.h>

#define ROUNDS       15
#define WARM_UP      2
#define MOST_THREADS 64
#define MAPPED_FROM  ((size_t)1 << 20)
#define WORDS_A_PAGE (4096 / sizeof(uint64_t))

struct job {
	void (*once)(size_t bytes, uint64_t seed);
	size_t bytes, count;
	double seconds[ROUNDS];
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
	/* Volatile, or the compiler drops both calls. */
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

	for (size_t round = 0; round < ROUNDS; round++) {
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
	/* What writes is bounded by bytes; glibc maps and unmaps big blocks, 10 us a pair. */
	size_t most = once != pair          ? ((size_t)32 << 20) / bytes
		      : bytes < MAPPED_FROM ? 200000
					    : 20000;

	count = count > most ? most : count;
	for (size_t i = 0; i < threads; i++) {
		jobs[i] = (struct job){ .once = once,
					.bytes = bytes,
					.count = count == 0 ? 1 : count };
		if (pthread_create(&ids[i], NULL, work, &jobs[i]) != 0)
			exit(1);
	}
	for (size_t i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		medians[i] = bench_median(jobs[i].seconds + WARM_UP, ROUNDS - WARM_UP);
	}
	bench_report(what, size, medians, threads, 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *what;
		void (*once)(size_t bytes, uint64_t seed);
	} kinds[] = { { "pair", pair }, { "cycle", cycle }, { "calloc", clear }, { "grow", grow } };
	size_t threads = argc > 4 ? strtoull(argv[2], NULL, 10) : 0, kind = 0;

	while (kind < 4 && argc > 4 && strcmp(argv[1], kinds[kind].what) != 0)
		kind++;
	if (threads == 0 || threads > MOST_THREADS || kind == 4) {
		fprintf(stderr, "usage: heap pair|cycle|calloc|grow THREADS COUNT SIZE...\n");
		return 2;
	}
	bench_start();
	for (int i = 4; i < argc; i++)
		measure(kinds[kind].what, kinds[kind].once, threads, strtoull(argv[3], NULL, 10),
			argv[i]);
	return 0;
}
