/*
 * launchers.cu - 200 threads that launch kernels at the same time, each with its own CUPTI buffer:
 * the profile must have every kernel.
 *
 *	launchers
 *
 * Then it copies rows, and a number in a direction that the driver finds.  It prints as JSON what
 * it did: copies and bytes by direction, kernels, memsets; launchers.py compares them.  Exit
 * status 0: every kernel ran.
 */
#include "stages/try.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS  200
#define LAUNCHES 500
#define WIDTH    1000
#define HEIGHT   700

static pthread_barrier_t all_there;
static unsigned *ran;

__global__ void count_one(unsigned *sum)
{
	atomicAdd(sum, 1);
}

/* No thread ends before all have launched, so that none inherits another thread's buffer. */
static void *launch(void *)
{
	pthread_barrier_wait(&all_there);
	for (int i = 0; i < LAUNCHES; i++) {
		count_one<<<1, 1>>>(ran);
		TRY(cudaGetLastError());
	}
	pthread_barrier_wait(&all_there);
	return NULL;
}

int main()
{
	pthread_t threads[THREADS];
	char *rows = (char *)calloc(HEIGHT, WIDTH + 24), *plane;
	unsigned sum = 0;
	size_t pitch;

	TRY(cudaMalloc((void **)&ran, sizeof(*ran)));
	TRY(cudaMemset(ran, 0, sizeof(*ran)));
	pthread_barrier_init(&all_there, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, launch, NULL) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	TRY(cudaDeviceSynchronize());
	TRY(cudaMallocPitch((void **)&plane, &pitch, WIDTH, HEIGHT));
	TRY(cudaMemcpy2D(plane, pitch, rows, WIDTH + 24, WIDTH, HEIGHT, cudaMemcpyHostToDevice));
	TRY(cudaMemcpy(&sum, ran, sizeof(sum), cudaMemcpyDefault));
	if (sum != THREADS * LAUNCHES) {
		fprintf(stderr, "launchers: %u kernels ran\n", sum);
		return 1;
	}
	printf("{\"h2d\": [1, %d], \"d2h\": [1, %zu], \"d2d\": [0, 0], \"kernels\": %d, "
	       "\"memsets\": 1}\n",
	       WIDTH * HEIGHT, sizeof(sum), THREADS * LAUNCHES);
	return 0;
}
