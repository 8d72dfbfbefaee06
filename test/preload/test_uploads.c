/*
 * test_uploads.c - synchronous uploads that return before the transfer has completed.
 *
 * test_routes.c tests single copies, test_visibility.c what makes all of them wait, and
 * test/hazards/defer*.c what a program could observe.
 */
#include "uploads.h"

#include <errno.h>
#include <pthread.h>

/* Uploads followed by a download or by work; returns the number of direct uploads. */
static unsigned straight_of(char *block, size_t bytes, bool work, unsigned turns)
{
	char *back = malloc(bytes);
	unsigned straight = 0;

	for (unsigned i = 0; i < turns; i++) {
		fill(block, bytes, i);
		standin_log_reset();
		OK(cuMemcpyHtoD_v2(there, block, bytes));
		straight += standin_calls("cuMemcpyHtoD") != 0;
		memset(block, 0, bytes);
		if (work)
			launch(NULL);
		OK(cuMemcpyDtoH_v2(back, there, bytes));
		CHECK(holds(back, bytes, i));
	}
	free(back);
	return straight;
}

/*
 * A program that downloads immediately is faster with a complete upload; one in seventeen is tried.
 */
TEST_AFTER(followed_by_a_download, start())
{
	char *block = promoted(MIB);

	CHECK_EQ(straight_of(block, 64 * KIB, true, 40), preloaded() ? 0 : 40);
	CHECK_EQ(straight_of(block, 64 * KIB, false, 170), preloaded() ? 160 : 170);
	CHECK_EQ(straight_of(block, 16 * KIB, false, 40), preloaded() ? 0 : 40);
	/* Forgotten after so many. */
	CHECK_EQ(straight_of(block, 32 * KIB, true, 40), preloaded() ? 16 : 40);
}

/* A burst of uploads has one event, recorded before other work follows. */
TEST_AFTER(a_burst_has_one_event, start())
{
	waits(array, 64);
	OK(cuCtxSynchronize());
	launch(NULL);
	standin_log_reset();
	for (size_t i = 0; i < 100; i++)
		OK(cuMemcpyHtoD_v2(there + i * 64, array, 64));
	CHECK_EQ(standin_calls("cuEventRecord"), 0);
	launch(NULL);
	CHECK_EQ(standin_calls("cuEventRecord"), preloaded() ? 1 : 0);
	launch(NULL);
	CHECK_EQ(standin_calls("cuEventRecord"), preloaded() ? 1 : 0);
	/* A download is ordered after all of that by itself. */
	char back[64];
	standin_log_reset();
	OK(cuMemcpyDtoH_v2(back, there, 64));
	CHECK_EQ(standin_calls("cuEventSynchronize"), 0);
	standin_log_reset();
	OK(cuMemFree_v2(there));
	CHECK_EQ(standin_calls("cuEventSynchronize"), 0);
}

/*
 * It is undocumented what the driver does in such calls.  Without the library, the copy is complete
 * by then, so it is here.  One call of each class that no stream orders.
 */
TEST(calls_of_every_class_come_behind)
{
	CUstream mine, made;
	CUevent event;
	CUgraph graph;
	CUstreamCaptureStatus status;
	cuuint64_t id;
	size_t bytes;
	static const char *const classes[] = { "WAIT",    "OBSERVE", "MEMORY",
					       "CAPTURE", "LIFE",    "SETTLE" };

	start();
	OK(cuStreamCreate(&mine, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&event, 0));
	OK(cuGraphCreate(&graph, 0));
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		CHECK_EQ(waits_always(array, 64), !preloaded());
		CHECK(!preloaded() || standin_pending(NULL) > 0);
		if (i == 0)
			OK(cuStreamSynchronize(mine));
		else if (i == 1)
			OK(cuStreamQuery(mine));
		else if (i == 2)
			OK(cuMemGetInfo_v2(&bytes, &bytes));
		else if (i == 3)
			OK(cuStreamGetCaptureInfo_v2(mine, &status, &id, NULL, NULL, NULL));
		else if (i == 4)
			OK(cuStreamCreate(&made, 0));
		else
			OK(cuGraphAddMemsetNode(
				&(CUgraphNode){ NULL }, graph, NULL, 0,
				&(CUDA_MEMSET_NODE_PARAMS){
					.dst = there, .elementSize = 1, .width = 1, .height = 1 },
				context));
		if (!CHECK_EQ(standin_pending(NULL), 0))
			printf("# %s\n", classes[i]);
	}
}

