/*
 * device.c - the ways to a function of the driver, and copies by each.
 */
#include "device.h"

dlsym_fn native_dlsym(void)
{
	void *found = dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.34");

	return (dlsym_fn)(found != NULL ? found : dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.2.5"));
}

int calls_of(void *driver, const char *name)
{
	return ((int (*)(const char *))dlsym(driver, "standin_calls"))(name);
}

bool device_copies(void *driver, dlsym_fn look)
{
	size_t bytes = 4 << 20;
	char *up = malloc(bytes), *down = malloc(bytes);
	CUcontext context;
	CUdeviceptr there;
	bool same = true;

	if (((__typeof__(cuInit) *)look(driver, "cuInit"))(0) != CUDA_SUCCESS ||
	    ((__typeof__(cuCtxCreate_v2) *)look(driver, "cuCtxCreate_v2"))(&context, 0, 0) !=
		    CUDA_SUCCESS ||
	    ((__typeof__(cuMemAlloc_v2) *)look(driver, "cuMemAlloc_v2"))(&there, bytes) !=
		    CUDA_SUCCESS)
		return false;
	for (int i = 0; i < 4; i++) {
		memset(up, 'a' + i, bytes);
		memset(down, 0, bytes);
		same = same &&
		       ((__typeof__(cuMemcpyHtoD_v2) *)look(driver, "cuMemcpyHtoD_v2"))(
			       there, up, bytes) == CUDA_SUCCESS &&
		       ((__typeof__(cuMemcpyDtoH_v2) *)look(driver, "cuMemcpyDtoH_v2"))(
			       down, there, bytes) == CUDA_SUCCESS &&
		       memcmp(up, down, bytes) == 0;
	}
	free(up);
	free(down);
	return same;
}
