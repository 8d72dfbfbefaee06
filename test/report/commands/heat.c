/*
 * heat.c - makes copies of known sizes at known places, which the commands must find.
 *
 * Built without optimization, so that each function keeps its name and its frame.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* Uploads twice, in one call. */
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

/* Writes to the log of mock_cupti.c, if that is loaded. */
static void mark(const char *text)
{
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	void (*note)(const char *) =
		cupti != NULL ? (void (*)(const char *))dlsym(cupti, "mock_note") : NULL;

	if (note != NULL)
		note(text);
}

static uint64_t time_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static CUresult make_context(CUcontext *ret)
{
#if CUDA_VERSION >= 13000
	return cuCtxCreate(ret, NULL, 0, 0);
#else
	return cuCtxCreate(ret, 0, 0);
#endif
}

/* Waits for a profile, for a minute at most. */
static void wait_for(const char *file)
{
	for (int i = 0; i < 60000 && access(file, F_OK) != 0; i++)
		usleep(1000);
}

/* `command` is what to execute if the way is "exec". */
static void end_by(const char *way, char **command, CUcontext context)
{
	mark("| ");
	if (strcmp(way, "exec") == 0) {
		wait_for("exec.json");
		execv(command[0], command);
		exit(1);
	}
	if (strcmp(way, "_exit") == 0)
		_exit(3);
	if (strcmp(way, "quick_exit") == 0)
		quick_exit(0);
	if (strcmp(way, "abort") == 0) {
		wait_for("abort.json");
		abort();
	}
	if (strcmp(way, "fork") == 0) {
		if (fork() == 0)
			exit(0);
		wait(NULL);
	}
	if (strcmp(way, "reset") == 0)
		cuDevicePrimaryCtxReset(0);
	if (strcmp(way, "destroy") == 0 && make_context(&context) == CUDA_SUCCESS)
		cuCtxDestroy(context);
	mark("| ");
}

/* Times of files are those of the kernel's coarse clock, which may be before our start. */
static void wait_for_file_times(void)
{
	uint64_t began_ns = time_of(CLOCK_REALTIME);

	while (time_of(CLOCK_REALTIME_COARSE) < began_ns)
		usleep(1000);
}

int main(int argc, char **argv)
{
	CUdevice device;
	CUcontext context;
	CUdeviceptr memory;

	wait_for_file_times();
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
	if (argc > 1 && field != NULL) {
		end_by(argv[1], argv + 2, context);
	}
	printf("%g\n", field != NULL ? (double)field[BYTES / sizeof(float) - 1] : 0);
	free(field);
	return 0;
}
