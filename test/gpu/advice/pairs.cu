/*
 * pairs.cu - programs before and after a change that `hotpin report` advises.
 *
 *	pairs KIND before|after
 *
 * Both print the same.  Sizes are chosen so that the change determines the duration of the program.
 */
#include "../stages/try.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 100
#define CELLS ((size_t)4 << 20)
#define BYTES (CELLS * sizeof(float))

/* Rounds alike on both sides, because no product is added. */
__host__ __device__ static float next_value(float value)
{
	for (int i = 0; i < 8; i++)
		value = value > 1 ? value * 0.5f : value + 0.3f;
	return value;
}

__host__ __device__ static void mix_values(float *cell, float *other)
{
	float larger = *cell > *other ? *cell : *other;

	*other = next_value(*cell);
	*cell = next_value(larger);
}

__global__ void step_kernel(float *cells)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	cells[i] = cells[i] > 2 ? cells[i] - 2 : cells[i] + 0.25f;
}

__global__ void smooth_kernel(float *cells)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	cells[i] = next_value(cells[i]);
}

__global__ void shrink_kernel(float *cells)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	cells[i] = next_value(cells[i] - 0.125f);
}

__global__ void mix_kernel(float *cells, float *others)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	mix_values(&cells[i], &others[i]);
}

/* Takes microseconds per hundred rounds. */
__global__ void long_kernel(float *cells, int rounds)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
	float value = cells[i];

	for (int round = 0; round < rounds; round++)
		value = next_value(value);
	cells[i] = value;
}

__attribute__((noinline)) static void smooth(float *cells)
{
	for (size_t i = 0; i < CELLS; i++)
		cells[i] = next_value(cells[i]);
}

__attribute__((noinline)) static void mix(float *cells, float *others)
{
	for (size_t i = 0; i < CELLS; i++)
		mix_values(&cells[i], &others[i]);
}

__attribute__((noinline)) static void shrink(float *cells)
{
	for (size_t i = 0; i < CELLS; i++)
		cells[i] = next_value(cells[i] - 0.125f);
}

static float *cells;  /* on the host */
static float *device; /* of the same size */

static dim3 blocks(void)
{
	return dim3((unsigned)(CELLS / 256));
}

static void up(void)
{
	TRY(cudaMemcpy(device, cells, BYTES, cudaMemcpyHostToDevice));
}

static void down(void)
{
	TRY(cudaMemcpy(cells, device, BYTES, cudaMemcpyDeviceToHost));
}

static void step(void)
{
	step_kernel<<<blocks(), 256>>>(device);
	TRY(cudaGetLastError());
}

/* Uploads and downloads around each kernel, or around the loop. */
static void keep(bool after)
{
	for (int i = 0; i < STEPS; i++) {
		if (!after || i == 0)
			up();
		step();
		if (!after || i == STEPS - 1)
			down();
	}
}

/* The host's part of each step, or a kernel in its place. */
static void port(bool after)
{
	for (int i = 0; i < STEPS; i++) {
		if (!after || i == 0)
			up();
		step();
		if (after)
			smooth_kernel<<<blocks(), 256>>>(device);
		if (!after || i == STEPS - 1)
			down();
		if (!after)
			smooth(cells);
	}
}

/* The same with two functions, neither of which is all host code between the copies. */
static void port_chain(bool after)
{
	for (int i = 0; i < STEPS; i++) {
		if (!after || i == 0)
			up();
		step();
		if (after) {
			smooth_kernel<<<blocks(), 256>>>(device);
			shrink_kernel<<<blocks(), 256>>>(device);
		}
		if (!after || i == STEPS - 1)
			down();
		if (!after) {
			smooth(cells);
			shrink(cells);
		}
	}
}

/* A function that works on two buffers. */
static void port_buffers(bool after)
{
	float *others, *other_device;

	TRY(cudaMallocHost((void **)&others, BYTES));
	TRY(cudaMalloc((void **)&other_device, BYTES));
	memset(others, 0, BYTES);
	for (int i = 0; i < STEPS; i++) {
		if (!after || i == 0) {
			up();
			TRY(cudaMemcpy(other_device, others, BYTES, cudaMemcpyHostToDevice));
		}
		step();
		step_kernel<<<blocks(), 256>>>(other_device);
		if (after)
			mix_kernel<<<blocks(), 256>>>(device, other_device);
		if (!after || i == STEPS - 1) {
			down();
			TRY(cudaMemcpy(others, other_device, BYTES, cudaMemcpyDeviceToHost));
		}
		if (!after)
			mix(cells, others);
	}
	TRY(cudaFree(other_device));
	TRY(cudaFreeHost(others));
}

