/*
 * heat.c - copies of known sizes from known places, for the commands to find.
 *
 * Built without optimisation, so that each function keeps its name and its frame.
 */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (4u << 20)
#define STEPS 20

static float table[4096];

static float *make_field(void)
{
	float *field = malloc(BYTES);

	if (field != NULL)
		memset(field, 1, BYTES);
	return field;
}

/* The names are those of the archive that nvcc links by default. */
static int libcudart_static_0123(CUdeviceptr to, const float *from, size_t bytes)
{
	return cuMemcpyHtoD(to, from, bytes) == CUDA_SUCCESS ? 0 : 1;
}

static int cudaMemcpy(CUdeviceptr to, const float *from, size_t bytes)
{
	return libcudart_static_0123(to, from, bytes) == 0 ? 0 : 1;
}

static void upload(CUdeviceptr to, const float *from, size_t bytes)
{
	if (cudaMemcpy(to, from, bytes) != 0)
		exit(1);
}

static void download(float *to, CUdeviceptr from, size_t bytes)
{
	if (cuMemcpyDtoH(to, from, bytes) != CUDA_SUCCESS)
		exit(1);
}

/* Up, twice, in one call. */
static void upload_both(CUdeviceptr to, float *from)
{
#if CUDA_VERSION >= 13000
	CUdeviceptr targets[] = { to, to + BYTES / 2 };
	CUdeviceptr sources[] = { (CUdeviceptr)(uintptr_t)from, (CUdeviceptr)(uintptr_t)table };
	size_t sizes[] = { BYTES / 2, sizeof(table) }, first[] = { 0 };
	CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	CUstream stream;

	if (cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
	    cuMemcpyBatchAsync(targets, sources, sizes, 2, &how, first, 1, stream) !=
		    CUDA_SUCCESS ||
	    cuStreamSynchronize(stream) != CUDA_SUCCESS)
		exit(1);
#else
	upload(to, from, BYTES / 2);
	upload(to, table, sizeof(table));
#endif
}

int main(int argc, char **argv)
{
	CUdevice device;
	CUcontext context;
	CUdeviceptr memory;

	if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
	    cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS ||
	    cuCtxSetCurrent(context) != CUDA_SUCCESS || cuMemAlloc(&memory, BYTES) != CUDA_SUCCESS)
		return 1;
	float *field = make_field();
	if (argc > 1 && strcmp(argv[1], "batch") == 0 && field != NULL)
		upload_both(memory, field);
	for (int step = 0; argc == 1 && step < STEPS && field != NULL; step++) {
		upload(memory, field, BYTES);
		upload(memory, table, sizeof(table));
		download(field, memory, BYTES);
	}
	printf("%g\n", field != NULL ? (double)field[BYTES / sizeof(float) - 1] : 0);
	free(field);
	return 0;
}
