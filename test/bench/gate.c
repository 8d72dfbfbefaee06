/*
 * gate.c - what it costs that a driver call goes through hotpin.
 *
 *	gate [CALLS]
 *
 * Run under hotpin.  Calls the same functions by the address that dlsym() hands out and by the
 * driver's own, in turns, and prints the median of each in nanoseconds a call:
 * `name ours_ns own_ns difference_ns`.
 */
#define _GNU_SOURCE
#include "bench.h"

#define ROUNDS 15

/* The driver's own functions: libc's dlsym by version is not the one that was preloaded. */
static void *own(const char *name)
{
	typedef void *(*dlsym_fn)(void *handle, const char *symbol);
	dlsym_fn look_up = (dlsym_fn)dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.34");
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

	if (libc != NULL)
		look_up = (dlsym_fn)dlvsym(libc, "dlsym", "GLIBC_2.34");
	return look_up(dlopen("libcuda.so.1", RTLD_NOW), name);
}

/* An empty kernel, compiled by the driver. */
static const char image[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
			    ".visible .entry nothing() { ret; }\n";

static CUfunction kernel;
static CUevent event;

static double time_query(void *function, size_t calls)
{
	__typeof__(cuEventQuery) *query = (__typeof__(cuEventQuery) *)function;
	double begin = bench_now();

	for (size_t i = 0; i < calls; i++)
		query(event);
	return (bench_now() - begin) * 1e9 / (double)calls;
}

static double time_launch(void *function, size_t calls)
{
	__typeof__(cuLaunchKernel) *launch = (__typeof__(cuLaunchKernel) *)function;
	double begin = bench_now();

	for (size_t i = 0; i < calls; i++)
		CU_OK(launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	double spent = bench_now() - begin;
	CU_OK(CU(cuCtxSynchronize)());
	return spent * 1e9 / (double)calls;
}

static void compare(const char *name, double (*measure)(void *, size_t), size_t calls)
{
	double ours[ROUNDS], theirs[ROUNDS];
	void *our_address = bench_find(name), *own_address = own(name);

	if (our_address == own_address)
		fprintf(stderr, "gate: %s is not ours: not under hotpin?\n", name);
	measure(own_address, calls);
	for (int round = 0; round < ROUNDS; round++) {
		ours[round] = measure(our_address, calls);
		theirs[round] = measure(own_address, calls);
	}
	double a = bench_median(ours, ROUNDS), b = bench_median(theirs, ROUNDS);
	printf("%s %.1f %.1f %.1f\n", name, a, b, a - b);
}

int main(int argc, char **argv)
{
	size_t calls = argc > 1 ? strtoull(argv[1], NULL, 0) : 100000;
	CUmodule module;

	bench_start();
	CU_OK(CU(cuModuleLoadData)(&module, image));
	CU_OK(CU(cuModuleGetFunction)(&kernel, module, "nothing"));
	CU_OK(CU(cuEventCreate)(&event, 0));
	compare("cuEventQuery", time_query, calls);
	compare("cuLaunchKernel", time_launch, calls / 10);
	return 0;
}
