/*
 * known.cu - a program whose every copy and kernel is known, to check the profile against.
 *
 *	known
 *
 * It prints as JSON what it did: copies and bytes by direction, kernels, memsets.  Exit status 0:
 * the data was right, too.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(call)                                                                            \
	do {                                                                                 \
		cudaError_t error = (call);                                                  \
		if (error != cudaSuccess) {                                                  \
			fprintf(stderr, "known: %s: %s\n", #call, cudaGetErrorString(error)); \
			exit(1);                                                             \
		}                                                                            \
	} while (0)

enum { H2D, D2H, D2D, DIRECTIONS };

static unsigned long long copies[DIRECTIONS], bytes[DIRECTIONS], kernels, memsets;

static void did(int direction, size_t count)
{
	copies[direction]++;
	bytes[direction] += count;
}

__global__ void add_one(unsigned *data, size_t count)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		data[i] += 1;
}

static void launch(unsigned *data, size_t count, cudaStream_t stream)
{
	add_one<<<(unsigned)((count + 255) / 256), 256, 0, stream>>>(data, count);
	TRY(cudaGetLastError());
	kernels++;
}

int main()
{
	const size_t count = 5000003, size = count * sizeof(unsigned), width = 1000, height = 700;
	unsigned *host = (unsigned *)malloc(size), *back = (unsigned *)malloc(size), *pinned, *one,
		 *two;
	cudaStream_t stream;
	size_t pitch;
	char *plane;

	TRY(cudaMallocHost((void **)&pinned, size));
	TRY(cudaMalloc((void **)&one, size));
	TRY(cudaMalloc((void **)&two, size));
	TRY(cudaMallocPitch((void **)&plane, &pitch, width, height));
	TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (size_t i = 0; i < count; i++)
		host[i] = (unsigned)(i * 2654435761u);
	memcpy(pinned, host, size);

	for (int turn = 0; turn < 7; turn++) {
		TRY(cudaMemcpy(one, host, size, cudaMemcpyHostToDevice));
		did(H2D, size);
		launch(one, count, 0);
		TRY(cudaMemcpy(two, one, size, cudaMemcpyDeviceToDevice));
		did(D2D, size);
		TRY(cudaMemcpy(back, two, size - 4 * (size_t)turn, cudaMemcpyDeviceToHost));
		did(D2H, size - 4 * (size_t)turn);
	}
	for (int turn = 0; turn < 5; turn++) {
		TRY(cudaMemcpyAsync(two, pinned, size, cudaMemcpyHostToDevice, stream));
		did(H2D, size);
		launch(two, count, stream);
		TRY(cudaMemcpyAsync(pinned, two, size, cudaMemcpyDeviceToHost, stream));
		did(D2H, size);
		TRY(cudaStreamSynchronize(stream));
	}
	for (int turn = 0; turn < 3; turn++) {
		TRY(cudaMemset(two, turn, size));
		memsets++;
		TRY(cudaMemcpy2D(plane, pitch, host, width + 24, width, height,
				 cudaMemcpyHostToDevice));
		did(H2D, width * height);
		TRY(cudaMemcpy(&host[turn], one, 4, cudaMemcpyDefault));
		did(D2H, 4);
	}
	TRY(cudaDeviceSynchronize());

	for (size_t i = 3; i < count; i++) {
		unsigned first = (unsigned)(i * 2654435761u);

		if ((i + 6 < count && back[i] != first + 1) || pinned[i] != first + 5) {
			fprintf(stderr, "known: wrong data at %zu\n", i);
			return 1;
		}
	}
	printf("{\"h2d\": [%llu, %llu], \"d2h\": [%llu, %llu], \"d2d\": [%llu, %llu], "
	       "\"kernels\": %llu, \"memsets\": %llu}\n",
	       copies[H2D], bytes[H2D], copies[D2H], bytes[D2H], copies[D2D], bytes[D2D], kernels,
	       memsets);
	return 0;
}
