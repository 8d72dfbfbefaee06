/*
 * async.c - asynchronous copies from and to memory of the program, on an idle and a busy stream.
 *
 *	async malloc|pinned SIZE...
 *
 * For each size, direction and state of the stream: `idle_h2d_return_SIZE` is until the call comes
 * back, `..._done_SIZE` until the stream is through.  On the busy stream a kernel has just begun.
 * Every copy carries a number that must arrive, and all bytes are compared in the end.
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
};

/* One copy that carries number. */
static void once(const struct pair *pair, int up, int busy, uint64_t number, double *ret_return,
		 double *ret_done)
{
	__typeof__(cuMemcpyHtoDAsync_v2) *to_device = CU(cuMemcpyHtoDAsync_v2);
	__typeof__(cuMemcpyDtoHAsync_v2) *to_host = CU(cuMemcpyDtoHAsync_v2);
	__typeof__(cuStreamSynchronize) *wait = CU(cuStreamSynchronize);

	if (up) {
		pair->memory[0] = number;
	} else {
		CU_OK(CU(cuMemcpyHtoD_v2)(pair->device, &number, sizeof(number)));
		pair->memory[0] = ~number;
	}
	CU_OK(wait(pair->stream));
	if (busy)
		kernels_spin(&pair->kernels, pair->stream, KERNEL_NS);
	double begin = bench_now();
	CU_OK(up ? to_device(pair->device, pair->memory, pair->bytes, pair->stream)
		 : to_host(pair->memory, pair->device, pair->bytes, pair->stream));
	*ret_return = bench_now() - begin;
	CU_OK(wait(pair->stream));
	*ret_done = bench_now() - begin;
	uint64_t arrived = pair->memory[0];
	if (up)
		CU_OK(CU(cuMemcpyDtoH_v2)(&arrived, pair->device, sizeof(arrived)));
	if (arrived != number) {
		fprintf(stderr, "wrong bytes: async, copy %llu\n", (unsigned long long)number);
		exit(1);
	}
}

static void measure(struct pair *pair, const char *kind, const char *size)
{
	double returned[TURNS], done[TURNS];
	char name[64];

	pair->bytes = bench_bytes(size);
	pair->memory = bench_allocate(kind, pair->bytes);
	CU_OK(CU(cuMemAlloc_v2)(&pair->device, pair->bytes));
	bench_fill(pair->memory, pair->bytes, 9);
	for (int state = 0; state < 4; state++) {
		int busy = state / 2, up = state % 2 == 0;

		for (size_t i = 0; i < TURNS; i++)
			once(pair, up, busy, i, &returned[i], &done[i]);
		snprintf(name, sizeof(name), "%s_%s_return", busy ? "busy" : "idle",
			 up ? "h2d" : "d2h");
		bench_report(name, size, returned, TURNS, WARM_UP);
		snprintf(name, sizeof(name), "%s_%s_done", busy ? "busy" : "idle",
			 up ? "h2d" : "d2h");
		bench_report(name, size, done, TURNS, WARM_UP);
	}
	uint64_t seed = 9;
	pair->memory[0] = bench_random(&seed);
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
	kernels_load(&pair.kernels);
	CU_OK(CU(cuStreamCreate)(&pair.stream, CU_STREAM_DEFAULT));
	for (int i = 2; i < argc; i++)
		measure(&pair, argv[1], argv[i]);
	return 0;
}
