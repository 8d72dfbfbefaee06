/*
 * inlined.cc - a program whose functions the compiler inlines into main, for test_inlined.py.
 *
 * It prints the offset of an instruction of blend(), which is inlined into diffuse().  C++ gives
 * static functions no linkage name.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS   (1 << 16)
#define STEPS   4
#define INLINED static inline __attribute__((always_inline))

static float field[CELLS];
static char *place;

__attribute__((noinline)) static void note_place(void)
{
	place = (char *)__builtin_return_address(0);
}

INLINED float blend(float left, float middle)
{
	note_place();
	return left * 0.5f + middle * 0.25f;
}

INLINED void diffuse(float *cells)
{
	for (int i = 1; i < CELLS; i++)
		cells[i] = blend(cells[i - 1], cells[i]);
}

INLINED void upload(CUdeviceptr to)
{
	if (cuMemcpyHtoD(to, field, sizeof(field)) != CUDA_SUCCESS)
		exit(1);
}

int main()
{
	CUdevice device;
	CUcontext context;
	CUdeviceptr memory;
	Dl_info file;

	if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
	    cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS ||
	    cuCtxSetCurrent(context) != CUDA_SUCCESS ||
	    cuMemAlloc(&memory, sizeof(field)) != CUDA_SUCCESS)
		return 1;
	for (int step = 0; step < STEPS; step++) {
		upload(memory);
		diffuse(field);
		if (cuMemcpyDtoH(field, memory, sizeof(field)) != CUDA_SUCCESS)
			return 1;
	}
	if (dladdr(place, &file) == 0)
		return 1;
	printf("%td\n", place - 1 - (char *)file.dli_fbase);
	return 0;
}
