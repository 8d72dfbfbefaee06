/*
 * uploads.c - small uploads between long kernels, with work for the CPU next to them.
 *
 *	uploads malloc|pinned TURNS SIZE...
 *
 * A turn is four uploads, a kernel of 1 ms that reads them, and 1 ms of CPU work.  malloc is the
 * first version of a program, all on the legacy stream: its first upload waits for the kernel of
 * the previous turn.  pinned is the hand-tuned version: asynchronous copies from two pinned buffers
 * in turns.  `turn_SIZE` is the total time divided by the number of turns, `upload_SIZE` the host
 * time of one upload.  Every kernel's result is compared.
 */
#include "kernels.h"

#define MOST     1000
#define UPLOADS  4
#define STAGE_NS 1000000

struct uploads {
	struct kernels kernels;
	size_t bytes; /* of one upload */
	int hand_tuned;
	uint64_t *memory[2];
	CUevent read[2]; /* hand-tuned: recorded after the device has read that buffer */
	CUdeviceptr device, results;
	__typeof__(cuMemcpyHtoD_v2) *copy;
	__typeof__(cuMemcpyHtoDAsync_v2) *enqueue;
	__typeof__(cuEventRecord) *record;
	__typeof__(cuEventSynchronize) *wait;
	size_t turns;
	double seconds[MOST];
};

static void work(void)
{
	double end = bench_now() + STAGE_NS * 1e-9;

	while (bench_now() < end)
		;
}

static uint64_t fold(const uint64_t *words, size_t bytes)
{
	uint64_t folded = 0;

	for (size_t i = 0; i < bytes / sizeof(*words); i++)
		folded ^= words[i];
	return folded;
}

/* Returns the value that the kernel must find. */
static uint64_t turn(struct uploads *my, size_t number)
{
	uint64_t *memory = my->memory[my->hand_tuned ? number % 2 : 0];
	size_t all = my->bytes * UPLOADS, words = my->bytes / sizeof(uint64_t);

	if (my->hand_tuned)
		CU_OK(my->wait(my->read[number % 2]));
	bench_fill(memory, all, number);
	double begin = bench_now();
	for (size_t i = 0; i < UPLOADS; i++) {
		CUdeviceptr to = my->device + i * my->bytes;

		if (my->hand_tuned)
			CU_OK(my->enqueue(to, memory + i * words, my->bytes, NULL));
		else
			CU_OK(my->copy(to, memory + i * words, my->bytes));
	}
	my->seconds[number] = (bench_now() - begin) / UPLOADS;
	if (my->hand_tuned)
		CU_OK(my->record(my->read[number % 2], NULL));
	kernels_consume(&my->kernels, NULL, my->device, all / sizeof(uint64_t),
			my->results + number * sizeof(uint64_t), STAGE_NS);
	work();
	return fold(memory, all);
}

static void measure(struct uploads *my, const char *kind, const char *size)
{
	uint64_t wanted[MOST], found[MOST];
	size_t answers = my->turns * sizeof(uint64_t);

	my->bytes = bench_bytes(size);
	for (size_t i = 0; i < 2; i++)
		my->memory[i] = bench_allocate(kind, my->bytes * UPLOADS);
	CU_OK(CU(cuMemAlloc_v2)(&my->device, my->bytes * UPLOADS));
	CU_OK(CU(cuMemsetD8_v2)(my->results, 0, answers));
	CU_OK(CU(cuCtxSynchronize)());
	double begin = bench_now();
	for (size_t i = 0; i < my->turns; i++)
		wanted[i] = turn(my, i);
	CU_OK(CU(cuCtxSynchronize)());
	double each = (bench_now() - begin) / (double)my->turns;
	CU_OK(CU(cuMemcpyDtoH_v2)(found, my->results, answers));
	bench_same(found, wanted, answers, "uploads");
	bench_report("turn", size, &each, 1, 0);
	bench_report("upload", size, my->seconds, my->turns, my->turns / 5);
	for (size_t i = 0; i < 2; i++)
		bench_free(kind, my->memory[i]);
	CU_OK(CU(cuMemFree_v2)(my->device));
}

int main(int argc, char **argv)
{
	static struct uploads uploads;

	uploads.turns = argc < 4 ? 0 : strtoul(argv[2], NULL, 10);
	if (uploads.turns == 0 || uploads.turns > MOST) {
		fprintf(stderr, "usage: uploads malloc|pinned TURNS SIZE...\n");
		return 2;
	}
	bench_start();
	kernels_load(&uploads.kernels);
	uploads.hand_tuned = strcmp(argv[1], "pinned") == 0;
	uploads.copy = CU(cuMemcpyHtoD_v2);
	uploads.enqueue = CU(cuMemcpyHtoDAsync_v2);
	uploads.record = CU(cuEventRecord);
	uploads.wait = CU(cuEventSynchronize);
	for (size_t i = 0; i < 2; i++)
		CU_OK(CU(cuEventCreate)(&uploads.read[i], CU_EVENT_DISABLE_TIMING));
	CU_OK(CU(cuMemAlloc_v2)(&uploads.results, MOST * sizeof(uint64_t)));
	for (int i = 3; i < argc; i++)
		measure(&uploads, argv[1], argv[i]);
	return 0;
}
