/*
 * async.c - asynchronous copies from and to memory of the program, on an idle and on a busy stream.
 *
 *	async malloc|pinned SIZE...
 *
 * For each size, stream and kind of copy: `idle_h2d_return_SIZE` is the time until the call
 * returns, `idle_h2d_done_SIZE` until the stream is complete.  On a busy stream a kernel has just
 * begun.  h2d runs first, while nothing was ever downloaded into the buffer; mixed is h2d after
 * downloads.  Every copy carries a number that must arrive, and all bytes are compared at the end.
 */
#include "kernels.h"

#define KERNEL_NS 300000
#define TURNS     40
#define WARM_UP   5

struct pair {
	uint64_t *memory;
	CUdeviceptr device;
	size_t bytes;
	CUstream stream;
	struct kernels kernels;
	__typeof__(cuMemcpyHtoDAsync_v2) *up;
	__typeof__(cuMemcpyDtoHAsync_v2) *down;
	__typeof__(cuStreamSynchronize) *wait;
	__typeof__(cuMemcpyHtoD_v2) *put;
	__typeof__(cuMemcpyDtoH_v2) *get;
};

static void find(struct pair *pair)
{
	kernels_load(&pair->kernels);
	CU_OK(CU(cuStreamCreate)(&pair->stream, CU_STREAM_DEFAULT));
	pair->up = CU(cuMemcpyHtoDAsync_v2);
	pair->down = CU(cuMemcpyDtoHAsync_v2);
	pair->wait = CU(cuStreamSynchronize);
	pair->put = CU(cuMemcpyHtoD_v2);
	pair->get = CU(cuMemcpyDtoH_v2);
}

/* Makes one copy that carries `number`. */
static void once(const struct pair *pair, int up, int busy, uint64_t number, double *ret_return,
		 double *ret_done)
{
	if (up) {
		pair->memory[0] = number;
	} else {
		CU_OK(pair->put(pair->device, &number, sizeof(number)));
		pair->memory[0] = ~number;
	}
	CU_OK(pair->wait(pair->stream));
	if (busy)
		kernels_spin(&pair->kernels, pair->stream, KERNEL_NS);
	double begin = bench_now();
	if (up)
		CU_OK(pair->up(pair->device, pair->memory, pair->bytes, pair->stream));
	else
		CU_OK(pair->down(pair->memory, pair->device, pair->bytes, pair->stream));
	*ret_return = bench_now() - begin;
	CU_OK(pair->wait(pair->stream));
	*ret_done = bench_now() - begin;
	uint64_t arrived = pair->memory[0];
	if (up)
		CU_OK(pair->get(&arrived, pair->device, sizeof(arrived)));
	if (arrived != number) {
		fprintf(stderr, "wrong bytes: async, copy %llu\n", (unsigned long long)number);
		exit(1);
	}
}

static void measure(struct pair *pair, const char *kind, const char *size)
{
	static const struct {
		const char *name;
		int up, busy;
	} states[] = {
		{ "idle_h2d", 1, 0 }, { "busy_h2d", 1, 1 },   { "idle_d2h", 0, 0 },
		{ "busy_d2h", 0, 1 }, { "idle_mixed", 1, 0 }, { "busy_mixed", 1, 1 },
	};
	double returned[TURNS], done[TURNS];
	char name[64];

	pair->bytes = bench_bytes(size);
	pair->memory = bench_allocate(kind, pair->bytes);
	CU_OK(CU(cuMemAlloc_v2)(&pair->device, pair->bytes));
	bench_fill(pair->memory, pair->bytes, 9);
	for (size_t state = 0; state < sizeof(states) / sizeof(states[0]); state++) {
		for (size_t i = 0; i < TURNS; i++)
			once(pair, states[state].up, states[state].busy, i, &returned[i], &done[i]);
		snprintf(name, sizeof(name), "%s_return", states[state].name);
		bench_report(name, size, returned, TURNS, WARM_UP);
		snprintf(name, sizeof(name), "%s_done", states[state].name);
		bench_report(name, size, done, TURNS, WARM_UP);
	}
	/* Compares all bytes in both directions, by memory that held none of them. */
	double ignored;
	uint64_t seed = 9;
	once(pair, 1, 0, bench_random(&seed), &ignored, &ignored);
	memset(pair->memory, 0, pair->bytes);
	CU_OK(pair->down(pair->memory, pair->device, pair->bytes, pair->stream));
	CU_OK(pair->wait(pair->stream));
	bench_check(pair->memory, pair->bytes, 9, "async");
	bench_free(kind, pair->memory);
	CU_OK(CU(cuMemFree_v2)(pair->device));
}

int main(int argc, char **argv)
{
	struct pair pair;

	if (argc < 3) {
		fprintf(stderr, "usage: async malloc|pinned SIZE...\n");
		return 2;
	}
	bench_start();
	find(&pair);
	for (int i = 2; i < argc; i++)
		measure(&pair, argv[1], argv[i]);
	return 0;
}
