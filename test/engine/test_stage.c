/*
 * test_stage.c - staged copies on the stand-in driver: bytes, order and refusals.
 *
 * The stand-in reads and writes pinned memory when an operation runs, so reusing or emptying a unit
 * of the area too early produces wrong bytes.
 */
#include "base/counters.h"
#include "base/parse.h"
#include "stage/area.h"
#include "stage/memory.h"
#include "stage/stage.h"
#include "stage/stageable.h"
#include "stage/workers.h"
#include "pin/pin.h"

#include "linked.h"
#include "pattern.h"
#include "../standin/standin.h"
#include "sizes.h"
#include "thread.h"

#include <linux/mempolicy.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define MOST (20 * MIB)

static CUcontext context;
static CUdeviceptr there; /* MOST bytes */

static void begin(uint64_t staging, unsigned threads)
{
	linked_load(linked_look_up);
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&context, 0, 0));
	OK(cuMemAlloc_v2(&there, MOST));
	pin_start(4 * staging); /* room for two areas */
	area_start(staging, 1);
	workers_start(threads);
}

/* Buffers of the program that are not from our heap. */
static char in_data[MOST] = { 1 };

struct program {
	char *memory[3];
	CUstream streams[5]; /* none, blocking, non-blocking, legacy and per-thread */
	unsigned seed;
};

static void make_program(struct program *program)
{
	program->memory[0] = in_data;
	program->memory[1] = malloc(MOST);
	program->memory[2] =
		mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	program->streams[0] = NULL;
	OK(cuStreamCreate(&program->streams[1], 0));
	OK(cuStreamCreate(&program->streams[2], CU_STREAM_NON_BLOCKING));
	program->streams[3] = CU_STREAM_LEGACY;
	program->streams[4] = CU_STREAM_PER_THREAD;
}

/* Makes one random copy, and repeats it by the driver's own means. */
static void copy_once(struct program *program)
{
	unsigned *seed = &program->seed, pattern = (unsigned)rand_r(seed);
	char on_stack[256 * KIB];
	bool small = rand_r(seed) % 4 == 0;
	size_t most = small ? sizeof(on_stack) : MOST;
	size_t bytes = 1 + (size_t)rand_r(seed) % (rand_r(seed) % 3 ? most / 8 : most);
	size_t from = (size_t)rand_r(seed) % (most - bytes + 1);
	size_t to = (size_t)rand_r(seed) % (MOST - bytes + 1);
	char *host = (small ? on_stack : program->memory[rand_r(seed) % 3]) + from;
	struct stage_copy copy = {
		.to_device = rand_r(seed) & 1,
		.asynchronous = rand_r(seed) & 1,
		.per_thread = rand_r(seed) & 1,
		.device = there + to,
		.host = host,
		.shape = shape_of_run(bytes),
		.workers = (unsigned)rand_r(seed) % 9,
	};
	char *device = standin_host(there + to);

	if (copy.asynchronous)
		copy.stream = program->streams[rand_r(seed) % 5];
	if (copy.to_device)
		fill(host, bytes, pattern);
	else
		fill(device, bytes, pattern);
	bool whole = CHECK(stage_is_possible(&copy)) && CHECK_EQ(stage_run(&copy), bytes);
	if (!whole || !CHECK(holds(copy.to_device ? device : host, bytes, pattern)))
		printf("# %s of %zu bytes, workers %u\n", copy.to_device ? "H2D" : "D2H", bytes,
		       copy.workers);
}

/* Copies rows between memories with different patterns, and compares both sides byte by byte. */
static bool check_rows(const struct stage_copy *copy)
{
	const struct shape *shape = &copy->shape;
	bool up = copy->to_device;
	size_t on_host = shape_extent(shape), bytes = shape_bytes(shape), run;
	char *host = copy->host, *device = standin_host(copy->device);
	char *to = up ? device : host, *from = up ? host : device;

	fill(from, up ? on_host : bytes, 1);
	memset(to, 0x33, up ? bytes : on_host);
	if (!CHECK(stage_is_possible(copy)) || !CHECK_EQ(stage_run(copy), bytes))
		return false;
	for (size_t at = 0; at < bytes; at += run) {
		size_t place = shape_offset(shape, at, &run);

		if (!CHECK(memcmp(host + place, device + at, run) == 0))
			return false;
		memset(up ? device + at : host + place, 0x33, run);
	}
	for (size_t i = 0; i < (up ? bytes : on_host); i++)
		if (to[i] != 0x33)
			return CHECK_EQ(to[i], 0x33);
	return true;
}

