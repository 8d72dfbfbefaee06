/*
 * overlap.c - fills a buffer, uploads it, and runs a kernel on it; repeatedly.
 *
 *	overlap malloc|pinned SIZE TURNS
 *
 * The fill and the kernel take 2 ms each.  malloc is the first version of a program, with one
 * buffer and synchronous copies.  pinned is the hand-tuned version: two pinned buffers, two device
 * buffers, asynchronous copies on a separate stream, events.  `turn_SIZE` is the total time divided
 * by the number of turns.  Every kernel's result is compared.
 */
#include "kernels.h"

#define STAGE_NS  2000000
#define TEMPLATES 4

struct overlap {
	struct kernels kernels;
	size_t bytes;
	uint64_t *templates[TEMPLATES]; /* data of fill(), by turn */
	uint64_t folded[TEMPLATES];
	CUdeviceptr results; /* one word for each turn */
};

static void prepare(struct overlap *overlap, size_t bytes, size_t turns)
{
	overlap->bytes = bytes;
	kernels_load(&overlap->kernels);
	for (size_t t = 0; t < TEMPLATES; t++) {
		overlap->templates[t] = malloc(bytes);
		bench_fill(overlap->templates[t], bytes, t);
		for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
			overlap->folded[t] ^= overlap->templates[t][i];
	}
	CU_OK(CU(cuMemAlloc_v2)(&overlap->results, turns * sizeof(uint64_t)));
	CU_OK(CU(cuMemsetD8_v2)(overlap->results, 0, turns * sizeof(uint64_t)));
}

static void fill(const struct overlap *overlap, void *memory, size_t turn)
{
	double begin = bench_now();

	memcpy(memory, overlap->templates[turn % TEMPLATES], overlap->bytes);
	while (bench_now() < begin + STAGE_NS * 1e-9)
		;
}

static void consume(const struct overlap *overlap, CUstream stream, CUdeviceptr in, size_t turn)
{
	kernels_consume(&overlap->kernels, stream, in, overlap->bytes / sizeof(uint64_t),
			overlap->results + turn * sizeof(uint64_t), STAGE_NS);
}

static double as_written(const struct overlap *overlap, size_t turns)
{
	__typeof__(cuMemcpyHtoD_v2) *copy = CU(cuMemcpyHtoD_v2);
	void *memory = bench_allocate("malloc", overlap->bytes);
	CUdeviceptr device;

	CU_OK(CU(cuMemAlloc_v2)(&device, overlap->bytes));
	double begin = bench_now();
	for (size_t turn = 0; turn < turns; turn++) {
		fill(overlap, memory, turn);
		CU_OK(copy(device, memory, overlap->bytes));
		consume(overlap, NULL, device, turn);
	}
	CU_OK(CU(cuCtxSynchronize)());
	return (bench_now() - begin) / (double)turns;
}

static double hand_tuned(const struct overlap *overlap, size_t turns)
{
	__typeof__(cuMemcpyHtoDAsync_v2) *copy = CU(cuMemcpyHtoDAsync_v2);
	__typeof__(cuEventRecord) *record = CU(cuEventRecord);
	__typeof__(cuEventSynchronize) *wait = CU(cuEventSynchronize);
	__typeof__(cuStreamWaitEvent) *order = CU(cuStreamWaitEvent);
	CUstream copies, kernels;
	CUevent copied[2], consumed[2];
	CUdeviceptr device[2];
	void *memory[2];

	CU_OK(CU(cuStreamCreate)(&copies, CU_STREAM_NON_BLOCKING));
	CU_OK(CU(cuStreamCreate)(&kernels, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 2; i++) {
		memory[i] = bench_allocate("pinned", overlap->bytes);
		CU_OK(CU(cuMemAlloc_v2)(&device[i], overlap->bytes));
		CU_OK(CU(cuEventCreate)(&copied[i], CU_EVENT_DISABLE_TIMING));
		CU_OK(CU(cuEventCreate)(&consumed[i], CU_EVENT_DISABLE_TIMING));
	}
	/*
	 * The memset of the results was on the default stream, which the two streams do not wait
	 * for.
	 */
	CU_OK(CU(cuCtxSynchronize)());
	double begin = bench_now();
	for (size_t turn = 0; turn < turns; turn++) {
		size_t i = turn % 2;

		CU_OK(wait(copied[i]));
		fill(overlap, memory[i], turn);
		CU_OK(order(copies, consumed[i], 0));
		CU_OK(copy(device[i], memory[i], overlap->bytes, copies));
		CU_OK(record(copied[i], copies));
		CU_OK(order(kernels, copied[i], 0));
		consume(overlap, kernels, device[i], turn);
		CU_OK(record(consumed[i], kernels));
	}
	CU_OK(CU(cuCtxSynchronize)());
	return (bench_now() - begin) / (double)turns;
}

int main(int argc, char **argv)
{
	struct overlap overlap = { 0 };

	if (argc != 4) {
		fprintf(stderr, "usage: overlap malloc|pinned SIZE TURNS\n");
		return 2;
	}
	size_t turns = strtoull(argv[3], NULL, 10);

	bench_start();
	/* The first run is warm-up: of code, pages and pins. */
	prepare(&overlap, bench_bytes(argv[2]), turns);
	double (*run)(const struct overlap *, size_t) =
		strcmp(argv[1], "pinned") == 0 ? hand_tuned : as_written;
	run(&overlap, turns < 4 ? turns : 4);
	CU_OK(CU(cuMemsetD8_v2)(overlap.results, 0, turns * sizeof(uint64_t)));
	double turn_s = run(&overlap, turns);

	uint64_t *results = malloc(turns * sizeof(uint64_t));
	CU_OK(CU(cuMemcpyDtoH_v2)(results, overlap.results, turns * sizeof(uint64_t)));
	for (size_t turn = 0; turn < turns; turn++)
		if (results[turn] != overlap.folded[turn % TEMPLATES]) {
			fprintf(stderr, "wrong bytes: overlap, turn %zu\n", turn);
			return 1;
		}
	printf("turn_%s %.9g\n", argv[2], turn_s);
	return 0;
}
