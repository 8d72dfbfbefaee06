/*
 * test_link.c - a program that links libcuda: the loader binds its calls to the library.
 */
#include "device.h"

#include "../standin/standin.h"

#pragma weak cuEGLStreamConsumerConnect
#pragma weak cuNoSuchThingAnywhere
extern CUresult cuEGLStreamConsumerConnect(void);
extern CUresult cuNoSuchThingAnywhere(void);

TEST(calls_go_through_us)
{
	CUcontext context;
	CUdeviceptr there;
	long sent = 42, got = 0;

	CHECK_EQ(cuInit(0), CUDA_SUCCESS);
	CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
	CHECK_EQ(cuMemAlloc_v2(&there, 8), CUDA_SUCCESS);
	CHECK_EQ(cuMemcpyHtoD_v2(there, &sent, 8), CUDA_SUCCESS);
	CHECK_EQ(cuMemcpyDtoH_v2(&got, there, 8), CUDA_SUCCESS);
	CHECK_EQ(got, 42);
	CHECK_EQ(standin_calls("cuInit"), 1);
	CHECK_EQ(standin_calls("cuMemcpyHtoD_v2") + standin_calls("cuMemcpyHtoDAsync_v2"), 1);
	CHECK(preload_is_in(dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2"),
			    preloaded() ? OURS : "libcuda.so.1"));
	CHECK(dlsym(RTLD_DEFAULT, "cuNoSuchThingAnywhere") == NULL);
	CHECK(cuNoSuchThingAnywhere == NULL);
}

/* dlsym() returns the address that the linker bound. */
TEST(one_address_for_one_function)
{
	CUresult (*volatile copy)(CUdeviceptr, const void *, size_t) = cuMemcpyHtoD_v2;
	CUresult (*volatile query)(CUdevice *, int) = cuDeviceGet;

	if (strcmp(getenv("HOTPIN") ?: "1", "0") == 0)
		CHECK_SKIP("switched off, dlsym() gives the driver's own");
	CHECK((void *)copy == dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2"));
	CHECK((void *)query == dlsym(RTLD_DEFAULT, "cuDeviceGet"));
}

/* Calls every function of an uninitialized driver; its pointers point to zeros. */
static const char *const names[] = {
#define DRIVER(name, ...) #name,
#define WRAPPED           DRIVER
#define EXPOSES           DRIVER
#include "real/driver.def"
};
#define NAMES (sizeof(names) / sizeof(names[0]))

static char z[4096];

typedef CUresult (*any_fn)(void *, void *, void *, void *, void *, void *, void *, void *, void *,
			   void *, void *);

static void call_all(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *library = driver;

	if (preloaded())
		library = dlopen(getenv("PRELOAD_SO"), RTLD_NOW | RTLD_NOLOAD);
	for (size_t i = 0; i < NAMES; i++) {
		any_fn ours = (any_fn)native_dlsym()(library, names[i]);
		any_fn theirs = (any_fn)native_dlsym()(driver, names[i]);
		if (strstr(names[i], "BatchAsync") != NULL) /* the counts would be wrong */
			continue;
		CUresult answer = ours(z, z, z, z, z, z, z, z, z, z, z);

		/* A function that this driver lacks. */
		CUresult expected = theirs != NULL ? theirs(z, z, z, z, z, z, z, z, z, z, z)
						   : CUDA_ERROR_NOT_FOUND;
		if (!CHECK_EQ(answer, expected))
			printf("# %s\n", names[i]);
	}
}

CASE(every_function_answers_as_the_driver, call_all())
CASE_WITH(every_function_when_counted,
	  ("HOTPIN_PROFILE=trace", "HOTPIN_CUPTI=off", "HOTPIN_LOG_FILE=/dev/null"), call_all())

/* Another tool before our library finds us as the next one, and the driver is called once. */
TEST_WITH(a_tool_in_front_of_us, "LD_PRELOAD=libwraps_init.so:@")
{
	const int *seen = (const int *)dlsym(RTLD_DEFAULT, "wraps_init_calls");

	CHECK_EQ(cuInit(0), CUDA_SUCCESS);
	CHECK_EQ(standin_calls("cuInit"), 1);
	CHECK(seen != NULL && *seen == 1);
	CHECK(device_copies(dlopen(NULL, RTLD_NOW), dlsym));
}

/* RTLD_NEXT leads the tool before us to us, and the one after us to the driver. */
TEST_WITH(a_tool_behind_us, "LD_PRELOAD=@:libtool.so")
{
	dlsym_fn look = (dlsym_fn)dlsym(RTLD_DEFAULT, "tool_look");

	CHECK(device_copies(dlopen(NULL, RTLD_NOW), dlsym));
	CHECK(preload_is_in(look(RTLD_NEXT, "cuMemcpyHtoD_v2"), "libcuda.so.1"));
	CHECK(preload_is_in(look(RTLD_NEXT, "cuInit"), "libcuda.so.1"));
	CHECK(preload_is_in(dlsym(RTLD_NEXT, "cuInit"),
			    getenv("LD_PRELOAD")[0] != ':' ? OURS : "libcuda.so.1"));
}

PRELOAD_MAIN()
