/*
 * launch.c - many empty kernels, or many small copies, and nothing else.
 *
 *	launch kernels|copies COUNT
 *
 * `launch` or `copy`: the whole by COUNT, the final wait included.
 */
#include "kernels.h"

#define BYTES 4096

static double launches(size_t count)
{
	struct kernels kernels;

	kernels_load(&kernels);
	for (int i = 0; i < 1000; i++)
		kernels_nothing(&kernels, NULL);
	CU_OK(CU(cuCtxSynchronize)());
	double begin = bench_now();
	for (size_t i = 0; i < count; i++)
		kernels_nothing(&kernels, NULL);
	CU_OK(CU(cuCtxSynchronize)());
	return bench_now() - begin;
}

static double copies(size_t count)
{
	static uint64_t memory[BYTES / 8], back[BYTES / 8];
	__typeof__(cuMemcpyHtoD_v2) *copy = CU(cuMemcpyHtoD_v2);
	CUdeviceptr device;

	CU_OK(CU(cuMemAlloc_v2)(&device, BYTES));
	bench_fill(memory, BYTES, 3);
	for (int i = 0; i < 100; i++)
		CU_OK(copy(device, memory, BYTES));
	double begin = bench_now();
	for (size_t i = 0; i < count; i++) {
		memory[0] = i;
		CU_OK(copy(device, memory, BYTES));
	}
	CU_OK(CU(cuCtxSynchronize)());
	double spent = bench_now() - begin;
	CU_OK(CU(cuMemcpyDtoH_v2)(back, device, BYTES));
	bench_same(back, memory, BYTES, "copies");
	return spent;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: launch kernels|copies COUNT\n");
		return 2;
	}
	size_t count = strtoull(argv[2], NULL, 10);
	int kernels = strcmp(argv[1], "kernels") == 0;

	bench_start();
	double spent = kernels ? launches(count) : copies(count);
	printf("%s %.9g\n", kernels ? "launch" : "copy", spent / (double)count);
	return 0;
}
