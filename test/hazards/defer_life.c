/*
 * defer_life.c - rows 11, 13, 21, 22, 25 and 27: sources that change or are freed, capture and
 * graphs, the end of contexts and of the process, kernels that wait, more copies than there is room
 * for.
 */
#include "thread.h"
#include "defer.h"

#include <sys/mman.h>

/* ---- the source ---- */

enum fate { OVERWRITTEN, FREED, GROWN, UNMAPPED, REPLACED, PROTECTED, ADVISED };

static void source_meets(enum fate fate, bool promoted)
{
	static const size_t sizes[] = { 4, 4 * KIB, 64 * KIB, 256 * KIB, MIB, UPLOAD_MOST };

	defer_begin();
	for (unsigned i = 0; i < 12 && check_failures == 0; i++) {
		size_t bytes = sizes[i % 6], room = bytes < PAGE ? PAGE : bytes;
		CUstream behind = i % 2 == 0 ? NULL : blocking;
		bool mapping = fate != FREED && fate != GROWN && fate != OVERWRITTEN;
		char *block = promoted  ? hot(UPLOAD_MOST)
			      : mapping ? mmap(NULL, room, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
					: malloc(room);

		fill(block, bytes, i);
		work(behind, WORD(1));
		OK((i % 4 == 2 ? own.put : cu.cuMemcpyHtoD_v2)(TARGET, block, bytes));
		switch (fate) {
		case OVERWRITTEN:
			memset(block, 0xee, room);
			free(block);
			break;
		case FREED:
			free(block);
			/* The next block gets the same place, if possible. */
			block = malloc(promoted ? UPLOAD_MOST : room);
			memset(block, 0xee, room);
			free(block);
			break;
		case GROWN:
			block = realloc(block, 3 * UPLOAD_MOST);
			memset(block, 0xee, room);
			free(block);
			break;
		case UNMAPPED:
			munmap(block, room);
			break;
		case REPLACED:
			CHECK(mmap(block, room, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == block);
			memset(block, 0xee, room);
			munmap(block, room);
			break;
		case PROTECTED:
			mprotect(block, room, PROT_NONE);
			munmap(block, room);
			break;
		case ADVISED:
			madvise(block, room, MADV_DONTNEED);
			memset(block, 0xee, room);
			munmap(block, room);
		}
		CHECK(device_holds(TARGET, bytes, i));
		if (check_failures != 0)
			printf("# copy %u, %zu bytes\n", i, bytes);
	}
}

CASE(row11_source_overwritten, source_meets(OVERWRITTEN, false))
CASE(row11_pinned_source_overwritten, source_meets(OVERWRITTEN, true))
CASE(row13_source_freed, source_meets(FREED, false))
CASE(row13_pinned_source_freed, source_meets(FREED, true))
CASE(row13_source_grown, source_meets(GROWN, false))
CASE(row13_pinned_source_grown, source_meets(GROWN, true))
CASE(row13_source_unmapped, source_meets(UNMAPPED, false))
CASE(row13_source_mapped_over, source_meets(REPLACED, false))
CASE(row13_source_protected, source_meets(PROTECTED, false))
CASE(row13_source_advised_away, source_meets(ADVISED, false))

/* The first copies of a block have it pinned; all of them are behind work. */
TEST_AFTER(row11_promoted_meanwhile, defer_begin())
{
	char *block = malloc(BYTES);
	for (unsigned i = 0; i < 24 && check_failures == 0; i++) {
		size_t bytes = i % 2 == 0 ? BYTES : 64 * KIB;

		fill(block, bytes, i);
		work_ns(i % 3 == 0 ? blocking : NULL, WORD(1), 500000);
		OK(cu.cuMemcpyHtoD_v2(TARGET, block, bytes));
		memset(block, 0xee, bytes);
		if (i % 4 == 3)
			copy_by_kernel(blocking, SEEN, TARGET, bytes);
		if (i % 4 == 3)
			CHECK(device_holds(SEEN, bytes, i));
	}
	free(block);
}

/* ---- fork ---- */

/* Returns 3 if the stand-in's child gets NOT_INITIALIZED, by its own two calls and no others. */
static int ask_as_child(void)
{
	int (*orphans)(void) = (int (*)(void))stand_in("standin_orphan_calls");
	char block[64] = { 0 };
	CUresult query = cu.cuStreamQuery(NULL), copy = cu.cuMemcpyHtoD_v2(TARGET, block, 64);

	return orphans == NULL || (orphans() == 2 && query == copy) ? 3 : 2;
}

static void forks(bool runs_something_else)
{
	defer_begin();
	for (unsigned i = 0; i < 6 && check_failures == 0; i++) {
		struct upload one;

		upload(&one, TARGET, i, 3);
		pid_t child = fork();
		if (child == 0) {
			if (runs_something_else)
				execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
			char *mine = malloc(BYTES);
			memset(mine, 1, BYTES);
			free(mine);
			_exit(ask_as_child());
		}
		copy_by_kernel(stream, SEEN, TARGET, one.bytes);
		OK(cu.cuStreamSynchronize(stream));
		CHECK(device_holds(SEEN, one.bytes, one.seed));
		CHECK_EQ(check_status(child), 3);
	}
}

CASE(row13_fork, forks(false))
CASE(row13_fork_and_exec, forks(true))

/* The child is a program with exit handlers. */
TEST_AFTER(row13_fork_and_exit, defer_begin())
{
	struct upload one;

	upload(&one, TARGET, 2, 1);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0)
		exit(3);
	/* A driver's own exit handlers may crash. */
	int status = check_status(child);
	SEE("child", status);
	CHECK(status == 3 || stand_in("standin_calls") == NULL);
	CHECK(device_holds(TARGET, one.bytes, one.seed));
}

/* ---- capture and graphs ---- */

static CUgraphExec instantiate(CUgraph graph)
{
	CUgraphExec exec = NULL;

	OK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cu.cuGraphDestroy(graph));
	return exec;
}

