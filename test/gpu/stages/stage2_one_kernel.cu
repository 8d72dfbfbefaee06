/*
 * stage2_one_kernel.cu - one of the two hottest loops is a kernel, with uploads and downloads around
 * it, as in most first ports.
 */
#include "flow.h"
#include "try.h"

__global__ void spread_kernel(float *to, const float *dye)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	to[y * SIDE + x] = spread_cell(dye, x, y);
}

static void spread(float *to, const float *dye)
{
	float *device_dye, *device_to;

	TRY(cudaMalloc((void **)&device_dye, BYTES));
	TRY(cudaMalloc((void **)&device_to, BYTES));
	TRY(cudaMemcpy(device_dye, dye, BYTES, cudaMemcpyHostToDevice));
	spread_kernel<<<dim3(SIDE / 32, SIDE / 8), dim3(32, 8)>>>(device_to, device_dye);
	TRY(cudaGetLastError());
	TRY(cudaMemcpy(to, device_to, BYTES, cudaMemcpyDeviceToHost));
	TRY(cudaFree(device_to));
	TRY(cudaFree(device_dye));
}

static void carry(float *to, const float *dye)
{
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++)
			to[y * SIDE + x] = carry_cell(dye, x, y);
}

static void react(float *dye)
{
	for (size_t i = 0; i < CELLS; i++)
		dye[i] = react_cell(dye[i]);
}

int main(void)
{
	float *dye = (float *)malloc(BYTES), *next = (float *)malloc(BYTES);

	if (dye == NULL || next == NULL)
		return 1;
	begin_dye(dye);
	for (int step = 0; step < STEPS; step++) {
		spread(next, dye);
		carry(dye, next);
		react(dye);
		if (step % TOLD == TOLD - 1)
			printf("step %d: %.9g\n", step + 1, (double)most_dye(dye));
	}
	tell_end(dye);
	free(next);
	free(dye);
	return 0;
}