static void rows_once(struct program *program)
{
	unsigned *seed = &program->seed;
	struct shape shape = { .width = 1 + (size_t)rand_r(seed) % (rand_r(seed) & 1 ? 9000 : MIB),
			       .rows = 1 + (size_t)rand_r(seed) % 200,
			       .slices = 1 + (size_t)rand_r(seed) % 4 };

	shape.pitch = shape.width + (rand_r(seed) & 1 ? (size_t)rand_r(seed) % 6000 : 0);
	shape.slice = shape.pitch * (shape.rows + (size_t)rand_r(seed) % 3);
	if (shape_extent(&shape) > MOST)
		return;
	struct stage_copy copy = { .to_device = rand_r(seed) & 1,
				   .per_thread = rand_r(seed) & 1,
				   .device = there,
				   .host = program->memory[rand_r(seed) % 3],
				   .shape = shape,
				   .workers = (unsigned)rand_r(seed) % 5 };
	check_rows(&copy);
}

/* ThreadSanitizer finds less in a single thread, and is slow. */
#ifdef __SANITIZE_THREAD__
#define STRIDE 12 /* of the refused calls */
#define STEPS  4
#else
#define STRIDE 1
#define STEPS  16
#endif

static void walk(uint64_t staging, unsigned threads)
{
	static struct program program = { .seed = 7 };

	begin(staging, threads);
	CHECK(area_is_there(1));
	make_program(&program);
	for (int i = STEPS; i > 0 && check_failures == 0; i--) {
		copy_once(&program);
		rows_once(&program);
	}
	CHECK_EQ(standin_registered_bytes(), staging / (2 * MIB) * (2 * MIB));
	OK(cuCtxDestroy_v2(context));
}

CASE(random_alone, walk(32 * MIB, 0))
CASE(random_one, walk(33 * MIB, 1))
CASE(random_eight, walk(32 * MIB, 8))
CASE(random_small_region, walk(8 * MIB, 3))

/* Gaps between rows, between slices, and both, with small slices and with large ones. */
TEST(gaps)
{
	static const size_t sizes[][3] = { { 3000, 3, 50 }, { 3000, 60, 3 }, { 150000, 2, 2 } };

	begin(32 * MIB, 2);
	CHECK(area_is_there(1));
	for (int i = 0; i < 3 * 8 && check_failures == 0; i++) {
		const size_t *size = sizes[i / 8];
		struct shape shape = { .width = size[0], .rows = size[1], .slices = size[2] };

		shape.pitch = size[0] + (i & 1 ? 100 : 0);
		shape.slice = shape.pitch * (size[1] + (i & 2 ? 1 : 0));
		struct stage_copy copy = { .to_device = i & 4,
					   .device = there,
					   .host = in_data,
					   .shape = shape,
					   .workers = 2 };
		if (!check_rows(&copy))
			printf("# combination %d\n", i);
	}
}

static struct stage_copy simple(char *host, size_t bytes, bool to_device)
{
	return (struct stage_copy){ .to_device = to_device,
				    .device = there,
				    .host = host,
				    .shape = shape_of_run(bytes),
				    .workers = 2 };
}

