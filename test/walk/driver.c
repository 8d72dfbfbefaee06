/*
 * driver.c - finds the driver as a runtime does, and provides the kernels of ptx.h.
 */
#include "walk.h"

#include "ptx.h"

#include <dlfcn.h>
#include <string.h>

struct driver cu[2];
int (*standin_steps)(void);
int (*standin_step_one)(CUstream, int);
void (*standin_forget)(void);

void driver_find(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	const char *lacks;

	if (driver == NULL)
		fail("no driver: %s", dlerror());
	standin_steps = (int (*)(void))dlsym(driver, "standin_step_all");
	standin_forget = (void (*)(void))dlsym(driver, "standin_log_reset");
	standin_step_one = (int (*)(CUstream, int))dlsym(driver, "standin_step");
	ptx_find_stand_in(driver);
	stand_in = standin_steps != NULL;
	lacks = driver_ask((__typeof__(cuGetProcAddress_v2) *)dlsym(driver, "cuGetProcAddress_v2"),
			   cu);
	if (lacks != NULL)
		fail("the driver has no %s", lacks);
	if (cu[0].cuInit(0) != CUDA_SUCCESS)
		fail("cuInit");
}

/*
 * The primary context's kernels are kept between programs: compiling them takes long on a device.
 */
static CUfunction kept[K_COUNT];
static bool loaded;

void kernels_forget(void)
{
	loaded = false;
}

void kernels_load(int context)
{
	static const char *const names[] = { "test_xor", "test_mix", "test_spin" };
	CUmodule module = NULL;

	if (cu[0].cuEventCreate(&p.spare[context].handle, CU_EVENT_DISABLE_TIMING) !=
		    CUDA_SUCCESS ||
	    cu[0].cuMemAlloc_v2(&p.scratch[context].there, 4096) != CUDA_SUCCESS)
		fail("a context that cannot be used");
	if (context == 0 && loaded) {
		memcpy(p.kernel[0], kept, sizeof(kept));
		return;
	}
	if (cu[0].cuModuleLoadData(&module, ptx_image) != CUDA_SUCCESS)
		fail("the kernels do not compile");
	for (int i = 0; i < K_COUNT; i++)
		if (cu[0].cuModuleGetFunction(&p.kernel[context][i], module, names[i]) !=
		    CUDA_SUCCESS)
			fail("no kernel");
	if (context == 0)
		memcpy(kept, p.kernel[0], sizeof(kept));
	loaded = loaded || context == 0;
}
