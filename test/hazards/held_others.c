/*
 * held_others.c - other actions while a stream is held: other work, memory and streams that are
 * created and destroyed, blocks of the library that are freed, pinned and unpinned, threads and
 * processes, graphs.
 */
#include "held.h"
#include "shapes.h"

#include <malloc.h>
#include <time.h>

#define BLOCKS 12

static char *blocks[BLOCKS];
static CUevent event;
static CUgraph graph;
static CUgraphExec exec;
static char *hot_block;
static const char words[64] = "a source that lives on";

static unsigned blocks_now(void)
{
	return stand_in("standin_calls") != NULL ? 6 : BLOCKS;
}

static size_t block_bytes(void)
{
	return stand_in("standin_calls") != NULL ? 16 * MIB : 64 * MIB;
}

static void rest_ms(unsigned ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

/*
 * Possible next actions of the program, on a stream that is not held.  They have a place of their
 * own: a synchronous upload that has returned may still write its target (upload-seen in
 * doc/measurements.md).
 */
static void go_on(void)
{
	char back[64];

	OK(cu.cuMemcpyHtoDAsync_v2(WORD(16), words, sizeof(words), other));
	work_ns(other, WORD(4), 1000);
	OK(cu.cuMemcpyDtoHAsync_v2(back, WORD(16), sizeof(back), other));
	OK(cu.cuStreamSynchronize(other));
	CHECK(memcmp(back, words, sizeof(back)) == 0);
}

/* ---- other work, on every stream ---- */

static void record(const struct action *action)
{
	OK(cu.cuEventRecord(event, kind_stream(action->kind)));
	cu.cuEventQuery(event);
}

static void query(const struct action *action)
{
	cu.cuStreamQuery(kind_stream(action->kind));
}

static void synchronize(const struct action *action)
{
	OK(cu.cuStreamSynchronize(kind_stream(action->kind)));
}

static void wait_event(const struct action *action)
{
	OK(cu.cuEventRecord(event, other));
	OK(cu.cuStreamWaitEvent(kind_stream(action->kind), event, 0));
}

static void set(const struct action *action)
{
	OK(cu.cuMemsetD8Async(SEEN, 7, MIB, kind_stream(action->kind)));
}

static void move(const struct action *action)
{
	OK(cu.cuMemcpyDtoDAsync_v2(SEEN, there, MIB, kind_stream(action->kind)));
}

static void launch(const struct action *action)
{
	work_ns(kind_stream(action->kind), WORD(5), 1000);
}

static void allocate_async(const struct action *action)
{
	CUdeviceptr at;

	OK(cu.cuMemAllocAsync(&at, MIB, kind_stream(action->kind)));
	OK(cu.cuMemFreeAsync(at, kind_stream(action->kind)));
}

static void box(const struct action *action)
{
	static char host[64 * KIB];
	CUDA_MEMCPY3D box = shape_box(in_device(SEEN, 64), 16, in_host(host, 128), 32, 64, 16, 16);

	OK(cu.cuMemcpy3DAsync_v2(&box, kind_stream(action->kind)));
}

/* Uploads that may return early, then work of the same stream, and of another. */
static void uploads(const struct action *action)
{
	static char host[256 * KIB];

	for (int i = 0; i < 20; i++)
		OK((action->kind == OWN ? own.put : cu.cuMemcpyHtoD_v2)(SEEN, host, 4 * KIB));
	OK((action->kind == OWN ? own.put : cu.cuMemcpyHtoD_v2)(SEEN, host, sizeof(host)));
	work_ns(kind_stream(action->kind), WORD(5), 1000);
	go_on();
}

static void host_function(void *unused)
{
	(void)unused;
}

static void call_host(const struct action *action)
{
	OK(cu.cuLaunchHostFunc(kind_stream(action->kind), host_function, NULL));
}

/* ---- calls without a stream ---- */

static void set_at_once(const struct action *action)
{
	(void)action;
	OK(cu.cuMemsetD8_v2(SEEN, 3, 64 * KIB));
	OK(cu.cuMemcpyDtoD_v2(SEEN, there, 64 * KIB));
}

static void ask_memory(const struct action *action)
{
	size_t left, all;

	(void)action;
	OK(cu.cuMemGetInfo_v2(&left, &all));
	CHECK(!is_pinned(words));
}

static void ask_promoted(const struct action *action)
{
	CUmemorytype type = 0;
	unsigned flags = 0;

	(void)action;
	cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)hot_block);
	cu.cuMemHostGetFlags(&flags, hot_block);
}

static void device_memory(const struct action *action)
{
	CUdeviceptr at;

	(void)action;
	OK(cu.cuMemAlloc_v2(&at, 4 * MIB));
	OK(cu.cuMemFree_v2(at));
}

static void host_memory(const struct action *action)
{
	void *at;

	(void)action;
	OK(cu.cuMemAllocHost_v2(&at, MIB));
	OK(cu.cuMemFreeHost(at));
}

