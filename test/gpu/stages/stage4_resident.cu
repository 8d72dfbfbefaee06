/*
 * stage4_resident.cu - the dye is created, moved and summed up on the device: no grid crosses the
 * bus, and the host waits once.
 *
 * The checksum is a polynomial modulo 2^64, so its terms may be added in any order.
 */
#include "flow.h"
#include "try.h"

#define AT                                             \
	int x = blockIdx.x * blockDim.x + threadIdx.x; \
	int y = blockIdx.y * blockDim.y + threadIdx.y, at = y * SIDE + x

static const dim3 blocks(SIDE / 32, SIDE / 8), threads(32, 8);

struct results {
	unsigned long long checksum;
	float most[STEPS / TOLD];
};

__global__ void begin(float *dye)
{
	AT;
	dye[at] = begin_cell(x, y);
}

__global__ void spread(float *to, const float *dye)
{
	AT;
	to[at] = spread_cell(dye, x, y);
}

__global__ void carry_and_react(float *to, const float *dye)
{
	AT;
	to[at] = react_cell(carry_cell(dye, x, y));
}

/* For non-negative numbers, larger values have larger bit patterns. */
__global__ void find_most(float *most, const float *dye)
{
	AT;
	int bits = __reduce_max_sync(0xffffffff, __float_as_int(dye[at]));

	if (threadIdx.x == 0)
		atomicMax((int *)most, bits);
}

__global__ void add_up(unsigned long long *checksum, const float *dye)
{
	__shared__ unsigned long long here;
	AT;
	unsigned long long term = __float_as_uint(dye[at]), power = 31;

	for (unsigned rest = CELLS - 1 - at; rest != 0; rest /= 2, power *= power)
		if (rest % 2 != 0)
			term *= power;
	if (threadIdx.x == 0 && threadIdx.y == 0)
		here = 0;
	__syncthreads();
	atomicAdd(&here, term);
	__syncthreads();
	if (threadIdx.x == 0 && threadIdx.y == 0)
		atomicAdd(checksum, here);
}

int main(void)
{
	struct results results, *device_results;
	float *dye, *next;

	TRY(cudaMalloc((void **)&dye, BYTES));
	TRY(cudaMalloc((void **)&next, BYTES));
	TRY(cudaMalloc((void **)&device_results, sizeof(results)));
	TRY(cudaMemset(device_results, 0, sizeof(results)));
	begin<<<blocks, threads>>>(dye);
	for (int step = 0; step < STEPS; step++) {
		spread<<<blocks, threads>>>(next, dye);
		carry_and_react<<<blocks, threads>>>(dye, next);
		if (step % TOLD == TOLD - 1)
			find_most<<<blocks, threads>>>(&device_results->most[step / TOLD], dye);
	}
	add_up<<<blocks, threads>>>(&device_results->checksum, dye);
	TRY(cudaGetLastError());
	TRY(cudaMemcpy(&results, device_results, sizeof(results), cudaMemcpyDeviceToHost));
	for (int i = 0; i < STEPS / TOLD; i++)
		printf("step %d: %.9g\n", (i + 1) * TOLD, (double)results.most[i]);
	printf("checksum %016llx\n", results.checksum);
	return 0;
}