/* Copies wait for earlier work on their stream, as the driver's do. */
TEST(order)
{
	begin(32 * MIB, 2);
	CHECK(area_is_there(1));

	CUstream stream;
	OK(cuStreamCreate(&stream, 0));
	fill(in_data, 5 * MIB, 1);
	for (int flavor = 0; flavor < 2; flavor++) {
		/*
		 * The copy must come after the memset, which is on a blocking stream for the legacy
		 * one.
		 */
		OK(cuMemsetD8Async(there, 0x55, 6 * MIB, flavor ? CU_STREAM_PER_THREAD : stream));
		struct stage_copy copy = simple(in_data, 5 * MIB, true);
		copy.per_thread = flavor;
		CHECK_EQ(stage_run(&copy), 5 * MIB);
		OK(cuCtxSynchronize());
		CHECK(holds(standin_host(there), 5 * MIB, 1));

		OK(cuMemsetD8Async(there, 0x66, 6 * MIB, flavor ? CU_STREAM_PER_THREAD : stream));
		copy = simple(in_data + 8 * MIB, 5 * MIB, false);
		copy.per_thread = flavor;
		CHECK_EQ(stage_run(&copy), 5 * MIB);
		for (size_t i = 0; i < 5 * MIB; i++)
			if (in_data[8 * MIB + i] != 0x66 && !CHECK_EQ(in_data[8 * MIB + i], 0x66))
				break;
	}
	OK(cuMemsetD8Async(there, 0x77, 6 * MIB, stream));
	struct stage_copy copy = simple(in_data, 3 * MIB, false);
	copy.asynchronous = true;
	copy.stream = stream;
	CHECK_EQ(stage_run(&copy), 3 * MIB);
	CHECK_EQ(in_data[3 * MIB - 1], 0x77);
	/* Nothing is left on any stream. */
	CHECK_EQ(standin_pending(stream), 0);
	CHECK_EQ(standin_pending(NULL), 0);
}

/* Copies that are not between plain pageable memory and plain device memory. */
TEST(what_is_not_staged)
{
	void *pinned;
	CUdeviceptr managed, foreign;
	CUcontext other;
	CUstream stream, others;

	begin(32 * MIB, 0);
	OK(cuMemHostAlloc(&pinned, 4 * MIB, 0));
	OK(cuMemAllocManaged(&managed, 4 * MIB, CU_MEM_ATTACH_GLOBAL));
	OK(cuStreamCreate(&stream, 0));
	struct stage_copy copy = simple(in_data, 4 * MIB, true);
	CHECK(stage_is_possible(&copy));

	copy.host = pinned;
	CHECK(!stage_was_registered(pinned));
	CHECK(!stage_is_possible(&copy));
	CHECK(stage_was_registered((char *)pinned + 4 * MIB - 1));
	CHECK(!stage_was_registered((char *)pinned + 4 * MIB));
	copy.host = (char *)managed;
	CHECK(!stage_is_possible(&copy));
	copy.host = (char *)there;
	CHECK(!stage_is_possible(&copy));
	copy.host = in_data;
	copy.device = managed;
	CHECK(!stage_is_possible(&copy));
	copy.device = (CUdeviceptr)pinned;
	CHECK(!stage_is_possible(&copy));
	copy.device = (CUdeviceptr)in_data;
	CHECK(!stage_is_possible(&copy));

	/* Up to the last byte, and one byte too many. */
	copy.device = there + MOST - 4 * MIB;
	CHECK(stage_is_possible(&copy));
	copy.device++;
	CHECK(!stage_is_possible(&copy));
	copy.device = there;
	copy.host = (void *)-(2 * MIB);
	CHECK(!stage_is_possible(&copy));
	copy.host = in_data;

	copy.asynchronous = true;
	copy.stream = stream;
	CHECK(stage_is_possible(&copy));
	OK(cuCtxCreate_v2(&other, 0, 0));
	OK(cuStreamCreate(&others, 0));
	OK(cuMemAlloc_v2(&foreign, 4 * MIB));
	CHECK(!stage_is_possible(&copy)); /* the stream belongs to the first context */
	copy.device = foreign;
	CHECK(!stage_is_possible(&copy)); /* still */
	copy.stream = others;
	CHECK(stage_is_possible(&copy));
	copy.device = there;
	CHECK(!stage_is_possible(&copy)); /* the memory belongs to the first context */
	copy.device = foreign;
	OK(cuCtxSetCurrent(NULL));
	CHECK(!stage_is_possible(&copy));
}

TEST(known_ranges_are_asked_again)
{
	void *pinned[6];

	begin(32 * MIB, 0);
	for (int i = 0; i < 6; i++) {
		OK(cuMemHostAlloc(&pinned[i], MIB, 0));
		struct stage_copy copy = simple(pinned[i], MIB, true);
		CHECK(!stage_is_possible(&copy));
		CHECK(stage_was_registered(pinned[i]));
	}
	int often = 0;
	while (often < 10000 && stage_was_registered(pinned[5]))
		often++;
	CHECK(often > 100 && often < 10000);
}

static CUstream stalled[4];
static CUdeviceptr flag;

