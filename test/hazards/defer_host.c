/*
 * defer_host.c - rows 1, 2, 8 and 23: memory that the device writes and the host reads without a
 * call, functions that run on the host, memory that other processes can read, text that kernels
 * print.
 *
 * Without the library, a synchronous copy returns after the earlier work on its stream, whose
 * results are then visible.
 */
#include "defer.h"
#include "shapes.h"
#include "ptx.h"

#include <fcntl.h>
#include <spawn.h>

/* Makes all uploads behind work that writes to `at`, which the host reads at `host`. */
static void work_is_seen(CUdeviceptr at, const volatile uint32_t *host)
{
	scene.writes = at;
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		struct upload one;

		upload(&one, TARGET, i, i);
		CHECK_EQ(*host, one.number);
		CHECK(device_holds(TARGET, one.bytes, one.seed));
	}
	scene.writes = WORD(0);
}

static void mapped(unsigned flags)
{
	void *host = NULL;
	CUdeviceptr at;

	defer_begin();
	OK(cu.cuMemHostAlloc(&host, 64, flags));
	OK(cu.cuMemHostGetDevicePointer_v2(&at, host, 0));
	work_is_seen(at, host);
	OK(cu.cuMemFreeHost(host));
}

CASE_ALONE(row01_mapped_memory, mapped(CU_MEMHOSTALLOC_DEVICEMAP))
CASE_ALONE(row01_pinned_memory, mapped(0))
CASE_ALONE(row01_write_combined_memory,
	   mapped(CU_MEMHOSTALLOC_WRITECOMBINED | CU_MEMHOSTALLOC_PORTABLE))

ALONE_AFTER(row01_allocated_on_the_host, defer_begin())
{
	void *host = NULL;

	OK(cu.cuMemAllocHost_v2(&host, 64));
	work_is_seen((CUdeviceptr)host, host);
	OK(cu.cuMemFreeHost(host));
}

ALONE(row01_registered_memory)
{
	static char block[2 * PAGE] __attribute__((aligned(PAGE)));
	CUdeviceptr at;

	defer_begin();
	OK(cu.cuMemHostRegister_v2(block, sizeof(block), CU_MEMHOSTREGISTER_DEVICEMAP));
	OK(cu.cuMemHostGetDevicePointer_v2(&at, block, 0));
	work_is_seen(at, (const volatile uint32_t *)block);
	OK(cu.cuMemHostUnregister(block));
}

/* A block of malloc() memory that the library may have pinned before. */
ALONE_AFTER(row01_registered_block, defer_begin())
{
	CUdeviceptr at;

	char *block = hot(BYTES);
	OK(cu.cuMemHostRegister_v2(block, BYTES, CU_MEMHOSTREGISTER_DEVICEMAP));
	OK(cu.cuMemHostGetDevicePointer_v2(&at, block, 0));
	work_is_seen(at, (const volatile uint32_t *)block);
	OK(cu.cuMemHostUnregister(block));
	free(block);
}

/* One of several pins remains; then none, then one again. */
ALONE_AFTER(row01_one_of_several, defer_begin())
{
	void *host[3];
	CUdeviceptr at;

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3; i++)
			OK(cu.cuMemHostAlloc(&host[i], 64, CU_MEMHOSTALLOC_DEVICEMAP));
		OK(cu.cuMemFreeHost(host[0]));
		OK(cu.cuMemFreeHost(host[2]));
		OK(cu.cuMemHostGetDevicePointer_v2(&at, host[1], 0));
		work_is_seen(at, host[1]);
		OK(cu.cuMemFreeHost(host[1]));
	}
}