static CUgraphExec looking;

/* A graph that looks at the destination, launched after the copy. */
#define LAUNCHED(id, on)                                                                  \
	static CUdeviceptr look_##id(const struct upload *up)                             \
	{                                                                                 \
		OK(cu.cuGraphLaunch(looking, on));                                        \
		goes(on);                                                                 \
		OK(cu.cuStreamSynchronize(on));                                           \
		CHECK(device_holds(SEEN, up->bytes < 4096 ? up->bytes : 4096, up->seed)); \
		return up->to;                                                            \
	}                                                                                 \
	TEST(id)                                                                          \
	{                                                                                 \
		make_looking();                                                           \
		EACH(look_##id);                                                          \
		OK(cu.cuGraphExecDestroy(looking));                                       \
	}

static void make_looking(void)
{
	CUdeviceptr to, from;
	size_t bytes = 4096;
	void *arguments[] = { &to, &from, &bytes };
	CUDA_KERNEL_NODE_PARAMS params = { .gridDimX = 1,
					   .gridDimY = 1,
					   .gridDimZ = 1,
					   .blockDimX = 256,
					   .blockDimY = 1,
					   .blockDimZ = 1,
					   .kernelParams = arguments };
	CUgraph graph;
	CUgraphNode node;

	defer_begin();
	to = SEEN;
	from = TARGET;
	params.func = kernels.copy;
	OK(cu.cuGraphCreate(&graph, 0));
	OK(cu.cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
	looking = instantiate(graph);
}

LAUNCHED(row21_graph_on_another_stream, stream)
LAUNCHED(row21_graph_on_a_blocking_stream, blocking)
LAUNCHED(row21_graph_on_the_legacy_stream, NULL)
LAUNCHED(row21_graph_on_own_stream, CU_STREAM_PER_THREAD)

/*
 * Another thread copies during this thread's capture, which is allowed; its copies may be deferred.
 */
struct concurrent {
	CUresult results[4];
	bool wait;
};

static void *copy_meanwhile(void *arg)
{
	struct concurrent *my = arg;
	char block[4096];

	fill(block, sizeof(block), 50);
	my->results[0] = own.put(there + 60 * MIB, block, sizeof(block));
	my->results[1] = own.put(there + 61 * MIB, block, 64);
	memset(block, 0xee, sizeof(block));
	my->results[2] = own.get(block, there + 60 * MIB, sizeof(block));
	my->results[3] = holds(block, sizeof(block), 50) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
	return NULL;
}

/*
 * A copy is in flight when a capture begins: the capture succeeds, and its graph finds the bytes.
 */
static void captures(CUstreamCaptureMode mode, bool non_blocking, bool others)
{
	struct concurrent concurrent = { { 0 }, false };

	defer_begin();
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		CUstream on = non_blocking ? stream : blocking;
		CUgraph graph = NULL;
		struct upload one;

		upload(&one, TARGET, i, 5);
		OK(cu.cuStreamBeginCapture_v2(on, mode));
		copy_by_kernel(on, SEEN, TARGET, one.bytes);
		if (others && i < 2)
			in_thread(copy_meanwhile, &concurrent);
		CUresult ended = cu.cuStreamEndCapture(on, &graph);
		SEE("ended", ended);
		for (int n = 0; n < 4; n++)
			SEE("concurrent", concurrent.results[n]);
		if (ended != CUDA_SUCCESS)
			continue;
		CUgraphExec exec = instantiate(graph);
		OK(cu.cuGraphLaunch(exec, on));
		goes(on);
		OK(cu.cuStreamSynchronize(on));
		CHECK(device_holds(SEEN, one.bytes, one.seed));
		OK(cu.cuGraphExecDestroy(exec));
	}
}

#define CAPTURES(id, mode)                                             \
	TEST(row21_capture_##id)                                       \
	{                                                              \
		captures(CU_STREAM_CAPTURE_MODE_##mode, true, false);  \
	}                                                              \
	TEST(row21_capture_##id##_of_a_blocking_stream)                \
	{                                                              \
		captures(CU_STREAM_CAPTURE_MODE_##mode, false, false); \
	}                                                              \
	ALONE(row21_capture_##id##_during_others)                      \
	{                                                              \
		captures(CU_STREAM_CAPTURE_MODE_##mode, true, true);   \
	}

CAPTURES(global, GLOBAL)
CAPTURES(by_thread, THREAD_LOCAL)
CAPTURES(relaxed, RELAXED)

/*
 * Another thread begins a capture while this one is inside its copy.  The stand-in holds the copy
 * where the library checks whether it may return early; on a device the two only run concurrently.
 */
static _Atomic bool copy_begun, copy_done;

static void *capture_meanwhile(void *holds)
{
	CUgraph graph = NULL;

	WAIT_FOR(copy_done || (*(bool *)holds ? call_is_held() : copy_begun));
	OK(cu.cuCtxSetCurrent(primary));
	OK(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	if (*(bool *)holds)
		release_call();
	WAIT_FOR(copy_done);
	copy_by_kernel(stream, SEEN, TARGET, 4096);
	OK(cu.cuStreamEndCapture(stream, &graph));
	CUgraphExec exec = instantiate(graph);
	/*
	 * Without hotpin a graph may read what was there before a synchronous upload of 4 KiB that
	 * has returned (H200, driver 580.159: about half of the runs).
	 */
	if (!*(bool *)holds)
		OK(cu.cuCtxSynchronize());
	OK(cu.cuGraphLaunch(exec, stream));
	goes(stream);
	OK(cu.cuStreamSynchronize(stream));
	CHECK(device_holds(SEEN, 4096, 60));
	OK(cu.cuGraphExecDestroy(exec));
	return NULL;
}

ALONE_AFTER(row21_capture_begins_during_a_copy, defer_begin())
{
	char block[4096];

	work(NULL, WORD(1));
	bool holds = hold_call("cuCtxSetLimit");
	pthread_t thread = check_thread(capture_meanwhile, &holds);
	fill(block, sizeof(block), 60);
	copy_begun = true;
	OK(cu.cuMemcpyHtoD_v2(TARGET, block, sizeof(block)));
	memset(block, 0xee, sizeof(block));
	copy_done = true;
	pthread_join(thread, NULL);
}

/*
 * The result of a synchronous copy during this thread's own capture, and its effect on the capture.
 */
static void copies_in_capture(CUstream on, bool own_stream)
{
	static char block[4096];
	static const CUstreamCaptureMode modes[] = { CU_STREAM_CAPTURE_MODE_GLOBAL,
						     CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
						     CU_STREAM_CAPTURE_MODE_RELAXED };

	for (unsigned i = 0; i < 6; i++) {
		CUgraph graph = NULL;

		work(NULL, WORD(1));
		if (i % 2 == 0)
			OK(cu.cuMemcpyHtoD_v2(TARGET, block, sizeof(block)));
		OK(cu.cuStreamBeginCapture_v2(on, modes[i / 2]));
		SEE("copy",
		    (own_stream ? own.put : cu.cuMemcpyHtoD_v2)(TARGET, block, sizeof(block)));
		SEE("ended", cu.cuStreamEndCapture(on, &graph));
		if (graph != NULL)
			OK(cu.cuGraphDestroy(graph));
		OK(cu.cuCtxSynchronize());
	}
}

TEST_AFTER(row21_copies_in_a_capture, defer_begin())
{
	copies_in_capture(stream, false);
	copies_in_capture(blocking, false);
	copies_in_capture(stream, true);
	copies_in_capture(blocking, true);
}

/* ---- contexts and the process end ---- */

/* The context ends with copies in flight; the next context is unaffected. */
static void contexts_end(bool reset)
{
	defer_begin();
	for (unsigned i = 0; i < 6 && check_failures == 0; i++) {
		struct upload one;
		CUcontext context = NULL;

		if (!reset) {
			OK(cu.cuCtxCreate_v2(&context, 0, 0));
			begin_context();
			defer_context();
		}
		upload(&one, TARGET, i, i);
		if (reset) {
			OK(cu.cuDevicePrimaryCtxReset_v2(0));
			OK(cu.cuDevicePrimaryCtxRetain(&primary, 0));
		} else {
			OK(cu.cuCtxDestroy_v2(context));
		}
		OK(cu.cuCtxSetCurrent(primary));
		begin_context();
		defer_context();
		CUevent mine[16];
		for (unsigned n = 0; n < 16; n++) {
			OK(cu.cuEventCreate(&mine[n], CU_EVENT_DISABLE_TIMING));
			OK(cu.cuEventRecord(mine[n], stream));
		}
		OK(cu.cuStreamSynchronize(stream));
		upload(&one, TARGET, i, i + 1);
		copy_by_kernel(stream, SEEN, TARGET, one.bytes);
		/* None of them was mistaken for an earlier event. */
		for (unsigned n = 0; n < 16; n++)
			CHECK_EQ(native.cuEventQuery(mine[n]), CUDA_SUCCESS);
		OK(cu.cuStreamSynchronize(stream));
		CHECK(device_holds(SEEN, one.bytes, one.seed));
	}
}

CASE_ALONE(row22_context_destroyed, contexts_end(false))
CASE_ALONE(row22_context_reset, contexts_end(true))

/* Another thread destroys the context while this one still has it. */
static void *destroy_there(void *arg)
{
	OK(cu.cuCtxDestroy_v2(arg));
	return NULL;
}

ALONE_AFTER(row22_context_destroyed_by_another_thread, defer_begin())
{
	struct upload one;
	CUcontext context;

	OK(cu.cuCtxCreate_v2(&context, 0, 0));
	begin_context();
	defer_context();
	upload(&one, TARGET, 2, 0);
	in_thread(destroy_there, context);
	SEE("copy in what is left", cu.cuMemcpyHtoD_v2(TARGET, &one, 4));
	OK(cu.cuCtxSetCurrent(primary));
	begin_context();
	defer_context();
	upload(&one, TARGET, 2, 0);
	CHECK(device_holds(TARGET, one.bytes, one.seed));
}

/*
 * The process ends with a copy in flight, and with results of the work in memory that other
 * processes read.
 */
static void leaves(void (*leave)(int), bool shared, int status)
{
	uint32_t *page =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (CHECK_CHILD(status)) {
		struct upload one;

		defer_begin();
		if (shared)
			OK(cu.cuMemHostRegister_v2(page, PAGE, CU_MEMHOSTREGISTER_DEVICEMAP));
		scene.writes = shared ? (CUdeviceptr)page : WORD(0);
		scene.ms = 20;
		upload(&one, TARGET, 2, 0);
		page[1] = one.number;
		fflush(stdout);
		leave(check_failures == 0 ? 7 : 1);
	}
	CHECK(page[1] != 0);
	CHECK(!shared || page[0] == page[1]);
	munmap(page, PAGE);
}

static void return_to_libc(int status)
{
	exit(status);
}

static void run_another(int status)
{
	(void)status;
	execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
}

static void give_up(int status)
{
	(void)status;
	abort();
}

static void be_killed(int status)
{
	(void)status;
	kill(getpid(), 9);
}

#define LEAVES(id, how, status)             \
	ALONE(row22_##id)                   \
	{                                   \
		leaves(how, false, status); \
		leaves(how, true, status);  \
	}

LEAVES(exit, return_to_libc, 7)
LEAVES(_exit, _exit, 7)
LEAVES(quick_exit, quick_exit, 7)
LEAVES(exec, run_another, 7)
LEAVES(abort, give_up, -SIGABRT)
LEAVES(kill, be_killed, -SIGKILL)

/* ---- kernels that wait ---- */

static const uint32_t yes = 1, no;

/* A kernel on another stream waits for the copy itself. */
TEST_AFTER(row25_kernel_waits_for_the_copy, defer_begin())
{
	for (unsigned i = 0; i < 6 && check_failures == 0; i++) {
		uint32_t word = 1;

		OK(cu.cuMemcpyHtoD_v2(WORD(8), &no, 4));
		OK(cu.cuMemcpyHtoD_v2(WORD(9), &no, 4));
		OK(cu.cuCtxSynchronize());
		await(stream, WORD(8), WORD(9));
		work(i % 2 == 0 ? NULL : blocking, WORD(1));
		OK((i % 3 == 2 ? own.put : cu.cuMemcpyHtoD_v2)(WORD(8), &word, 4));
		word = 0;
		OK(cu.cuStreamSynchronize(stream));
		CHECK_EQ(word_of(WORD(9)), 0);
	}
}

/*
 * Freed blocks are unpinned while the program computes.  The unpinning waits for running work, and
 * other threads' calls wait for it.  At that moment a kernel comes, and the copy that it waits for.
 */
ALONE_AFTER(row25_kernel_waits_while_blocks_are_unpinned, defer_begin())
{
	const int count = SANITIZED ? 4 : 40;
	const struct timespec computing = { .tv_nsec = 12000000 };
	char *blocks[40];
	CUstream other;

	OK(cu.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < count; i++)
		blocks[i] = hot(24 * MIB);
	for (int i = 0; i < count; i++)
		free(blocks[i]);
	for (int i = 0; i < 400 && check_failures == 0; i++) {
		OK(cu.cuMemcpyHtoD_v2(WORD(8), &no, 4));
		OK(cu.cuMemcpyHtoD_v2(WORD(9), &no, 4));
		OK(cu.cuCtxSynchronize());
		await(stream, WORD(8), WORD(9));
		OK(cu.cuMemcpyHtoDAsync_v2(WORD(8), &yes, 4, other));
		OK(cu.cuStreamSynchronize(other));
		OK(cu.cuStreamSynchronize(stream));
		CHECK_EQ(word_of(WORD(9)), 0);
		nanosleep(&computing, NULL);
	}
}

/* The same behind more copies than can be staged at once. */
TEST_AFTER(row25_kernel_waits_for_many_copies, defer_begin())
{
	static char block[256 * KIB];

	OK(cu.cuMemcpyHtoD_v2(WORD(8), &no, 4));
	OK(cu.cuMemcpyHtoD_v2(WORD(9), &no, 4));
	OK(cu.cuCtxSynchronize());
	await(stream, WORD(8), WORD(9));
	work(NULL, WORD(1));
	for (unsigned i = 0; i < 64; i++)
		OK(cu.cuMemcpyHtoD_v2(TARGET + i * 256 * KIB, block, sizeof(block)));
	for (unsigned i = 0; i < 1500; i++)
		OK(cu.cuMemcpyHtoD_v2(TARGET, block, 64));
	OK(cu.cuMemcpyHtoD_v2(WORD(8), &yes, 4));
	OK(cu.cuStreamSynchronize(stream));
	CHECK_EQ(word_of(WORD(9)), 0);
}

/*
 * A kernel behind the copy waits for a later one.  A thread that waits in between waits for the
 * copy, and must not wait for that kernel.
 */
enum between { QUERY, EVENT_QUERY, ALLOCATE, FREE, ASK_MEMORY, CREATE, DOWNLOAD, NOTHING };

static void waits_for_later(enum between between)
{
	CUevent event;
	CUdeviceptr more = 0;
	CUstream other;

	defer_begin();
	OK(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	OK(cu.cuMemAlloc_v2(&more, 4096));
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		char back[64];
		struct upload one;

		OK(cu.cuMemcpyHtoD_v2(WORD(8), &no, 4));
		OK(cu.cuMemcpyHtoD_v2(WORD(9), &no, 4));
		OK(cu.cuCtxSynchronize());
		OK(cu.cuEventRecord(event, stream));
		upload(&one, TARGET, i, 0);
		await(blocking, WORD(8), WORD(9));
		switch (between) {
		case QUERY:
			CHECK_EQ(cu.cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
			break;
		case EVENT_QUERY:
			cu.cuEventQuery(event);
			break;
		case ALLOCATE:
			OK(cu.cuMemAllocAsync(&more, 4096, stream));
			break;
		case ASK_MEMORY: {
			size_t left, all;

			OK(cu.cuMemGetInfo_v2(&left, &all));
			break;
		}
		case CREATE:
			OK(cu.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
			OK(cu.cuStreamDestroy_v2(other));
			break;
		case DOWNLOAD:
			OK(cu.cuMemcpyDtoHAsync_v2(back, TARGET, 4, stream));
			CHECK(holds(back, 4, one.seed));
			break;
		default:
			break;
		}
		work_ns(stream, WORD(8), 0);
		OK(cu.cuStreamSynchronize(stream));
		OK(cu.cuStreamSynchronize(blocking));
		CHECK_EQ(word_of(WORD(9)), 0);
		CHECK(device_holds(TARGET, one.bytes, one.seed));
	}
}

CASE(row25_query_before_what_is_waited_for, waits_for_later(QUERY))
CASE(row25_event_query_before_what_is_waited_for, waits_for_later(EVENT_QUERY))
CASE(row25_allocation_before_what_is_waited_for, waits_for_later(ALLOCATE))
CASE(row25_question_before_what_is_waited_for, waits_for_later(ASK_MEMORY))
CASE(row25_stream_before_what_is_waited_for, waits_for_later(CREATE))
CASE(row25_copy_before_what_is_waited_for, waits_for_later(DOWNLOAD))
CASE(row25_nothing_before_what_is_waited_for, waits_for_later(NOTHING))

/* A stream waits for a word that another thread writes: the copy behind it waits, too. */
static _Atomic bool upload_begun, upload_done;

static void *write_the_word(void *result)
{
	/* A thread that waits for a device may spin. */
	WAIT_FOR(upload_done || (upload_begun && (stand_in("standin_calls") == NULL ||
						  thread_is_blocked(getpid()))));
	OK(cu.cuCtxSetCurrent(primary));
	*(CUresult *)result = cu.cuStreamWriteValue32_v2(stream, WORD(8), 1, 0);
	OK(cu.cuStreamSynchronize(stream));
	return NULL;
}

ALONE_AFTER(row25_another_thread_writes_the_word, defer_begin())
{
	CUresult result = CUDA_ERROR_UNKNOWN;
	char block[64];

	OK(cu.cuMemcpyHtoD_v2(WORD(8), &no, 4));
	OK(cu.cuCtxSynchronize());
	pthread_t thread = check_thread(write_the_word, &result);
	SEE("waits", cu.cuStreamWaitValue32_v2(blocking, WORD(8), 1, CU_STREAM_WAIT_VALUE_GEQ));
	fill(block, sizeof(block), 78);
	upload_begun = true;
	OK(cu.cuMemcpyHtoD_v2(TARGET, block, sizeof(block)));
	upload_done = true;
	pthread_join(thread, NULL);
	SEE("written", result);
	CHECK(device_holds(TARGET, 64, 78));
}

/* ---- too many ---- */

static void many(unsigned count, size_t bytes)
{
	const size_t step = bytes < 64 ? 64 : bytes, places = 16 * MIB / step;
	char *block = malloc(bytes);

	defer_begin();
	uint32_t number = work_ns(NULL, WORD(1), 10000000);
	for (unsigned i = 0; i < count; i++) {
		fill(block, bytes, i);
		OK(cu.cuMemcpyHtoD_v2(TARGET + i % places * step, block, bytes));
	}
	memset(block, 0xee, bytes);
	for (unsigned i = count > places ? count - (unsigned)places : 0;
	     i < count && check_failures == 0; i += 1 + count / 32)
		CHECK(device_holds(TARGET + i % places * step, bytes, i));
	CHECK_EQ(word_of(WORD(1)), number);
	free(block);
}

CASE(row27_many_small_copies, many(3000, 64); many(1500, 4 * KIB))
CASE(row27_many_copies, many(200, 64 * KIB); many(60, 256 * KIB))
CASE(row27_many_large_copies, many(12, 4 * MIB))

/*
 * Small copies do return early if nothing prevents it; otherwise all of this would prove nothing.
 */
TEST_AFTER(row27_small_copies_return_early, defer_begin())
{
	for (unsigned i = 0; i < UPLOADS; i++) {
		struct upload one;

		deferred = 0;
		upload(&one, TARGET, i, 0);
		CHECK(one.per_thread || one.bytes >= 64 * KIB || deferred == may_defer());
		CHECK(device_holds(TARGET, one.bytes, one.seed));
	}
}

/* A pinned source must be copied for this, which pays off only behind work. */
TEST_AFTER(row27_pinned_copies_return_early, defer_begin())
{
	CUevent worked;

	char *block = hot(BYTES);
	OK(cu.cuEventCreate(&worked, CU_EVENT_DISABLE_TIMING));
	for (size_t bytes = 32 * KIB; bytes <= 128 * KIB; bytes *= 2) {
		fill(block, bytes, 90);
		work(NULL, WORD(1));
		OK(cu.cuEventRecord(worked, NULL));
		OK(cu.cuMemcpyHtoD_v2(TARGET, block, bytes));
		memset(block, 0xee, bytes);
		CHECK_EQ(native.cuEventQuery(worked) == CUDA_ERROR_NOT_READY, may_defer());
		CHECK(device_holds(TARGET, bytes, 90));
	}
	OK(cu.cuEventDestroy_v2(worked));
	free(block);
}