/* Uploads unchanged data in each step, or once. */
static void upload_once(bool after)
{
	float *table;

	TRY(cudaMalloc((void **)&table, BYTES));
	up();
	for (int i = 0; i < STEPS; i++) {
		if (!after || i == 0)
			TRY(cudaMemcpy(table, cells, BYTES, cudaMemcpyHostToDevice));
		step();
	}
	down();
	TRY(cudaFree(table));
}

/* The same by asynchronous copies of pageable memory. */
static void upload_async(bool after)
{
	float *table;

	TRY(cudaMalloc((void **)&table, BYTES));
	up();
	for (int i = 0; i < STEPS; i++) {
		if (!after || i == 0)
			TRY(cudaMemcpyAsync(table, cells, BYTES, cudaMemcpyHostToDevice, 0));
		step();
	}
	down();
	TRY(cudaFree(table));
}

/* Allocates memory in each step, or once. */
static void allocate_once(bool after)
{
	float *memory[4];

	up();
	for (int i = 0; i < 10 * STEPS; i++) {
		for (int j = 0; j < 4 && (!after || i == 0); j++)
			TRY(cudaMalloc((void **)&memory[j], BYTES));
		step();
		for (int j = 0; j < 4 && (!after || i == 10 * STEPS - 1); j++)
			TRY(cudaFree(memory[j]));
	}
	down();
}

/* Allocates a pinned buffer for each upload, or one for all. */
static void allocate_pinned(bool after)
{
	float *buffer = NULL;

	for (int i = 0; i < STEPS; i++) {
		if (!after || i == 0)
			TRY(cudaMallocHost((void **)&buffer, BYTES));
		memcpy(buffer, cells, BYTES);
		TRY(cudaMemcpy(device, buffer, BYTES, cudaMemcpyHostToDevice));
		step();
		if (!after || i == STEPS - 1)
			TRY(cudaFreeHost(buffer));
	}
	down();
}

/* Rows of 256 bytes, or all at once. */
static void batch(bool after)
{
	size_t part = after ? BYTES : 256;

	for (size_t at = 0; at < BYTES; at += part)
		TRY(cudaMemcpy((char *)device + at, (char *)cells + at, part,
			       cudaMemcpyHostToDevice));
	step();
	down();
}

/* The start of each of 64 rows in each step, by a copy of each row, or by one copy of all. */
static void batch_rows(bool after)
{
	size_t pitch = BYTES / 64, width = 4096;

	up();
	for (int i = 0; i < 5 * STEPS; i++) {
		for (size_t at = 0; at < BYTES && !after; at += pitch)
			TRY(cudaMemcpy((char *)device + at, (char *)cells + at, width,
				       cudaMemcpyHostToDevice));
		if (after)
			TRY(cudaMemcpy2D(device, pitch, cells, pitch, width, 64,
					 cudaMemcpyHostToDevice));
		step();
	}
	down();
}

/* Copies within the host's memory, by CUDA or by the host. */
static void host_copy(bool after)
{
	up();
	for (int i = 0; i < 500 * STEPS; i++) {
		step_kernel<<<1, 256>>>(device);
		if (after)
			memcpy(cells + CELLS / 2, cells, 256);
		else
			TRY(cudaMemcpy(cells + CELLS / 2, cells, 256, cudaMemcpyHostToHost));
	}
	down();
}

/*
 * A copy, a long kernel, a copy; or the kernel of one half during the copies of the other.  Results
 * have their own memory, so that no data makes round trips.
 */