static void *copy_behind(void *arg)
{
	int i = (int)(intptr_t)arg;
	struct stage_copy copy = simple(in_data + 4 * MIB * (size_t)i, 4 * MIB, true);

	OK(cuCtxSetCurrent(context));
	copy.asynchronous = true;
	copy.stream = stalled[i];
	copy.device = there + 4 * MIB * (size_t)i;
	CHECK_EQ(stage_run(&copy), 4 * MIB);
	return NULL;
}

/* Held streams keep their units; a copy on another stream never waits for these. */
TEST(stalled_streams)
{
	pthread_t threads[4];
	CUstream free_stream;

	begin(8 * MIB, 2);
	CHECK(area_is_there(1));
	OK(cuMemAlloc_v2(&flag, 64));
	OK(cuMemsetD8_v2(flag, 0, 64));
	OK(cuStreamCreate(&free_stream, CU_STREAM_NON_BLOCKING));
	fill(in_data, MOST, 5);
	for (int i = 0; i < 2; i++) {
		OK(cuStreamCreate(&stalled[i], CU_STREAM_NON_BLOCKING));
		OK(cuStreamWaitValue32_v2(stalled[i], flag, 1, CU_STREAM_WAIT_VALUE_EQ));
		pthread_create(&threads[i], NULL, copy_behind, (void *)(intptr_t)i);
	}
	/* 8 MiB need four units: both streams hold two. */
	WAIT_FOR(standin_pending(stalled[0]) >= 3 && standin_pending(stalled[1]) >= 3);

	char *host = in_data + 10 * MIB;
	struct stage_copy copy = simple(host, 2 * MIB, true);
	copy.asynchronous = true;
	copy.stream = free_stream;
	copy.device = there + 10 * MIB;
	CHECK_EQ(stage_run(&copy), 0);

	OK(cuMemsetD32Async(flag, 1, 1, free_stream));
	OK(cuStreamSynchronize(free_stream));
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(stage_run(&copy), 2 * MIB);
	CHECK(holds(standin_host(there), 8 * MIB, 5));
}

static void refuse(const char *what)
{
	setenv("STANDIN_FAIL", what, 1);
}

TEST(events_refused)
{
	refuse("cuEventCreate:3");
	begin(32 * MIB, 0);
	CHECK(area_is_there(1));
	struct stage_copy copy = simple(in_data, 4 * MIB, true);
	CHECK_EQ(stage_run(&copy), 0);
	/* The units were released. */
	for (int i = 0; i < 20; i++)
		CHECK_EQ(stage_run(&copy), 4 * MIB);
}

/*
 * Refuses each driver call of a copy once: the part that was copied is right, and the driver copies
 * the rest.
 */
static void refuse_each(const char *name, bool to_device)
{
	char what[64];

	for (int nth = 1; nth <= 12; nth += STRIDE + nth / 3) {
		if (CHECK_CHILD(0)) {
			snprintf(what, sizeof(what), "%s:%d", name, nth);
			refuse(what);
			begin(8 * MIB, 2);
			CHECK(area_is_there(1));
			struct stage_copy copy = simple(in_data, 11 * MIB + 5, to_device);
			char *device = standin_host(there);

			size_t bytes = shape_bytes(&copy.shape);
			fill(to_device ? in_data : device, bytes, 3);
			size_t moved = stage_run(&copy);
			CHECK(moved <= bytes);
			CHECK(holds(to_device ? device : in_data, moved, 3));
			CHECK_EQ(standin_pending(NULL), 0);
			if (to_device)
				OK(cuMemcpyHtoD_v2(there + moved, in_data + moved, bytes - moved));
			else
				OK(cuMemcpyDtoH_v2(in_data + moved, there + moved, bytes - moved));
			OK(cuCtxSynchronize()); /* the driver's copy may still be in flight */
			CHECK(holds(to_device ? device : in_data, bytes, 3));
			if (moved < bytes)
				CHECK_EQ(stage_run(&copy), bytes);
			printf("# %s: %zu of %zu\n", what, moved, bytes);
			fflush(stdout);
			_exit(check_failures != 0);
		}
	}
}

CASE(sends_refused, refuse_each("cuMemcpyHtoDAsync", true))
CASE(fetches_refused, refuse_each("cuMemcpyDtoHAsync", false))
CASE(records_refused, refuse_each("cuEventRecord", true); refuse_each("cuEventRecord", false))
CASE(waits_refused, refuse_each("cuEventSynchronize", true);
     refuse_each("cuEventSynchronize", false))

