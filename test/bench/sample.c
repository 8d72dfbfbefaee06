/*
 * sample.c - the cost of sampling host code, in threads that compute.
 *
 *	sample THREADS COUNT
 *
 * `busy_THREADS` is the CPU time of the process, including hotpin's threads, for COUNT pieces of
 * work in each thread.  `wall_THREADS` is the elapsed time of all of them.  The device is
 * initialized but not used.
 */
#include "bench.h"

#include <pthread.h>

static size_t count;
static double results[1024];

/* Frames for a sample to follow. */
__attribute__((noinline)) static double descend(unsigned depth, double value)
{
	if (depth > 0)
		return descend(depth - 1, value) + 1;
	for (unsigned i = 0; i < 100000; i++)
		value = value * 0.999 + i;
	return value;
}

static void *work(void *result)
{
	double value = 0;

	for (size_t i = 0; i < count; i++)
		value = descend(10, value);
	*(double *)result = value;
	return NULL;
}

static double cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	pthread_t threads[1024];
	size_t thread_count = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;

	count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	if (thread_count == 0 || thread_count > 1024 || count == 0) {
		fprintf(stderr, "usage: sample THREADS COUNT\n");
		return 2;
	}
	if (CU(cuInit)(0) != CUDA_SUCCESS)
		return 77;
	double wall = bench_now(), busy = cpu_now();
	for (size_t i = 0; i < thread_count; i++)
		if (pthread_create(&threads[i], NULL, work, &results[i]) != 0)
			return 1;
	for (size_t i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	printf("busy_%zu %.9f\n", thread_count, cpu_now() - busy);
	printf("wall_%zu %.9f\n", thread_count, bench_now() - wall);
	for (size_t i = 1; i < thread_count; i++)
		if (results[i] != results[0])
			return 1;
	return 0;
}