/* Such a stream has an unknown order; its work still comes after the copy. */
TEST_AFTER_WITH(streams_that_nothing_is_known_of, start(), "STANDIN_FAIL=cuStreamGetFlags:1:400")
{
	CUstream stream;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_EQ(waits_always(array, 64), !preloaded());
	launch(stream);
	CHECK_EQ(standin_pending(NULL), 0);
}

/*
 * Device memory that is declared as host memory: the driver goes by the address, and waits for
 * nothing.  Although it is called a synchronous download, earlier work is not complete afterwards.
 */
TEST_AFTER(a_copy_to_the_host_that_is_none, start())
{
	CUdeviceptr to = 0;
	CUstream unordered;

	OK(cuMemAlloc_v2(&to, 64));
	OK(cuStreamCreate(&unordered, CU_STREAM_NON_BLOCKING));
	OK(cuMemsetD8_v2(there, 1, 64));
	OK(cuCtxSynchronize());
	memset(array, 2, 64);
	launch(NULL);
	OK(cuMemcpyHtoD_v2(there, array, 64));
	errno = 77;
	OK(cuMemcpyDtoH_v2((void *)(there + MIB), there + 2 * MIB, 64));
	CHECK_EQ(errno, 77);
	OK(cuMemcpyDtoDAsync_v2(to, there, 64, unordered));
	OK(cuStreamSynchronize(unordered));
	CHECK_EQ(*(char *)standin_host(to), 2);
}

/* A query about unknown memory would take a quarter of such a copy's time. */
TEST_AFTER(a_copy_to_the_host_asks_nobody, start())
{
	char back[64];

	launch(NULL);
	OK(cuMemcpyHtoD_v2(there, array, 64));
	standin_log_reset();
	OK(cuMemcpyDtoH_v2(back, there, 64));
	CHECK_EQ(standin_calls("cuPointerGetAttribute"), 0);
	CHECK_EQ(back[0], 1);
}

/*
 * The driver returns from an upload on the thread's own stream while the legacy stream is busy, so
 * later calls must not wait for the legacy stream.
 */
TEST_AFTER_WITH(an_upload_on_the_own_stream_is_not_waited_for, start(), "STANDIN_AHEAD=1")
{
	size_t bytes;

	launch(NULL);
	OK(cuMemcpyHtoD_v2_ptds(there, array, 64));
	OK(cuMemGetInfo_v2(&bytes, &bytes));
	CHECK(standin_pending(NULL) > 0);
}

/* The driver's answer is that of the program's own call. */
TEST_AFTER(an_upload_that_the_driver_refuses, start())
{
	CHECK_EQ(cuMemcpyHtoD_v2(there + 64 * MIB, array, 64), CUDA_ERROR_INVALID_VALUE);
}

static void *enter_the_context(void *unused)
{
	(void)unused;
	OK(cuCtxSetCurrent(context));
	CHECK_EQ(standin_pending(NULL), 0);
	return NULL;
}

/*
 * Another thread may know that an upload has returned, so it comes after the upload.  From then on
 * no call of either thread waits for work that plain CUDA does not wait for: uploads are complete
 * when they return.
 */
TEST_AFTER(another_thread_ends_deferral, start())
{
	CHECK_EQ(waits(array, 64), !preloaded());
	CHECK_EQ(standin_pending(NULL) > 0, preloaded());
	check_in_thread(enter_the_context, NULL);
	CHECK(waits(array, 64));
	CHECK_EQ(standin_pending(NULL), 0);
}

TEST_AFTER_WITH(not_if_told_so, start(), "HOTPIN_ASYNC=0")
{
	CHECK(waits(array, 64));
	CHECK(waits(array, MIB));
}

/*
 * A thread that dlopen() waits for may make calls that need no lock of the loader without the
 * library.
 */
static void *upload_meanwhile(void *unused)
{
	char block[KIB];

	(void)unused;
	fill(block, sizeof(block), 5);
	OK(cuCtxSetCurrent(context));
	errno = 77;
	OK(cuMemcpyHtoD_v2(there, block, sizeof(block)));
	CHECK_EQ(errno, 77);
	memset(block, 0, sizeof(block));
	return NULL;
}

__attribute__((visibility("default"))) void while_opening(void);

void while_opening(void)
{
	check_in_thread(upload_meanwhile, NULL);
	CHECK(device_holds(there, KIB, 5));
}

TEST_AFTER(while_a_library_is_opened, start())
{
	standin_log_reset();
	alarm(check_limit(10));
	CHECK(dlopen("libopening.so", RTLD_NOW) != NULL);
	CHECK_EQ(standin_calls("cuMemcpyHtoD"), 1);
}

PRELOAD_MAIN()