static void *walk_thread(void *arg)
{
	struct program *program = arg;
	CUdeviceptr mine;

	OK(cuCtxSetCurrent(context));
	OK(cuMemAlloc_v2(&mine, 6 * MIB));
	for (int i = 0; i < 6 && check_failures == 0; i++) {
		size_t bytes = 1 + (size_t)rand_r(&program->seed) % (5 * MIB);
		char *host = program->memory[1] + rand_r(&program->seed) % KIB;
		struct stage_copy copy = simple(host, bytes, true);
		unsigned pattern = (unsigned)rand_r(&program->seed);

		copy.device = mine;
		copy.workers = 8;
		copy.per_thread = true;
		fill(host, bytes, pattern);
		size_t moved = stage_run(&copy);
		OK(cuMemcpyHtoD_v2(mine + moved, host + moved, bytes - moved));
		memset(host, 0, bytes);
		copy.to_device = false;
		moved = stage_run(&copy);
		OK(cuMemcpyDtoH_v2(host + moved, mine + moved, bytes - moved));
		CHECK(holds(host, bytes, pattern));
	}
	return NULL;
}

/* Threads of the program share area and workers; the driver makes copies that get no units. */
TEST(many_threads)
{
	static struct program programs[6];
	pthread_t threads[6];

	begin(16 * MIB, 4);
	CHECK(area_is_there(1));
	for (unsigned i = 0; i < 6; i++) {
		programs[i].seed = i + 1;
		programs[i].memory[1] = malloc(8 * MIB);
		pthread_create(&threads[i], NULL, walk_thread, &programs[i]);
	}
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
}

static void *unreadable;
static pid_t caller;

static void allow_reading(int number)
{
	if (gettid() != caller)
		_exit(number);
	mprotect(unreadable, 4 * MIB, PROT_READ | PROT_WRITE);
}

/* The thread that copies takes the signal of memory that it cannot read; no worker does. */
TEST(fills_from_memory_that_cannot_be_read)
{
	static char staging[4 * MIB];

	begin(32 * MIB, 3);
	caller = gettid();
	unreadable =
		mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fill(unreadable, 4 * MIB, 9);
	mprotect(unreadable, 4 * MIB, PROT_NONE);
	signal(SIGSEGV, allow_reading);
	stage_fill(staging, unreadable, 4 * MIB, 3);
	CHECK(holds(staging, 4 * MIB, 9));
}

static const char *wanted_policy;
static int with_policy;

/* The first line of numa_maps begins with an address and the thread's policy. */
static void count_policy(const char *task)
{
	char path[64], maps[256];

	snprintf(path, sizeof(path), "/proc/self/task/%s/numa_maps", task);
	const char *policy = strchr(check_read(path, maps, sizeof(maps)), ' ');
	with_policy +=
		policy != NULL && strncmp(policy + 1, wanted_policy, strlen(wanted_policy)) == 0;
}

/* Downloads until a worker has `policy`. */
static void download_by_policy(const char *policy)
{
	char *fresh = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct stage_copy copy = simple(fresh, MOST, false);

	copy.workers = 4;
	wanted_policy = policy;
	with_policy = 0;
	WAIT_FOR((CHECK_EQ(stage_run(&copy), MOST), thread_each_other(count_policy),
		  with_policy > 0));
	munmap(fresh, MOST);
}

/* Pages that a copy worker touches first are placed by the policy of the calling thread. */
TEST(placed_as_by_the_caller)
{
	unsigned long first_node = 1;

	if (access("/proc/self/numa_maps", R_OK) != 0 ||
	    syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0L) != 0)
		CHECK_SKIP("the kernel has no NUMA policies, or forbids them");
	begin(16 * MIB, 4);
	CHECK(area_is_there(1));
	CHECK_EQ(syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &first_node, 64L), 0);
	download_by_policy("interleave:0");
	CHECK_EQ(syscall(SYS_set_mempolicy, MPOL_BIND, &first_node, 64L), 0);
	download_by_policy("bind:0");
	/* Without a policy, the caller's node is preferred. */
	CHECK_EQ(syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0L), 0);
	download_by_policy("prefer:");
}

CHECK_MAIN()
