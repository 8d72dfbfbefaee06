/*
 * demo.cu - an early stage of a port from CPU to CUDA, as such programs are written.
 *
 * Two loops of a simulation have become kernels.  The rest still runs on the host, so arrays from
 * malloc() are uploaded and downloaded around every kernel.  The factors are powers of two: device
 * and host round alike, with or without fused multiply-add, and every bit of the result can be
 * checked.
 *
 *	demo [-t] [MiB-per-array [steps]]
 *
 * prints checksums, and with -t the seconds that the steps took.  Exit status 0: the result is
 * right; 1: it is wrong, or CUDA failed.
 */
#include "stages/try.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS 256
#define WINDOW  4096

struct simulation {
	size_t cells, bytes;
	float *field, *next, *total;                      /* on the host */
	float *device_field, *device_next, *device_total; /* on the device */
};

extern "C" __global__ void smooth(float *next, const float *field, unsigned long long cells)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= cells)
		return;
	if (i == 0 || i == cells - 1)
		next[i] = field[i];
	else
		next[i] = (field[i - 1] + 2 * field[i] + field[i + 1]) * 0.25f;
}

extern "C" __global__ void accumulate(float *total, const float *field, unsigned long long cells)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < cells)
		total[i] += 0.5f * field[i];
}

static float initial(size_t cell)
{
	return (float)(cell * 2654435761u % 1000);
}

/* This part has not been ported: a source in the middle of the field. */
static void add_source(float *field, size_t cell)
{
	field[cell] += 1;
}

static void step(struct simulation *sim)
{
	unsigned blocks = (unsigned)((sim->cells + THREADS - 1) / THREADS);

	TRY(cudaMemcpy(sim->device_field, sim->field, sim->bytes, cudaMemcpyHostToDevice));
	smooth<<<blocks, THREADS>>>(sim->device_next, sim->device_field, sim->cells);
	TRY(cudaGetLastError());
	TRY(cudaMemcpy(sim->next, sim->device_next, sim->bytes, cudaMemcpyDeviceToHost));

	add_source(sim->next, sim->cells / 2);

	TRY(cudaMemcpy(sim->device_field, sim->next, sim->bytes, cudaMemcpyHostToDevice));
	TRY(cudaMemcpy(sim->device_total, sim->total, sim->bytes, cudaMemcpyHostToDevice));
	accumulate<<<blocks, THREADS>>>(sim->device_total, sim->device_field, sim->cells);
	TRY(cudaGetLastError());
	TRY(cudaMemcpy(sim->total, sim->device_total, sim->bytes, cudaMemcpyDeviceToHost));

	float *swap = sim->field;
	sim->field = sim->next;
	sim->next = swap;
}

/* Computes a window of the field on the host, from the beginning, and compares every bit. */
static int window_is_right(const struct simulation *sim, size_t from, int steps)
{
	size_t cells = WINDOW + 2 * (size_t)steps;
	float *field = (float *)malloc(cells * sizeof(float));
	float *next = (float *)malloc(cells * sizeof(float));
	float *total = (float *)calloc(cells, sizeof(float));
	size_t base = from < (size_t)steps ? 0 : from - steps;

	if (base + cells > sim->cells)
		base = sim->cells > cells ? sim->cells - cells : 0;
	if (cells > sim->cells)
		cells = sim->cells;
	for (size_t i = 0; i < cells; i++)
		field[i] = initial(base + i);
	for (int done = 0; done < steps; done++) {
		for (size_t i = 0; i < cells; i++) {
			size_t left = i > 0 ? i - 1 : i, right = i + 1 < cells ? i + 1 : i;
			bool edge = base + i == 0 || base + i == sim->cells - 1;

			next[i] = edge ? field[i]
				       : (field[left] + 2 * field[i] + field[right]) * 0.25f;
		}
		if (sim->cells / 2 >= base && sim->cells / 2 < base + cells)
			add_source(next, sim->cells / 2 - base);
		for (size_t i = 0; i < cells; i++)
			total[i] += 0.5f * next[i];

		float *swap = field;
		field = next;
		next = swap;
	}

	/* Cells beyond the window affect one further cell with every step. */
	size_t first = base == 0 ? 0 : (size_t)steps;
	size_t last = base + cells == sim->cells ? cells : cells - (size_t)steps;
	int right = memcmp(field + first, sim->field + base + first,
			   (last - first) * sizeof(float)) == 0 &&
		    memcmp(total + first, sim->total + base + first,
			   (last - first) * sizeof(float)) == 0;
	free(field);
	free(next);
	free(total);
	return right;
}

static unsigned long long checksum(const float *values, size_t count)
{
	unsigned long long sum = 14695981039346656037ull;

	for (size_t i = 0; i < count; i++) {
		unsigned bits;

		memcpy(&bits, &values[i], sizeof(bits));
		sum = (sum ^ bits) * 1099511628211ull;
	}
	return sum;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void prepare(struct simulation *sim)
{
	sim->field = (float *)malloc(sim->bytes);
	sim->next = (float *)malloc(sim->bytes);
	sim->total = (float *)calloc(sim->cells, sizeof(float));
	if (sim->field == NULL || sim->next == NULL || sim->total == NULL) {
		fprintf(stderr, "demo: out of memory\n");
		exit(1);
	}
	for (size_t i = 0; i < sim->cells; i++)
		sim->field[i] = initial(i);
	memset(sim->next, 0, sim->bytes);
	TRY(cudaMalloc((void **)&sim->device_field, sim->bytes));
	TRY(cudaMalloc((void **)&sim->device_next, sim->bytes));
	TRY(cudaMalloc((void **)&sim->device_total, sim->bytes));
}

int main(int argc, char **argv)
{
	bool timed = argc > 1 && strcmp(argv[1], "-t") == 0;
	int mib = argc > 1 + timed ? atoi(argv[1 + timed]) : 64;
	int steps = argc > 2 + timed ? atoi(argv[2 + timed]) : 10;
	struct simulation sim;

	if (mib < 1 || mib > 16384 || steps < 1 || steps > 100000) {
		fprintf(stderr, "usage: demo [-t] [MiB-per-array [steps]]\n");
		return 1;
	}
	memset(&sim, 0, sizeof(sim));
	sim.bytes = (size_t)mib << 20;
	sim.cells = sim.bytes / sizeof(float);
	prepare(&sim);

	double start = seconds();
	for (int done = 0; done < steps; done++)
		step(&sim);
	double took = seconds() - start;

	int right = window_is_right(&sim, 0, steps) &&
		    window_is_right(&sim, sim.cells / 2 - WINDOW / 2, steps) &&
		    window_is_right(&sim, sim.cells - WINDOW, steps);
	printf("field %016llx total %016llx %s\n", checksum(sim.field, sim.cells),
	       checksum(sim.total, sim.cells), right ? "right" : "WRONG");
	if (timed)
		printf("%.3f s\n", took);

	TRY(cudaFree(sim.device_field));
	TRY(cudaFree(sim.device_next));
	TRY(cudaFree(sim.device_total));
	free(sim.field);
	free(sim.next);
	free(sim.total);
	return !right;
}
