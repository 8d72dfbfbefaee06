/*
 * test_chain.c - another preloaded library in front of the driver (lib/link.c), before and behind
 * hotpin: its limits hold, and it sees what the program does.
 */
#include "device.h"

#include <unistd.h>

#define MIB ((size_t)1 << 20)

static int uploads(void)
{
	const int *count = (const int *)dlsym(RTLD_DEFAULT, "link_uploads");

	return count != NULL ? *count : -1;
}

/* Checks the functions that the program has found in one way. */
static void check_functions(__typeof__(cuMemAlloc_v2) *alloc, __typeof__(cuMemcpyHtoD_v2) *upload)
{
	CUdeviceptr there = 0;
	long sent = 4711, got = 0;
	int before = uploads();

	CHECK_EQ(alloc(&there, 128 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	if (!CHECK_EQ(alloc(&there, MIB), CUDA_SUCCESS))
		return;
	CHECK_EQ(upload(there, &sent, sizeof(sent)), CUDA_SUCCESS);
	CHECK_EQ(uploads(), before + 1);
	CHECK_EQ(cuMemcpyDtoH_v2(&got, there, sizeof(got)), CUDA_SUCCESS);
	CHECK_EQ(got, 4711);
	CHECK_EQ(cuMemFree_v2(there), CUDA_SUCCESS);
}

static void begin(void)
{
	CUcontext context;

	CHECK_EQ(cuInit(0), CUDA_SUCCESS);
	CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
}

static void by_symbol(void)
{
	begin();
	check_functions(cuMemAlloc_v2, cuMemcpyHtoD_v2);
}

static void by_name(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY);

	begin();
	check_functions(FIND(driver, cuMemAlloc_v2), FIND(driver, cuMemcpyHtoD_v2));
}

/* As a CUDA runtime does; by cuGetProcAddress_v2 of the next library. */
static void by_address(__typeof__(cuGetProcAddress_v2) *resolve)
{
	void *alloc = NULL, *upload = NULL;

	begin();
	CHECK_EQ(resolve("cuMemAlloc", &alloc, 12000, 0, NULL), CUDA_SUCCESS);
	CHECK_EQ(resolve("cuMemcpyHtoD", &upload, 12000, 0, NULL), CUDA_SUCCESS);
	check_functions((__typeof__(cuMemAlloc_v2) *)alloc, (__typeof__(cuMemcpyHtoD_v2) *)upload);
}

#define BEHIND(library) "LD_PRELOAD=@:" library, "HOTPIN_ASYNC=0"
#define BEFORE(library) "LD_PRELOAD=" library ":@", "HOTPIN_ASYNC=0"

CASE_WITH(exports_behind_us, (BEHIND("liblink_exports.so")), by_symbol();
	  by_address(cuGetProcAddress_v2))
CASE_WITH(exports_before_us, (BEFORE("liblink_exports.so")), by_symbol();
	  by_address(cuGetProcAddress_v2))
CASE_WITH(dlsym_behind_us, (BEHIND("liblink_hooks.so")), by_name())
CASE_WITH(dlsym_before_us, (BEFORE("liblink_hooks.so")), by_name())

/* The library's addresses of its functions are hotpin's: the loader binds them to the first one. */
CASE_WITH(versions_behind_us, (BEHIND("liblink_versions.so")), by_name())
CASE_WITH(versions_before_us, (BEFORE("liblink_versions.so")), by_name())

static __typeof__(cuGetProcAddress_v2) *looked_up(void)
{
	return FIND(dlopen("libcuda.so.1", RTLD_LAZY), cuGetProcAddress_v2);
}

CASE_WITH(addresses_behind_us, (BEHIND("liblink_hooks.so")), by_address(looked_up()))
CASE_WITH(addresses_before_us, (BEFORE("liblink_hooks.so")), by_address(looked_up()))
CASE_WITH(versions_of_addresses, (BEHIND("liblink_versions.so")), by_address(looked_up()))

/* hotpin's own copies go through the library, too. */
TEST_WITH(copies_of_ours, "LD_PRELOAD=@:liblink_exports.so", "HOTPIN_ROUTE=stage")
{
	static char bytes[4 * MIB];
	CUdeviceptr there;
	int before = uploads();

	begin();
	CHECK_EQ(cuMemAlloc_v2(&there, sizeof(bytes)), CUDA_SUCCESS);
	CHECK_EQ(cuMemcpyHtoD_v2(there, bytes, sizeof(bytes)), CUDA_SUCCESS);
	CHECK(uploads() > before);
}

static int status_of(void (*leave)(int))
{
	pid_t child = fork();

	if (child == 0)
		leave(70);
	return check_status(child);
}

TEST_WITH(exit_behind_us, BEHIND("liblink_exports.so"))
{
	CHECK_EQ(status_of(_exit), 71);
	CHECK_EQ(status_of(_Exit), 70);
}

TEST_WITH(exit_before_us, BEFORE("liblink_exports.so"))
{
	CHECK_EQ(status_of(_exit), 71);
	CHECK_EQ(status_of(_Exit), 70);
}

PRELOAD_MAIN()
