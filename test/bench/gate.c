/*
 * gate.c - the cost of routing a driver call through hotpin.
 *
 *	gate CALLS THREADS
 *
 * It calls the same functions by the address that dlsym() returns and by the driver's own, in
 * turns.  Both then run in the same process at the same time; differences of nanoseconds would be
 * lost between two processes.  `NAME@hotpin` and `NAME@plain` are the times of a call.  With
 * THREADS, so many threads launch empty kernels at the same time, each on its own stream.
 */
#define _GNU_SOURCE
#include "kernels.h"

#include <pthread.h>

#define ROUNDS       21
#define MOST_THREADS 64

struct thread {
	pthread_t id;
	struct kernels kernels;
	CUcontext context;
	CUstream stream;
	size_t calls;
	double seconds; /* of one call */
};

static size_t thread_count;
static struct thread threads[MOST_THREADS];
static struct kernels kernels;
static CUevent event;

/* Finds the driver's own function: libc's dlsym by version bypasses the preloaded one. */
static void *own(const char *name)
{
	typedef void *(*dlsym_fn)(void *handle, const char *symbol);
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	dlsym_fn look_up = (dlsym_fn)dlvsym(libc, "dlsym", "GLIBC_2.34");

	if (look_up == NULL)
		look_up = (dlsym_fn)dlvsym(libc, "dlsym", "GLIBC_2.2.5");
	if (look_up == NULL) {
		fprintf(stderr, "skipped: no dlsym of libc's by a version that is known here\n");
		exit(77);
	}
	return look_up(dlopen("libcuda.so.1", RTLD_NOW), name);
}

static double time_query(void *function, size_t calls)
{
	__typeof__(cuEventQuery) *query = (__typeof__(cuEventQuery) *)function;
	double begin = bench_now();

	for (size_t i = 0; i < calls; i++)
		query(event);
	return (bench_now() - begin) / (double)calls;
}

static double time_launch(void *function, size_t calls)
{
	struct kernels by = kernels;

	by.launch = (__typeof__(cuLaunchKernel) *)function;
	double begin = bench_now();
	for (size_t i = 0; i < calls; i++)
		kernels_nothing(&by, NULL);
	double spent = bench_now() - begin;
	CU_OK(CU(cuCtxSynchronize)());
	return spent / (double)calls;
}

static void *launch_many(void *arg)
{
	struct thread *thread = arg;

	CU_OK(CU(cuCtxSetCurrent)(thread->context));
	double begin = bench_now();
	for (size_t i = 0; i < thread->calls; i++)
		kernels_nothing(&thread->kernels, thread->stream);
	thread->seconds = (bench_now() - begin) / (double)thread->calls;
	return NULL;
}

/* Returns the time of a call in a thread, averaged over the threads. */
static double time_threads(void *function, size_t calls)
{
	double sum = 0;

	for (size_t i = 0; i < thread_count; i++) {
		struct thread *thread = &threads[i];

		thread->kernels = kernels;
		thread->kernels.launch = (__typeof__(cuLaunchKernel) *)function;
		thread->calls = calls;
		CU_OK(CU(cuCtxGetCurrent)(&thread->context));
		if (thread->stream == NULL)
			CU_OK(CU(cuStreamCreate)(&thread->stream, CU_STREAM_NON_BLOCKING));
		if (pthread_create(&thread->id, NULL, launch_many, thread) != 0)
			exit(1);
	}
	for (size_t i = 0; i < thread_count; i++) {
		pthread_join(threads[i].id, NULL);
		sum += threads[i].seconds;
	}
	CU_OK(CU(cuCtxSynchronize)());
	return sum / (double)thread_count;
}

static void compare(const char *label, const char *name, double (*measure)(void *, size_t),
		    size_t calls)
{
	double ours[ROUNDS], theirs[ROUNDS];
	void *our_address = bench_find(name), *own_address = own(name);

	if (our_address == own_address)
		fprintf(stderr, "gate: %s is not ours: not under hotpin?\n", name);
	measure(own_address, calls);
	for (int round = 0; round < ROUNDS; round++) {
		/* The second measurement finds warm caches, so the order alternates. */
		if (round % 2 == 0)
			ours[round] = measure(our_address, calls);
		theirs[round] = measure(own_address, calls);
		if (round % 2 != 0)
			ours[round] = measure(our_address, calls);
	}
	printf("%s@hotpin %.9g\n", label, bench_median(ours, ROUNDS));
	printf("%s@plain %.9g\n", label, bench_median(theirs, ROUNDS));
}

int main(int argc, char **argv)
{
	if (argc != 3 || strtoull(argv[2], NULL, 10) > MOST_THREADS) {
		fprintf(stderr, "usage: gate CALLS THREADS\n");
		return 2;
	}
	size_t calls = strtoull(argv[1], NULL, 10);

	thread_count = strtoull(argv[2], NULL, 10);
	bench_start();
	kernels_load(&kernels);
	CU_OK(CU(cuEventCreate)(&event, 0));
	compare("query", "cuEventQuery", time_query, calls);
	compare("launch", "cuLaunchKernel", time_launch, calls / 10);
	if (thread_count != 0)
		compare("threads", "cuLaunchKernel", time_threads, calls / 10 / thread_count);
	return 0;
}