/* Frees that fail change nothing. */
ALONE_AFTER(row01_failed_frees, defer_begin())
{
	static char not_pinned[64];
	void *host = NULL;
	CUdeviceptr at;

	OK(cu.cuMemHostAlloc(&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
	OK(cu.cuMemHostGetDevicePointer_v2(&at, host, 0));
	CHECK(cu.cuMemFreeHost((char *)host + 4) != CUDA_SUCCESS);
	CHECK(cu.cuMemFreeHost(not_pinned) != CUDA_SUCCESS);
	CHECK(cu.cuMemHostUnregister(host) != CUDA_SUCCESS);
	CHECK(cu.cuMemHostUnregister(not_pinned) != CUDA_SUCCESS);
	work_is_seen(at, host);
	OK(cu.cuMemFreeHost(host));
}

ALONE_AFTER(row01_managed_memory, defer_begin())
{
	CUdeviceptr at;

	OK(cu.cuMemAllocManaged(&at, 64, CU_MEM_ATTACH_GLOBAL));
	work_is_seen(at, (const volatile uint32_t *)at);
	OK(cu.cuMemFree_v2(at));
}

/* A global variable in managed memory: no call shows this, only the module's image. */
ALONE(row01_managed_variable)
{
	static const char image[] =
		".version 7.0\n"
		".target sm_70\n"
		".address_size 64\n"
		".visible .global .attribute(.managed) .align 4 .u32 seen[16];\n"
		".visible .entry nothing() { ret; }\n";
	CUmodule module;
	CUdeviceptr at;
	size_t bytes;

	defer_begin();
	if (stand_in("standin_calls") != NULL)
		SKIP("no image is looked into here");
	OK(cu.cuModuleLoadData(&module, image));
	OK(cu.cuModuleGetGlobal_v2(&at, &bytes, module, "seen"));
	work_is_seen(at, (const volatile uint32_t *)at);
}

static void *allocate_there(void *arg)
{
	OK(cu.cuMemHostAlloc(arg, 64, CU_MEMHOSTALLOC_DEVICEMAP));
	return NULL;
}

ALONE_AFTER(row01_allocated_by_another_thread, defer_begin())
{
	void *host = NULL;

	in_thread(allocate_there, &host);
	work_is_seen((CUdeviceptr)host, host);
	OK(cu.cuMemFreeHost(host));
}

/* Allocated in a context that has ended, and in one that still exists. */
ALONE_AFTER(row01_allocated_in_another_context, defer_begin())
{
	CUcontext second, third;
	void *host = NULL, *gone = NULL;

	OK(cu.cuCtxCreate_v2(&second, 0, 0));
	OK(cu.cuMemHostAlloc(&host, 64, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
	OK(cu.cuCtxCreate_v2(&third, 0, 0));
	OK(cu.cuMemHostAlloc(&gone, 64, CU_MEMHOSTALLOC_PORTABLE));
	OK(cu.cuCtxDestroy_v2(third));
	OK(cu.cuCtxSetCurrent(primary));
	work_is_seen((CUdeviceptr)host, host);
}

/* It is allocated while the copy is in flight, and written by later work. */
ALONE_AFTER(row01_allocated_after_the_copy, defer_begin())
{
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		struct upload one;
		void *host = NULL;

		upload(&one, TARGET, i, 1);
		OK(cu.cuMemHostAlloc(&host, UPLOAD_MOST, CU_MEMHOSTALLOC_DEVICEMAP));
		copy_by_kernel(stream, (CUdeviceptr)host, TARGET, one.bytes);
		OK(cu.cuStreamSynchronize(stream));
		CHECK(holds(host, one.bytes, one.seed));
		OK(cu.cuMemFreeHost(host));
	}
}

/* A copy to pinned memory is in flight. */
static uint32_t *landing;

static void fetch_number(const struct upload *up)
{
	OK(cu.cuMemcpyDtoHAsync_v2(landing, scene.writes, 4, up->behind));
}

static void fetched_by(void (*fetch)(const struct upload *))
{
	scene.also = fetch;
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		struct upload one;

		upload(&one, TARGET, i, i + 1);
		CHECK_EQ(*(volatile uint32_t *)landing, one.number);
		CHECK(device_holds(TARGET, one.bytes, one.seed));
	}
	scene.also = NULL;
}

ALONE_AFTER(row01_copy_to_pinned_memory_in_flight, defer_begin())
{
	OK(cu.cuMemHostAlloc((void **)&landing, 64, 0));
	fetched_by(fetch_number);
	OK(cu.cuMemFreeHost(landing));
}

/* Memory of malloc() that the library has pinned without the program's knowledge. */
ALONE_AFTER(row01_copy_to_our_pinned_memory_in_flight, defer_begin())
{
	landing = (uint32_t *)hot(BYTES);
	fetched_by(fetch_number);
	free(landing);
}

/* A graph with a download is in flight: no call of the launch shows this. */
static CUgraphExec fetching;

static void launch_fetching(const struct upload *up)
{
	OK(cu.cuGraphLaunch(fetching, up->behind));
}

static void fetched_by_graph(CUgraph graph)
{
	OK(cu.cuGraphInstantiateWithFlags(&fetching, graph, 0));
	OK(cu.cuGraphDestroy(graph));
	fetched_by(launch_fetching);
	OK(cu.cuGraphExecDestroy(fetching));
}

static uint32_t landing_place[16];

ALONE_AFTER(row01_captured_download, defer_begin())
{
	CUgraph graph;

	landing = landing_place;
	OK(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cu.cuMemcpyDtoHAsync_v2(landing, scene.writes, 4, stream));
	OK(cu.cuStreamEndCapture(stream, &graph));
	fetched_by_graph(graph);
}

ALONE_AFTER(row01_graph_downloads, defer_begin())
{
	CUgraph graph;
	CUgraphNode node;

	landing = landing_place;
	CUDA_MEMCPY3D box =
		shape_box(in_host(landing, 4), 1, in_device(scene.writes, 4), 1, 4, 1, 1);
	OK(cu.cuGraphCreate(&graph, 0));
	OK(cu.cuGraphAddMemcpyNode(&node, graph, NULL, 0, &box, primary));
	fetched_by_graph(graph);
}

/* Devices that can read and write all host memory. */
TEST_AFTER_WITH(row01_any_memory, defer_begin(), "HAZARDS=alone", "STANDIN_HMM=1")
{
	static volatile uint32_t anywhere;
	int yes = 0;

	OK(cu.cuDeviceGetAttribute(&yes, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0));
	if (!yes)
		SKIP("this device does not");
	work_is_seen((CUdeviceptr)&anywhere, &anywhere);
}

/* The host reads the copy's own source, which is pinned and written by earlier work. */
ALONE_AFTER(row01_source_is_written_by_the_device, defer_begin())
{
	void *host = NULL;

	OK(cu.cuMemHostAlloc(&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
	for (unsigned i = 0; i < 4; i++) {
		CUstream behind = i % 2 == 0 ? NULL : blocking;
		uint32_t number = work(behind, (CUdeviceptr)host);

		OK(cu.cuMemcpyHtoD_v2(TARGET, host, 4));
		*(uint32_t *)host = 0;
		CHECK_EQ(word_of(TARGET), number);
	}
	OK(cu.cuMemFreeHost(host));
}

/*
 * A queued copy writes the source of the next one, which must be read after that, from any memory.
 */
static void chained(char *block)
{
	for (unsigned i = 0; i < 8 && check_failures == 0; i++) {
		CUstream behind = i % 2 == 0 ? NULL : blocking;
		uint32_t number = work(behind, WORD(2));

		OK(cu.cuMemcpyDtoHAsync_v2(block, WORD(2), 4, behind));
		OK((i % 4 != 2 ? cu.cuMemcpyHtoD_v2 : own.put)(TARGET, block, 256 * KIB));
		memset(block, 0, 256 * KIB);
		CHECK_EQ(word_of(TARGET), number);
	}
}

ALONE_AFTER(row01_source_is_written_by_a_copy, defer_begin())
{
	static char data[256 * KIB];
	void *host = NULL;

	chained(data);
	char *block = hot(BYTES);
	chained(block);
	free(block);
	OK(cu.cuMemHostAlloc(&host, 256 * KIB, 0));
	chained(host);
	OK(cu.cuMemFreeHost(host));
}

/* ---- functions on the host ---- */

static volatile uint32_t called, *called_source;
static uint32_t calls;

static void note(void *number)
{
	called = (uint32_t)(uintptr_t)number;
	if (called_source != NULL)
		*called_source = called;
}

static void note_callback(CUstream on, CUresult result, void *number)
{
	(void)on;
	note(result == CUDA_SUCCESS ? number : NULL);
}

static void call_function(const struct upload *up)
{
	OK(cu.cuLaunchHostFunc(up->behind, note, (void *)(uintptr_t)++calls));
}

static void call_back(const struct upload *up)
{
	OK(cu.cuStreamAddCallback(up->behind, note_callback, (void *)(uintptr_t)++calls, 0));
}

static CUgraphExec host_graph;

static void launch_graph(const struct upload *up)
{
	calls = 7777;
	OK(cu.cuGraphLaunch(host_graph, up->behind));
}

static void calls_are_seen(void (*also)(const struct upload *))
{
	scene.also = also;
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		struct upload one;

		called = 0;
		upload(&one, TARGET, i, i + 2);
		CHECK_EQ(called, calls);
		CHECK(device_holds(TARGET, one.bytes, one.seed));
	}
	scene.also = NULL;
}

CASE_ALONE(row02_host_function, defer_begin(); calls_are_seen(call_function))
CASE_ALONE(row02_callback, defer_begin(); calls_are_seen(call_back))

ALONE(row02_graph_with_a_host_node)
{
	CUDA_HOST_NODE_PARAMS params = { .fn = note, .userData = (void *)(uintptr_t)7777 };
	CUgraph graph;
	CUgraphNode node;

	defer_begin();
	OK(cu.cuGraphCreate(&graph, 0));
	OK(cu.cuGraphAddHostNode(&node, graph, NULL, 0, &params));
	OK(cu.cuGraphInstantiateWithFlags(&host_graph, graph, 0));
	OK(cu.cuGraphDestroy(graph));
	calls_are_seen(launch_graph);
	OK(cu.cuGraphExecDestroy(host_graph));
}

ALONE_AFTER(row02_captured_host_function, defer_begin())
{
	CUgraph graph;

	OK(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cu.cuLaunchHostFunc(stream, note, (void *)(uintptr_t)7777));
	OK(cu.cuStreamEndCapture(stream, &graph));
	OK(cu.cuGraphInstantiateWithFlags(&host_graph, graph, 0));
	OK(cu.cuGraphDestroy(graph));
	calls_are_seen(launch_graph);
	OK(cu.cuGraphExecDestroy(host_graph));
}

/*
 * The host function writes the copy's source; small copies are staged by the library if the option
 * asks for it.
 */
TEST_AFTER_WITH(row02_function_writes_the_source, defer_begin(), "HAZARDS=alone",
		"HOTPIN_ROUTE=stage")
{
	static char block[64 * KIB];

	called_source = (volatile uint32_t *)block;
	for (unsigned i = 1; i < 8 && check_failures == 0; i++) {
		CUstream behind = i % 2 == 0 ? NULL : blocking;
		size_t bytes = i % 3 == 0 ? 4 : i % 3 == 1 ? 4 * KIB : sizeof(block);

		memset(block, 0, sizeof(block));
		work(behind, WORD(2));
		OK(cu.cuLaunchHostFunc(behind, note, (void *)(uintptr_t)(1000 + i)));
		OK(cu.cuMemcpyHtoD_v2(TARGET, block, bytes));
		CHECK_EQ(word_of(TARGET), 1000 + i);
	}
	called_source = NULL;
}

/*
 * A later host function, on another stream, finds the copy's bytes where a kernel has put them for
 * it.
 */
static volatile uint32_t found, *look_at;

static void look(void *unused)
{
	(void)unused;
	found = *look_at;
}

ALONE_AFTER(row02_function_behind_the_copy, defer_begin())
{
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		struct upload one;
		void *host = NULL;

		upload(&one, TARGET, i, 3);
		OK(cu.cuMemAllocHost_v2(&host, 64));
		look_at = host;
		*look_at = 0;
		copy_by_kernel(stream, (CUdeviceptr)host, TARGET, 4);
		OK(cu.cuLaunchHostFunc(stream, look, NULL));
		OK(cu.cuStreamSynchronize(stream));
		CHECK_EQ(found, (uint32_t)word_at(0, one.seed));
		OK(cu.cuMemFreeHost(host));
	}
}

/* ---- memory that others read ---- */

/* After the copy nothing is in flight, because no call of this process would make others wait. */
static void is_over_at_once(CUdeviceptr to)
{
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		struct upload one;

		upload(&one, to, i, i + 3);
		CHECK(is_over());
		OK(cu.cuCtxSynchronize());
		CHECK(device_holds(to, one.bytes, one.seed));
	}
}

ALONE_AFTER(row08_sync_memops, defer_begin())
{
	unsigned yes = 1;
	CUdeviceptr at;

	OK(cu.cuMemAlloc_v2(&at, UPLOAD_MOST));
	OK(cu.cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
	is_over_at_once(at);
	OK(cu.cuMemFree_v2(at));
}

#define SYNC_MEMOPS_OF_A_CONTEXT 0x80 /* CU_CTX_SYNC_MEMOPS, since CUDA 12.1 */

ALONE_AFTER(row08_context_of_sync_memops, defer_begin())
{
	CUcontext context;
	CUdeviceptr at;

	CUresult result = cu.cuCtxCreate_v2(&context, SYNC_MEMOPS_OF_A_CONTEXT, 0);
	SEE("context", result);
	if (result != CUDA_SUCCESS)
		SKIP("no such flag");
	begin_context();
	defer_context();
	OK(cu.cuMemAlloc_v2(&at, UPLOAD_MOST));
	is_over_at_once(at);
}

ALONE_AFTER(row08_handle_for_others, defer_begin())
{
	CUipcMemHandle handle;
	CUdeviceptr at;

	OK(cu.cuMemAlloc_v2(&at, UPLOAD_MOST));
	CUresult result = cu.cuIpcGetMemHandle(&handle, at);
	SEE("handle", result);
	if (result != CUDA_SUCCESS)
		SKIP("no handles here");
	is_over_at_once(at);
	OK(cu.cuMemFree_v2(at));
}

/*
 * The handle is exported while the copy is in flight; without the library the copy is complete
 * then.
 */
ALONE_AFTER(row08_handle_behind_the_copy, defer_begin())
{
	CUipcMemHandle handle;
	CUdeviceptr at;

	OK(cu.cuMemAlloc_v2(&at, UPLOAD_MOST));
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		struct upload one;

		upload(&one, at, i, i + 1);
		CUresult result = cu.cuIpcGetMemHandle(&handle, at);
		SEE("handle", result);
		if (result != CUDA_SUCCESS)
			SKIP("no handles here");
		CHECK(is_over());
		CHECK(device_holds(at, one.bytes, one.seed));
	}
	OK(cu.cuMemFree_v2(at));
}

/* The same with memory that gets SYNC_MEMOPS. */
ALONE_AFTER(row08_sync_memops_behind_the_copy, defer_begin())
{
	unsigned yes = 1;
	CUdeviceptr at;

	OK(cu.cuMemAlloc_v2(&at, UPLOAD_MOST));
	struct upload one;
	upload(&one, at, 2, 0);
	OK(cu.cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
	CHECK(is_over());
	CHECK(device_holds(at, one.bytes, one.seed));
	OK(cu.cuMemFree_v2(at));
}

/* Two processes: the other one is this program again, see row08_other_process_reads. */
struct order {
	CUipcMemHandle handle;
	uint64_t bytes;
	uint32_t seed;
};

TEST_WITH(row08_reader, "HAZARDS=alone")
{
	const char *from = getenv("DEFER_ORDERS"), *to = getenv("DEFER_ANSWERS");
	CUdeviceptr at = 0;
	struct order order;

	if (from == NULL || to == NULL)
		SKIP("started by another test only");
	defer_begin();
	int in = atoi(from), out = atoi(to);
	while (read(in, &order, sizeof(order)) == (ssize_t)sizeof(order)) {
		char right;

		if (at == 0)
			OK(cu.cuIpcOpenMemHandle_v2(&at, order.handle,
						    CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
		copy_by_kernel(stream, SEEN, at, order.bytes);
		OK(cu.cuStreamSynchronize(stream));
		right = (char)device_holds(SEEN, order.bytes, order.seed);
		if (write(out, &right, 1) != 1)
			break;
	}
	OK(cu.cuIpcCloseMemHandle(at));
}

extern char **environ;

ALONE_AFTER(row08_other_process_reads, defer_begin())
{
	char program[] = "/proc/self/exe", run[] = "--child", name[] = "row08_reader", text[32];
	char *const arguments[] = { program, run, name, NULL };
	int orders[2], answers[2];
	struct order order;
	CUdeviceptr at;
	pid_t child;

	OK(cu.cuMemAlloc_v2(&at, UPLOAD_MOST));
	CUresult result = cu.cuIpcGetMemHandle(&order.handle, at);
	SEE("handle", result);
	if (result != CUDA_SUCCESS || stand_in("standin_calls") != NULL)
		SKIP("nobody can open handles here");
	CHECK(pipe(orders) == 0 && pipe(answers) == 0);
	snprintf(text, sizeof(text), "%d", orders[0]);
	setenv("DEFER_ORDERS", text, 1);
	snprintf(text, sizeof(text), "%d", answers[1]);
	setenv("DEFER_ANSWERS", text, 1);
	fcntl(orders[1], F_SETFD, FD_CLOEXEC);
	fcntl(answers[0], F_SETFD, FD_CLOEXEC);
	CHECK_EQ(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ), 0);
	close(orders[0]);
	close(answers[1]);
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		struct upload one;
		char right = 0;

		upload(&one, at, i, 5);
		order.bytes = one.bytes;
		order.seed = one.seed;
		CHECK(write(orders[1], &order, sizeof(order)) == (ssize_t)sizeof(order));
		CHECK(read(answers[0], &right, 1) == 1 && right);
	}
	close(orders[1]);
	CHECK_EQ(check_status(child), CHECK_REACHED_ITS_END);
}

/* ---- text of kernels ---- */

/* Prints "kernel" on the device, then "host": a synchronous copy in between keeps the order. */
static void say(CUfunction says, CUstream on)
{
	uint64_t ns = 3000000, aloud = 1;
	void *arguments[] = { &ns, &aloud };
	char block[64] = { 0 };

	OK(cu.cuLaunchKernel(says, 1, 1, 1, 1, 1, 1, 0, on, arguments, NULL));
	OK(cu.cuMemcpyHtoD_v2(TARGET, block, sizeof(block)));
	CHECK(write(STDOUT_FILENO, "host\n", 5) == 5);
}

/* Checks the output of `print` in a process of its own, including the end of the process. */
static void prints(void (*print)(CUfunction), const char *wanted)
{
	char text[4096] = "";
	size_t length = 0;
	ssize_t got;
	int pipes[2];

	if (stand_in("standin_calls") != NULL || (find_driver(), stand_in("standin_calls") != NULL))
		SKIP("kernels cannot print here");
	CHECK_EQ(pipe(pipes), 0);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		CUmodule module;
		CUfunction says;

		dup2(pipes[1], STDOUT_FILENO);
		close(pipes[0]);
		defer_begin();
		OK(cu.cuModuleLoadData(&module, ptx_saying));
		OK(cu.cuModuleGetFunction(&says, module, "test_say"));
		print(says);
		_exit(check_failures == 0 ? 0 : 1);
	}
	close(pipes[1]);
	while ((got = read(pipes[0], text + length, sizeof(text) - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = '\0';
	CHECK_EQ(check_status(child), 0);
	if (!CHECK(strcmp(text, wanted) == 0))
		printf("# said: %s", text);
}

static void print_in_turn(CUfunction says)
{
	for (int i = 0; i < 3; i++) {
		say(says, NULL);
		say(says, blocking);
	}
}

ALONE(row23_in_turn)
{
	prints(print_in_turn, "kernel\nhost\nkernel\nhost\nkernel\nhost\n"
			      "kernel\nhost\nkernel\nhost\nkernel\nhost\n");
}

static void print_and_leave(CUfunction says)
{
	say(says, NULL);
	_exit(0);
}

CASE_ALONE(row23_before_the_end, prints(print_and_leave, "kernel\nhost\n"))

/* The driver allows changes of the printf buffer's size only until a kernel may print. */
TEST_AFTER_WITH(row23_a_kernel_may_print, defer_begin(), "HAZARDS=alone",
		"STANDIN_FAIL=cuCtxSetLimit:1:1")
{
	if (stand_in("standin_calls") == NULL)
		SKIP("kernels print by themselves here");
	is_over_at_once(TARGET);
}
