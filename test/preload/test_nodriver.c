/*
 * test_nodriver.c - a machine without libcuda: no new names appear, and our functions answer that
 * there is no device.
 */
#include "device.h"

#pragma weak cuInit
#pragma weak cuMemcpyHtoD_v2

static void need_no_driver(void)
{
	if (dlopen("libcuda.so.1", RTLD_NOW) != NULL)
		CHECK_SKIP("this machine has a driver");
}

TEST_WITH(the_global_scope_has_no_driver, "LD_LIBRARY_PATH=")
{
	need_no_driver();
	for (int round = 0; round < 2; round++) {
		dlerror();
		CHECK(dlsym(RTLD_DEFAULT, "cuInit") == NULL);
		const char *error = dlerror();
		CHECK(error != NULL && strstr(error, "undefined symbol: cuInit") != NULL);
		CHECK(dlsym(dlopen(NULL, RTLD_NOW), "cuMemcpyHtoD_v2") == NULL);
		CHECK(dlsym(RTLD_DEFAULT, "cuGetProcAddress") == NULL);
		CHECK(dlsym(RTLD_NEXT, "cuNoSuch") == NULL);
		/* A weak reference is bound to us, and such programs then call it. */
		if (preloaded())
			CHECK_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE);
	}
}

/* Each of them is called first, with zeros only. */
static const char *const names[] = {
#define DRIVER(name, ...) #name,
#define WRAPPED           DRIVER
#define EXPOSES           DRIVER
#include "real/driver.def"
};
#define NAMES (sizeof(names) / sizeof(names[0]))

typedef CUresult (*any_fn)(long, long, long, long, long, long, long, long, long, long, long);

static void call_all(void)
{
	void *library = dlopen(getenv("PRELOAD_SO"), RTLD_NOW | RTLD_NOLOAD);

	need_no_driver();
	if (library == NULL)
		CHECK_SKIP("not preloaded");
	for (size_t i = 0; i < NAMES; i++) {
		any_fn function = (any_fn)native_dlsym()(library, names[i]);

		if (!CHECK(function != NULL) ||
		    !CHECK_EQ(function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), CUDA_ERROR_NO_DEVICE))
			printf("# %s\n", names[i]);
	}
}

CASE_WITH(every_function_says_no_device, ("LD_LIBRARY_PATH="), call_all())
CASE_WITH(every_function_says_so_when_counted,
	  ("LD_LIBRARY_PATH=", "HOTPIN_PROFILE=trace", "HOTPIN_LOG_FILE=/dev/null"), call_all())

/* Memory, threads and the end of the process work as usual. */
TEST_WITH(the_rest_works, "LD_LIBRARY_PATH=", "HOTPIN_PROFILE=summary")
{
	need_no_driver();
	char *block = malloc(64 << 20);

	CHECK(block != NULL);
	memset(block, 1, 64 << 20);
	free(block);
	if (preloaded())
		CHECK_EQ(cuMemcpyHtoD_v2(0, "", 1), CUDA_ERROR_NO_DEVICE);
}

PRELOAD_MAIN()