static void streams_and_events(const struct action *action)
{
	CUstream made;
	CUevent recorded;

	(void)action;
	OK(cu.cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
	OK(cu.cuEventCreate(&recorded, CU_EVENT_DISABLE_TIMING));
	work_ns(made, WORD(6), 1000);
	OK(cu.cuEventRecord(recorded, made));
	OK(cu.cuEventSynchronize(recorded));
	OK(cu.cuEventDestroy_v2(recorded));
	OK(cu.cuStreamDestroy_v2(made));
}

/* ---- blocks ---- */

static void make_hot(const struct action *action)
{
	(void)action;
	for (unsigned i = 0; i < blocks_now(); i++)
		blocks[i] = promoted(block_bytes(), 12);
}

static void make_hot_one(const struct action *action)
{
	(void)action;
	hot_block = promoted(16 * MIB, 12);
}

static void free_hot_one(const struct action *action)
{
	(void)action;
	free(hot_block);
}

static void free_blocks(const struct action *action)
{
	(void)action;
	for (unsigned i = 0; i < BLOCKS; i++) {
		free(blocks[i]);
		blocks[i] = NULL;
	}
}

static void churn(const struct action *action)
{
	(void)action;
	for (size_t bytes = 64 * KIB; bytes <= 256 * MIB; bytes *= 4) {
		char *one = malloc(bytes), *two = calloc(1, bytes);

		mark(one, bytes < MIB ? bytes : MIB, 5);
		one = realloc(one, bytes * 2);
		CHECK(marked(one, bytes < MIB ? bytes : MIB, 5));
		one = realloc(one, bytes / 2);
		free(two);
		free(one);
	}
}

static void free_and_go_on(const struct action *action)
{
	free_blocks(action);
	go_on();
	malloc_trim(0);
	go_on();
}

/* Long enough for cached blocks to expire. */
static void free_and_rest(const struct action *action)
{
	free_blocks(action);
	for (unsigned i = 0; i < (preloaded() ? 22 : 1); i++) {
		rest_ms(50);
		go_on();
	}
}

/* Some blocks are freed, others need their place: with a small budget, above it. */
static void replace(const struct action *action)
{
	for (unsigned i = 0; i < blocks_now(); i++) {
		free(blocks[i]);
		blocks[i] = malloc(block_bytes() / 2);
		mark(blocks[i], MIB, i);
		for (int copies = 0; copies < 6; copies++)
			OK(cu.cuMemcpyHtoDAsync_v2(there, blocks[i], block_bytes() / 2, third));
		OK(cu.cuStreamSynchronize(third));
		go_on();
	}
	free_and_go_on(action);
}

/*
 * One of the first copies makes the block worth pinning, which happens in the background during the
 * next.
 */
static void upload_warm(const struct action *action)
{
	char *warm = malloc(5 * MIB);

	mark(warm, 5 * MIB, 3);
	for (int i = 0; i < 40; i++) {
		OK(cu.cuMemcpyHtoD_v2(there, warm, MIB));
		OK(cu.cuMemcpyHtoDAsync_v2(SEEN, warm, 64 * KIB, kind_stream(action->kind)));
	}
	free(warm);
}

static void resize_hot(const struct action *action)
{
	(void)action;
	hot_block = realloc(hot_block, 40 * MIB);
	go_on();
	hot_block = realloc(hot_block, 256 * KIB);
	go_on();
}

/* ---- threads and processes ---- */

static void *copy_for_a_while(void *arg)
{
	char *mine = malloc(4 * MIB);

	mark(mine, 4 * MIB, 9);
	for (int i = 0; i < 30; i++) {
		OK(cu.cuMemcpyHtoDAsync_v2(SEEN + 4 * MIB, mine, 4 * MIB, third));
		OK(cu.cuStreamSynchronize(third));
		work_ns(third, WORD(7), 1000);
		rest_ms(5);
	}
	free(mine);
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

/* The thread ends with uploads on its own stream. */
static void *upload_own(void *arg)
{
	static char host[64 * KIB];

	OK(cu.cuMemcpyHtoDAsync_v2(SEEN, host, 4 * KIB, CU_STREAM_PER_THREAD));
	if (arg != NULL)
		OK(own.put(SEEN, host, sizeof(host)));
	return NULL;
}

static void thread_ends(const struct action *action)
{
	(void)action;
	in_thread(nothing, NULL);
}

static void thread_ends_behind_async(const struct action *action)
{
	(void)action;
	in_thread(upload_own, NULL);
}

static void thread_ends_behind(const struct action *action)
{
	(void)action;
	in_thread(upload_own, (void *)words);
}

static void *run_meanwhile(void *arg)
{
	OK(cu.cuCtxSetCurrent(arg));
	return copy_for_a_while(NULL);
}

/* Another thread copies while blocks are freed, and others pinned. */
static void concurrent(const struct action *action)
{
	CUcontext context;

	OK(cu.cuCtxGetCurrent(&context));
	pthread_t thread = check_thread(run_meanwhile, context);
	replace(action);
	pthread_join(thread, NULL);
}

static void fork_one(const struct action *action)
{
	pid_t child = fork();

	(void)action;
	if (child == 0)
		_exit(7);
	CHECK_EQ(check_status(child), 7);
	CHECK_EQ(system("exit 3") / 256, 3);
}

static void open_library(const struct action *action)
{
	void *maths = dlopen("libm.so.6", RTLD_NOW), *again = dlopen("libcuda.so.1", RTLD_NOW);

	(void)action;
	CHECK(maths != NULL && again != NULL);
	CHECK(dlsym(again, "cuInit") != NULL);
	dlclose(again);
	dlclose(maths);
}

/* ---- graphs ---- */

static void capture(const struct action *action)
{
	(void)action;
	OK(cu.cuStreamBeginCapture_v2(third, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cu.cuMemsetD8Async(SEEN, 9, 4 * KIB, third));
	OK(cu.cuMemcpyDtoDAsync_v2(SEEN + MIB, SEEN, 4 * KIB, third));
	OK(cu.cuStreamEndCapture(third, &graph));
}

static void instantiate(const struct action *action)
{
	(void)action;
	OK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
}

static void launch_graph(const struct action *action)
{
	OK(cu.cuGraphLaunch(exec, kind_stream(action->kind)));
}

static void destroy_graph(const struct action *action)
{
	(void)action;
	OK(cu.cuGraphExecDestroy(exec));
	OK(cu.cuGraphDestroy(graph));
}

static void prefetch(const struct action *action)
{
	static CUdeviceptr managed;

	(void)action;
	if (managed == 0)
		OK(cu.cuMemAllocManaged(&managed, MIB, CU_MEM_ATTACH_GLOBAL));
	OK(cu.cuMemPrefetchAsync(managed, MIB, 0, other));
}

/* The order matters: actions after which device work stays host-visible come last. */
static const struct action on_every_stream[] = {
	{ .name = "record", .run = record },
	{ .name = "query", .run = query },
	{ .name = "synchronize", .run = synchronize },
	{ .name = "wait for an event", .run = wait_event },
	{ .name = "set", .run = set },
	{ .name = "move", .run = move },
	{ .name = "launch", .run = launch },
	{ .name = "allocate", .run = allocate_async },
	{ .name = "box", .run = box },
	{ .name = "uploads", .run = uploads },
};

static const struct action once[] = {
	/* First, because fork() copies all pinned pages while the device is busy. */
	{ .name = "fork", .run = fork_one, .takes_ms = 300 },
	{ .name = "set at once", .run = set_at_once },
	{ .name = "ask memory", .run = ask_memory },
	{ .name = "ask promoted", .prepare = make_hot_one, .run = ask_promoted },
	{ .name = "free promoted", .run = free_hot_one },
	{ .name = "device memory", .run = device_memory },
	{ .name = "host memory", .run = host_memory },
	{ .name = "streams and events", .run = streams_and_events },
	{ .name = "churn", .run = churn, .takes_ms = 100 },
	{ .name = "free and go on", .prepare = make_hot, .run = free_and_go_on, .takes_ms = 100 },
	{ .name = "replace", .prepare = make_hot, .run = replace, .takes_ms = 400 },
	{ .name = "resize", .prepare = make_hot_one, .run = resize_hot, .check = free_hot_one },
	{ .name = "concurrent", .prepare = make_hot, .run = concurrent, .takes_ms = 500 },
	{ .name = "thread", .run = thread_ends },
	{ .name = "thread behind async", .run = thread_ends_behind_async, .modeled_only = true },
	{ .name = "thread behind", .run = thread_ends_behind, .modeled_only = true },
	{ .name = "open", .run = open_library },
	{ .name = "capture", .run = capture },
	{ .name = "instantiate", .run = instantiate },
};

static void each_kind(const struct action *action)
{
	for (int kind = 0; kind < STREAM_KINDS; kind++) {
		struct action one = *action;

		one.kind = kind;
		snprintf(one.name, sizeof(one.name), "%.40s, %d", action->name, kind);
		held(&one);
	}
}

void held_others(void)
{
	OK(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	for (size_t i = 0; i < sizeof(on_every_stream) / sizeof(on_every_stream[0]); i++)
		each_kind(&on_every_stream[i]);
	for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++)
		held(&once[i]);
	held(&(struct action){
		.name = "upload while it is pinned", .run = upload_warm, .takes_ms = 250 });
	for (int kind = 0; kind < STREAM_KINDS; kind++)
		held(&(struct action){
			.name = "launch a graph", .run = launch_graph, .kind = kind });
	destroy_graph(NULL);
	if (thorough)
		held(&(struct action){ .name = "free and rest",
				       .prepare = make_hot,
				       .run = free_and_rest,
				       .takes_ms = 1150 });
	held(&(struct action){ .name = "prefetch", .run = prefetch });
	each_kind(&(struct action){ .name = "call the host", .run = call_host });
}
