/*
 * test_context.c - contexts end, and their registrations with them; the blocks stay valid.
 */
#include "promote.h"
#include "thread.h"

#include <pthread.h>

#define BYTES (4 * MIB)

/* Uploads and downloads the block in the current context. */
static void round_trip(char *block, unsigned seed)
{
	CUdeviceptr mine;

	OK(cuMemAlloc_v2(&mine, BYTES));
	for (int i = 0; i < 10; i++) {
		fill(block, BYTES, seed);
		OK(cuMemcpyHtoD_v2(mine, block, BYTES));
		memset(block, 0, BYTES);
		OK(cuMemcpyDtoHAsync_v2(block, mine, BYTES, NULL));
		CHECK(holds(block, BYTES, seed));
	}
	OK(cuMemFree_v2(mine));
	CHECK_EQ(standin_pinned(block) != 0, preloaded());
}

/* Returns a new one, which becomes current. */
static CUgreenCtx enter_green_context(void)
{
	CUgreenCtx green;
	CUcontext inside;

	OK(cuGreenCtxCreate(&green, NULL, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	OK(cuCtxFromGreenCtx(&inside, green));
	OK(cuCtxSetCurrent(inside));
	return green;
}

/* The stand-in ends the registrations of a green context with it. */
TEST_AFTER(green_one_destroyed, begin())
{
	char *block = malloc(BYTES);

	for (unsigned i = 0; i < 3; i++) {
		CUgreenCtx green = enter_green_context();

		round_trip(block, i);
		OK(cuGreenCtxDestroy(green));
		CHECK_EQ(standin_registrations(), 0);
		OK(cuCtxSetCurrent(context));
	}
	round_trip(block, 7);
}

static int running;

static void count_running(const char *task)
{
	running += !thread_is_blocked((pid_t)atoi(task));
}

static bool others_wait(void)
{
	running = 0;
	thread_each_other(count_running);
	return running == 0;
}

static char *queued;

static void *upload_a_page(void *arg)
{
	OK(cuCtxSetCurrent(context));
	OK(cuMemcpyHtoD_v2(there, queued, 4 * KIB));
	return arg;
}

/* A block is to be pinned in a green context once a copy has left it.  The context ends before. */
TEST_AFTER(green_one_of_a_queued_pin, begin())
{
	CUgreenCtx green = enter_green_context();

	queued = malloc(8 * MIB);
	memset(queued, 1, 8 * MIB);
	standin_hold("cuMemcpyHtoD", STANDIN_AT_CALL, 0);
	pthread_t copying = check_thread(upload_a_page, NULL);
	WAIT_FOR(standin_held() == 1);
	for (int i = 0; i < 40; i++)
		OK(cuMemcpyHtoD_v2(there, queued, 512 * KIB));
	WAIT_FOR(others_wait());
	OK(cuCtxSetCurrent(context));
	OK(cuGreenCtxDestroy(green));
	standin_log_reset();
	standin_release();
	pthread_join(copying, NULL);
	WAIT_FOR(others_wait());
	CHECK(strstr(standin_log_text(), "! cuCtxSetCurrent") == NULL);
	round_trip(queued, 1);
}

/* A block of a living context is still pinned, and the library knows it. */
static void check_still_pinned(char *block)
{
	int registered = standin_calls("cuMemHostRegister");

	CHECK_EQ(standin_pinned(block) != 0, preloaded());
	for (int i = 0; i < 20; i++)
		OK(cuMemcpyHtoD_v2(there, block, BYTES));
	CHECK_EQ(standin_calls("cuMemHostRegister"), registered);
	free(block);
}

TEST_AFTER_WITH(one_that_is_not_destroyed, begin(), "STANDIN_FAIL=cuCtxDestroy:1")
{
	char *block = promoted(BYTES);
	CHECK(cuCtxDestroy_v2(context) != CUDA_SUCCESS);
	check_still_pinned(block);
}

/* Makes the primary context current, with device memory. */
static CUcontext retained(void)
{
	CUcontext primary;

	OK(cuDevicePrimaryCtxRetain(&primary, 0));
	OK(cuCtxSetCurrent(primary));
	OK(cuMemAlloc_v2(&there, 64 * MIB));
	return primary;
}

TEST_AFTER_WITH(one_that_is_not_reset, begin(), "STANDIN_FAIL=cuDevicePrimaryCtxReset:1")
{
	retained();
	char *block = promoted(BYTES);
	CHECK(cuDevicePrimaryCtxReset_v2(0) != CUDA_SUCCESS);
	check_still_pinned(block);
}

TEST_AFTER(one_of_several_references_goes, begin())
{
	CUcontext primary = retained();

	OK(cuDevicePrimaryCtxRetain(&primary, 0));
	char *block = promoted(BYTES);
	OK(cuDevicePrimaryCtxRelease_v2(0));
	check_still_pinned(block);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
/* Only the last reference ends the registrations. */
TEST_AFTER(attached_and_detached, begin())
{
	CUcontext same;

	char *block = promoted(BYTES), *other = promoted(BYTES);
	OK(cuCtxAttach(&same, 0));
	CHECK(same == context);
	OK(cuCtxDetach(context));
	check_still_pinned(block);
	CHECK_EQ(standin_pinned(other) != 0, preloaded());
	OK(cuCtxDetach(context));
	CHECK_EQ(standin_registrations(), 0);
	OK(cuCtxCreate_v2(&context, 0, 0));
	OK(cuMemAlloc_v2(&there, 64 * MIB));
	round_trip(other, 1);
	/* An invalid handle is refused, and changes nothing. */
	CHECK(cuCtxDetach((CUcontext)0x1234) != CUDA_SUCCESS);
	check_still_pinned(other);
}
#pragma GCC diagnostic pop

static void *release_primary(void *arg)
{
	OK(cuDevicePrimaryCtxRelease_v2(0));
	return arg;
}

/* Another thread retains the context before the thread that has ended it asks whether it exists. */
TEST_AFTER(primary_retained_at_once, begin())
{
	CUcontext primary = retained(), again;

	char *block = promoted(BYTES);
	standin_hold("cuDevicePrimaryCtxRelease", STANDIN_AT_RETURN, 0);
	pthread_t releasing = check_thread(release_primary, NULL);
	WAIT_FOR(standin_held() == 1);
	OK(cuDevicePrimaryCtxRetain(&again, 0));
	CHECK(again == primary);
	standin_release();
	pthread_join(releasing, NULL);
	CHECK_EQ(standin_registrations(), 0);
	round_trip(block, 3);
}

/* A copy of another context, of a block that the context which ends has pinned. */
struct foreign {
	CUcontext context;
	char *block;
	CUdeviceptr from;
	CUstream stream;
	CUresult result;
};

static _Atomic bool ended, waited;

static void *destroy_first(void *arg)
{
	OK(cuCtxDestroy_v2(context));
	return arg;
}

static void *copy_there(void *arg)
{
	struct foreign *copy = arg;

	OK(cuCtxSetCurrent(copy->context));
	copy->result = cuMemcpyDtoHAsync_v2(copy->block, copy->from, BYTES, copy->stream);
	return NULL;
}

/* The copy goes on once the main thread waits for it, or has not waited. */
static void *release_copy(void *arg)
{
	WAIT_FOR(ended || thread_is_blocked(getpid()));
	waited = !ended;
	standin_release();
	return arg;
}

/* Without hotpin the block is pageable, and the end of another context does not concern the copy.
 */
static void end_during_a_copy(CUgreenCtx green)
{
	struct foreign copy = { .result = CUDA_ERROR_UNKNOWN };

	/* The program shares nothing: the block is taken from the free cache, still pinned. */
	char *first = promoted(BYTES);
	free(first);
	OK(cuCtxCreate_v2(&copy.context, 0, 0));
	OK(cuMemAlloc_v2(&copy.from, BYTES));
	OK(cuMemsetD8_v2(copy.from, 5, BYTES));
	OK(cuStreamCreate(&copy.stream, CU_STREAM_NON_BLOCKING));
	OK(cuCtxSynchronize());
	OK(cuCtxSetCurrent(NULL));
	copy.block = malloc(BYTES);
	memset(copy.block, 1, BYTES);
	CHECK(copy.block == first || !preloaded());
	standin_hold("cuMemcpyDtoHAsync", STANDIN_AT_CALL, 0);
	pthread_t copying = check_thread(copy_there, &copy);
	WAIT_FOR(standin_held() == 1);
	pthread_t releasing = check_thread(release_copy, NULL);
	OK(green != NULL ? cuGreenCtxDestroy(green) : cuCtxDestroy_v2(context));
	ended = true;
	pthread_join(copying, NULL);
	pthread_join(releasing, NULL);
	OK(copy.result);
	CHECK(waited || !preloaded());
	CHECK(copy.block[0] == 5 && copy.block[BYTES - 1] == 5);
	OK(cuCtxSetCurrent(copy.context));
	OK(cuCtxSynchronize());
	CHECK_EQ(standin_registrations(), 0);
}

CASE(ends_during_a_copy_of_another, begin(); end_during_a_copy(NULL))

CASE(green_one_ends_during_a_copy_of_another, begin(); end_during_a_copy(enter_green_context()))

/* A copy that comes while the context ends goes through other memory: it does not wait. */
TEST_AFTER(a_copy_begins_while_another_context_ends, begin())
{
	struct foreign copy = { .result = CUDA_ERROR_UNKNOWN };

	copy.block = promoted(BYTES);
	OK(cuCtxCreate_v2(&copy.context, 0, 0));
	OK(cuMemAlloc_v2(&copy.from, BYTES));
	OK(cuMemsetD8_v2(copy.from, 5, BYTES));
	OK(cuStreamCreate(&copy.stream, CU_STREAM_NON_BLOCKING));
	OK(cuCtxSynchronize());
	standin_hold("cuCtxDestroy", STANDIN_AT_CALL, 0);
	pthread_t ending = check_thread(destroy_first, NULL);
	WAIT_FOR(standin_held() == 1);
	copy_there(&copy);
	OK(copy.result);
	CHECK(copy.block[0] == 5 && copy.block[BYTES - 1] == 5);
	memset(copy.block, 6, BYTES);
	OK(cuMemcpyHtoD_v2(copy.from, copy.block, BYTES));
	OK(cuMemcpyHtoDAsync_v2(copy.from, copy.block, BYTES, copy.stream));
	memset(copy.block, 7, BYTES);
	OK(cuMemcpy((CUdeviceptr)copy.block, copy.from, BYTES));
	CHECK(copy.block[0] == 6 && copy.block[BYTES - 1] == 6);
	standin_release();
	pthread_join(ending, NULL);
	OK(cuMemcpyHtoD_v2(copy.from, copy.block, BYTES));
}

/* Without a current context the driver refuses the copy. */
TEST_AFTER(no_context, begin())
{
	char *block = promoted(BYTES);

	OK(cuCtxSetCurrent(NULL));
	CHECK_EQ(cuMemcpyHtoD_v2(there, block, BYTES), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuMemcpyDtoHAsync_v2(block, there, BYTES, NULL), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuCtxSetCurrent(context));
	round_trip(block, 3);
}

/* The program's copies report its own fault; our steps do not hide it. */
__attribute__((visibility("default"))) extern const unsigned standin_args_breaks[];
const unsigned standin_args_breaks[] = { 0 };

__attribute__((visibility("default"))) void standin_twin_breaks(const unsigned grid[3],
								const unsigned block[3],
								void **args);

void standin_twin_breaks(const unsigned grid[3], const unsigned block[3], void **args)
{
	(void)grid, (void)block, (void)args;
	standin_twin_fault(CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_AFTER(a_kernel_that_faults, begin())
{
	CUmodule module;
	CUfunction breaks;

	char *block = promoted(BYTES);
	OK(cuModuleLoadData(&module, "breaks"));
	OK(cuModuleGetFunction(&breaks, module, "breaks"));
	OK(cuLaunchKernel(breaks, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	CHECK_EQ(cuMemcpyDtoH_v2(block, there, BYTES), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(cuMemcpyHtoD_v2(there, block, BYTES), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	free(block);
	CHECK(malloc(BYTES) != NULL);
}

PRELOAD_MAIN()
