/*
 * launch.c - many empty kernels, small copies, or trivial calls, and nothing else.
 *
 *	launch kernels|copies|calls|waits COUNT
 *
 * `launch` or `copy` is the total time divided by COUNT, including the final wait; the device may
 * limit it.  `launch_call`, `copy_call` are the host's part alone, of a quarter of COUNT in bursts
 * that begin with an idle device and fill no queue.  `call` is the time of cuCtxGetCurrent(),
 * measured after profiling has started.  `launch_wait` and `launch_get` are an empty kernel and a
 * wait for it, or a download of 8 bytes behind it; the program has freed buffers that hotpin had
 * pinned, and is never idle for long enough that they could be unpinned.
 */
#include "kernels.h"

#define BYTES     4096
#define BURST     128
#define WARM_UP_S 0.5e-6 /* for each call */

/* Freed buffers, and the time after which they have expired. */
#define BLOCKS    4
#define BLOCK     ((size_t)16 << 20)
#define COPIES    12
#define EXPIRY_S  2.5

/* One operation, with the number `i`. */
struct work {
	struct kernels kernels;
	CUdeviceptr device;
	uint64_t memory[BYTES / 8];
	__typeof__(cuMemcpyHtoD_v2) *copy; /* NULL: kernels */
};

static inline void operate(struct work *work, size_t i)
{
	if (work->copy == NULL) {
		kernels_nothing(&work->kernels, NULL);
		return;
	}
	work->memory[0] = i;
	CU_OK(work->copy(work->device, work->memory, BYTES));
}

static double in_a_row(struct work *work, size_t count)
{
	double begin = bench_now();

	for (size_t i = 0; i < count; i++)
		operate(work, i);
	CU_OK(CU(cuCtxSynchronize)());
	return (bench_now() - begin) / (double)count;
}

static double in_bursts(struct work *work, size_t count)
{
	__typeof__(cuCtxSynchronize) *wait = CU(cuCtxSynchronize);
	double spent = 0;
	size_t done = 0;

	while (done == 0 || done < count / 4) {
		double begin = bench_now();

		for (int i = 0; i < BURST; i++)
			operate(work, done++);
		spent += bench_now() - begin;
		CU_OK(wait());
	}
	return spent / (double)done;
}

static double of_calls(size_t count)
{
	__typeof__(cuCtxGetCurrent) *call = CU(cuCtxGetCurrent);
	CUcontext context;
	double begin = bench_now();

	while (bench_now() - begin < (double)count * WARM_UP_S)
		CU_OK(call(&context));
	begin = bench_now();
	for (size_t i = 0; i < count; i++)
		CU_OK(call(&context));
	return (bench_now() - begin) / (double)count;
}

static void free_hot_blocks(void)
{
	CUdeviceptr device;

	CU_OK(CU(cuMemAlloc_v2)(&device, BLOCK));
	for (int i = 0; i < BLOCKS; i++) {
		void *block = bench_allocate("malloc", BLOCK);

		bench_fill(block, BLOCK, 3);
		for (int copy = 0; copy < COPIES; copy++)
			CU_OK(CU(cuMemcpyHtoD_v2)(device, block, BLOCK));
		bench_free("malloc", block);
	}
}

static double with_waits(struct work *work, size_t count)
{
	__typeof__(cuCtxSynchronize) *wait = CU(cuCtxSynchronize);
	double begin = bench_now();

	for (size_t i = 0; i < count; i++) {
		kernels_nothing(&work->kernels, NULL);
		CU_OK(wait());
	}
	return (bench_now() - begin) / (double)count;
}

static double with_downloads(struct work *work, size_t count)
{
	__typeof__(cuMemcpyDtoH_v2) *get = CU(cuMemcpyDtoH_v2);
	double begin = bench_now();

	for (size_t i = 0; i < count; i++) {
		kernels_nothing(&work->kernels, NULL);
		CU_OK(get(work->memory, work->device, sizeof(work->memory[0])));
	}
	return (bench_now() - begin) / (double)count;
}

static void measure_waits(struct work *work, size_t count)
{
	kernels_load(&work->kernels);
	CU_OK(CU(cuMemAlloc_v2)(&work->device, BYTES));
	free_hot_blocks();
	double begin = bench_now();
	while (bench_now() - begin < EXPIRY_S)
		with_waits(work, BURST);
	printf("launch_wait %.9g\n", with_waits(work, count));
	printf("launch_get %.9g\n", with_downloads(work, count));
}

int main(int argc, char **argv)
{
	static uint64_t back[BYTES / 8];
	static struct work work;

	if (argc != 3) {
		fprintf(stderr, "usage: launch kernels|copies|calls|waits COUNT\n");
		return 2;
	}
	size_t count = strtoull(argv[2], NULL, 10);
	int kernels = strcmp(argv[1], "kernels") == 0;

	bench_start();
	if (strcmp(argv[1], "calls") == 0) {
		printf("call %.9g\n", of_calls(count));
		return 0;
	}
	if (strcmp(argv[1], "waits") == 0) {
		measure_waits(&work, count);
		return 0;
	}
	if (kernels) {
		kernels_load(&work.kernels);
	} else {
		work.copy = CU(cuMemcpyHtoD_v2);
		CU_OK(CU(cuMemAlloc_v2)(&work.device, BYTES));
		bench_fill(work.memory, BYTES, 3);
	}
	for (size_t i = 0; i < 1000; i++)
		operate(&work, i);
	CU_OK(CU(cuCtxSynchronize)());
	printf("%s %.9g\n", kernels ? "launch" : "copy", in_a_row(&work, count));
	printf("%s_call %.9g\n", kernels ? "launch" : "copy", in_bursts(&work, count));
	if (!kernels) {
		CU_OK(CU(cuMemcpyDtoH_v2)(back, work.device, BYTES));
		bench_same(back, work.memory, BYTES, "copies");
	}
	return 0;
}
