/*
 * stage3_all_kernels.cu - all loops are kernels, and the dye stays on the device.
 */
#include "flow.h"
#include "try.h"

#define AT                                             \
	int x = blockIdx.x * blockDim.x + threadIdx.x; \
	int y = blockIdx.y * blockDim.y + threadIdx.y, at = y * SIDE + x

static const dim3 blocks(SIDE / 32, SIDE / 8), threads(32, 8);

__global__ void spread(float *to, const float *dye)
{
	AT;
	to[at] = spread_cell(dye, x, y);
}

__global__ void carry(float *to, const float *dye)
{
	AT;
	to[at] = carry_cell(dye, x, y);
}

__global__ void react(float *dye)
{
	AT;
	dye[at] = react_cell(dye[at]);
}

/* For non-negative numbers, larger values have larger bit patterns. */
__global__ void find_most(int *most, const float *dye)
{
	AT;
	int bits = __reduce_max_sync(0xffffffff, __float_as_int(dye[at]));

	if (threadIdx.x == 0)
		atomicMax(most, bits);
}

int main(void)
{
	float *start = (float *)malloc(BYTES), *dye, *next, most;
	int *device_most;

	if (start == NULL)
		return 1;
	begin_dye(start);
	TRY(cudaMalloc((void **)&dye, BYTES));
	TRY(cudaMalloc((void **)&next, BYTES));
	TRY(cudaMalloc((void **)&device_most, sizeof(*device_most)));
	TRY(cudaMemcpy(dye, start, BYTES, cudaMemcpyHostToDevice));
	for (int step = 0; step < STEPS; step++) {
		spread<<<blocks, threads>>>(next, dye);
		carry<<<blocks, threads>>>(dye, next);
		react<<<blocks, threads>>>(dye);
		TRY(cudaGetLastError());
		if (step % TOLD != TOLD - 1)
			continue;
		TRY(cudaMemset(device_most, 0, sizeof(*device_most)));
		find_most<<<blocks, threads>>>(device_most, dye);
		TRY(cudaMemcpy(&most, device_most, sizeof(most), cudaMemcpyDeviceToHost));
		printf("step %d: %.9g\n", step + 1, (double)most);
	}
	TRY(cudaMemcpy(start, dye, BYTES, cudaMemcpyDeviceToHost));
	tell_end(start);
	free(start);
	return 0;
}
