/*
 * test_lacking.c - drivers that lack a function: without a required one every call is passed
 * through, with one warning; without optional ones buffers are pinned as usual.
 */
#include "device.h"

#include <limits.h>
#include <stdio.h>

#define COPIES 64

static void *driver;

static bool open_lacking(const char *role)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", getenv("PRELOAD_LACKS"), role);
	driver = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	return CHECK(driver != NULL);
}

/* Uploads and downloads one block often enough to pin it. */
static void copy_often(void)
{
	enum { BYTES = 4 << 20 };
	CUdeviceptr there = 0;
	char *block = malloc(BYTES);

	CHECK(device_copies(driver, dlsym));
	CHECK_EQ(FIND(driver, cuMemAlloc_v2)(&there, BYTES), CUDA_SUCCESS);
	for (int i = 0; i < COPIES; i++) {
		char fill = (char)('a' + i % 26);

		memset(block, fill, BYTES);
		CHECK_EQ(FIND(driver, cuMemcpyHtoD_v2)(there, block, BYTES), CUDA_SUCCESS);
		memset(block, 0, BYTES);
		CHECK_EQ(FIND(driver, cuMemcpyDtoH_v2)(block, there, BYTES), CUDA_SUCCESS);
		CHECK(block[0] == fill && block[BYTES - 1] == fill);
	}
	free(block);
}

/* Counts log messages about the lacking function. */
static int said(const char *name)
{
	char log[4096], *rest = check_read(check_path("log"), log, sizeof(log));
	int count = 0;

	for (char *line; (line = strsep(&rest, "\n")) != NULL;)
		count += strstr(line, "the driver lacks") != NULL && strstr(line, name) != NULL;
	return count;
}

static bool is_ours(const char *name)
{
	return preload_is_in(dlsym(driver, name), OURS);
}

TEST_WITH(a_required_function, "HOTPIN_LOG=info", "HOTPIN_LOG_FILE=$TEST_FOLDER/log")
{
	if (!open_lacking("required"))
		return;
	CHECK(!is_ours("cuInit"));
	copy_often();
	CHECK(!is_ours("cuMemcpyHtoD_v2"));
	CHECK(dlsym(driver, "cuPointerGetAttributes") == NULL);
	CHECK_EQ(calls_of(driver, "cuMemHostRegister"), 0);
	CHECK_EQ(said("cuPointerGetAttributes"), preloaded());
}

/* Without it a requested profile is incomplete. */
TEST_WITH(a_required_function_with_a_profile, "HOTPIN_PROFILE=summary", "HOTPIN_LOG=warn",
	  "HOTPIN_LOG_FILE=$TEST_FOLDER/log")
{
	if (!open_lacking("required"))
		return;
	copy_often();
	CHECK_EQ(calls_of(driver, "cuMemHostRegister"), 0);
	CHECK_EQ(said("cuPointerGetAttributes"), preloaded());
}

TEST_WITH(optional_functions, "HOTPIN_LOG=info", "HOTPIN_LOG_FILE=$TEST_FOLDER/log")
{
	if (!open_lacking("optional"))
		return;
	copy_often();
	CHECK_EQ(is_ours("cuMemcpyHtoD_v2"), preloaded());
	CHECK(dlsym(driver, "cuStreamGetId") == NULL);
	CHECK_EQ(calls_of(driver, "cuMemHostRegister") > 0, preloaded());
	CHECK_EQ(said(""), 0);
}

PRELOAD_MAIN()
