/*
 * early.c - a library whose constructor does what others do in main(): it allocates, loads the
 * driver, looks up functions and copies.  `early_report` lists what failed.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define BIG (4 << 20)

#pragma GCC visibility push(default)
extern const char *early_report;
extern char *early_small, *early_big;
const char *early_report = "did not run";
char *early_small, *early_big;
#pragma GCC visibility pop

#define LOOK_UP(name) __typeof__(name) *my_##name = (__typeof__(name) *)dlsym(driver, #name)

static const char *copies(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CUcontext context;
	CUdeviceptr there;
	char back[64];

	if (driver == NULL)
		return "no driver";
	LOOK_UP(cuInit);
	LOOK_UP(cuCtxCreate_v2);
	LOOK_UP(cuMemAlloc_v2);
	LOOK_UP(cuMemcpyHtoD_v2);
	LOOK_UP(cuMemcpyDtoH_v2);
	if (my_cuInit(0) != CUDA_SUCCESS || my_cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS ||
	    my_cuMemAlloc_v2(&there, BIG) != CUDA_SUCCESS)
		return "no device";
	memset(early_big, 'b', BIG);
	for (int i = 0; i < 4; i++)
		if (my_cuMemcpyHtoD_v2(there, early_big, BIG) != CUDA_SUCCESS)
			return "no copy to the device";
	if (my_cuMemcpyDtoH_v2(back, there + BIG - 64, 64) != CUDA_SUCCESS)
		return "no copy from the device";
	return memcmp(back, early_big, 64) == 0 ? "" : "wrong bytes";
}

__attribute__((constructor)) static void start(void)
{
	early_small = strdup("early");
	early_big = malloc(BIG);
	early_small = realloc(early_small, 4000);
	free(calloc(3, 100000));
	early_report = early_small != NULL && early_big != NULL ? copies() : "no memory";
}