static void overlap(bool after)
{
	cudaStream_t streams[2];
	size_t half = CELLS / 2;
	float *results;

	TRY(cudaMallocHost((void **)&results, BYTES));
	for (int i = 0; i < 2; i++)
		TRY(cudaStreamCreate(&streams[i]));
	for (int i = 0; i < 2 * STEPS; i++) {
		for (int part = 0; part < 2; part++) {
			cudaStream_t stream = streams[after ? part : 0];
			float *there = device + part * half;

			TRY(cudaMemcpyAsync(there, cells + part * half, BYTES / 2,
					    cudaMemcpyHostToDevice, stream));
			long_kernel<<<(unsigned)(half / 256), 256, 0, stream>>>(there, 30);
			TRY(cudaMemcpyAsync(results + part * half, there, BYTES / 2,
					    cudaMemcpyDeviceToHost, stream));
		}
	}
	TRY(cudaDeviceSynchronize());
	cells = results;
	for (int i = 0; i < 2; i++)
		TRY(cudaStreamDestroy(streams[i]));
}

/* Waits after each of many short kernels, or after all. */
static void synchronize_less(bool after)
{
	up();
	for (int i = 0; i < 500 * STEPS; i++) {
		step_kernel<<<1, 256>>>(device);
		if (!after || i == 500 * STEPS - 1)
			TRY(cudaDeviceSynchronize());
	}
	down();
}

/* Waits for a stream after each kernel that takes longer than its launch, or after all. */
static void synchronize_steps(bool after)
{
	cudaStream_t stream;

	up();
	TRY(cudaStreamCreate(&stream));
	for (int i = 0; i < 200 * STEPS; i++) {
		long_kernel<<<1, 256, 0, stream>>>(device, 200);
		if (!after || i == 200 * STEPS - 1)
			TRY(cudaStreamSynchronize(stream));
	}
	TRY(cudaStreamDestroy(stream));
	down();
}

/* Looks after each step whether to go on, or after each 16th. */
static void decide(bool after)
{
	float first = 0;

	up();
	for (int i = 0; i < 500 * STEPS && first >= 0; i++) {
		step_kernel<<<1, 256>>>(device);
		if (!after || i % 16 == 0)
			TRY(cudaMemcpy(&first, device, sizeof(first), cudaMemcpyDeviceToHost));
	}
	down();
}

/* Nothing to advise: start-up and kernels. */
static void done(bool after)
{
	(void)after;
	TRY(cudaMemset(device, 0, BYTES));
	for (int i = 0; i < 4; i++)
		long_kernel<<<blocks(), 256>>>(device, 20000);
	TRY(cudaMemcpy(cells, device, sizeof(*cells), cudaMemcpyDeviceToHost));
}

static const struct {
	const char *name;
	void (*run)(bool after);
	bool pinned; /* pinned by the program itself, so that pinning is no advice */
} pairs[] = {
	{ "pin", keep, false },
	{ "keep", keep, true },
	{ "port", port, true },
	{ "port_buffers", port_buffers, true },
	{ "port_chain", port_chain, true },
	{ "upload_once", upload_once, true },
	{ "upload_async", upload_async, false },
	{ "allocate_once", allocate_once, true },
	{ "allocate_pinned", allocate_pinned, true },
	{ "batch", batch, true },
	{ "batch_rows", batch_rows, true },
	{ "host_copy", host_copy, true },
	{ "overlap", overlap, true },
	{ "synchronize_less", synchronize_less, true },
	{ "synchronize_steps", synchronize_steps, true },
	{ "decide", decide, true },
	{ "done", done, true },
};

int main(int argc, char **argv)
{
	double sum = 0;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]) && argc == 3; i++) {
		if (strcmp(argv[1], pairs[i].name) != 0)
			continue;
		/* The pair `pin` is one program: only hotpin makes the difference. */
		bool after = strcmp(argv[2], "after") == 0 && strcmp(argv[1], "pin") != 0;

		if (pairs[i].pinned)
			TRY(cudaMallocHost((void **)&cells, BYTES));
		else
			cells = (float *)malloc(BYTES);
		if (cells == NULL)
			return 1;
		memset(cells, 0, BYTES);
		TRY(cudaMalloc((void **)&device, BYTES));
		pairs[i].run(after);
		for (size_t at = 0; at < CELLS; at += 4096)
			sum += (double)cells[at];
		printf("%.9g\n", sum);
		return 0;
	}
	fprintf(stderr, "usage: pairs KIND before|after\n");
	return 2;
}
