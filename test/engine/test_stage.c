/*
 * test_stage.c - staged copies on the stand-in driver: bytes, order and refusals.
 *
 * The stand-in reads and writes pinned memory when an operation runs, so reusing or emptying a slot
 * of the pool too early produces wrong bytes.
 */
#include "base/counters.h"
#include "base/parse.h"
#include "stage/pool.h"
#include "stage/stage.h"
#include "stage/stageable.h"
#include "stage/workers.h"
#include "pin/pin.h"

#include "linked.h"
#include "pattern.h"
#include "../standin/standin.h"
#include "sizes.h"

#include <pthread.h>
#include <sys/mman.h>

#define MOST (20 * MIB)

static CUcontext context;
static CUdeviceptr there; /* MOST bytes */

static void begin(uint64_t staging, unsigned threads)
{
	linked_load(linked_look_up);
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&context, 0, 0));
	OK(cuMemAlloc_v2(&there, MOST));
	pin_start(2 * staging); /* no room for a second one */
	region_start(staging, REGION_NO_SMALL);
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
		.returns_early = rand_r(seed) & 1,
	};
	bool in_flight = false;
	char *device = standin_host(there + to);

	if (copy.asynchronous)
		copy.stream = program->streams[rand_r(seed) % 5];
	if (copy.to_device)
		fill(host, bytes, pattern);
	else
		fill(device, bytes, pattern);
	bool whole =
		CHECK(stage_is_possible(&copy)) && CHECK_EQ(stage_run(&copy, &in_flight), bytes);
	if (in_flight) {
		CHECK(copy.to_device && copy.returns_early);
		memset(host, 0x44, bytes);
		OK(cuCtxSynchronize());
	}
	if (!whole || !CHECK(holds(copy.to_device ? device : host, bytes, pattern)))
		printf("# %s of %zu bytes, workers %u\n", copy.to_device ? "H2D" : "D2H", bytes,
		       copy.workers);
}

static struct shape_side random_side(struct program *program, const struct shape *shape)
{
	unsigned *seed = &program->seed;
	size_t pitch = shape->width + (rand_r(seed) & 1 ? (size_t)rand_r(seed) % 6000 : 0);

	return (struct shape_side){ pitch, pitch * (shape->rows + (size_t)rand_r(seed) % 3) };
}

/* Copies rows between memories with different patterns, and compares both sides byte by byte. */
static bool check_rows(const struct stage_copy *copy)
{
	const struct shape *shape = &copy->shape;
	bool up = copy->to_device;
	size_t on_host = shape_extent(shape, &shape->host), run;
	size_t on_device = shape_extent(shape, &shape->device), bytes = shape_bytes(shape);
	char *host = copy->host, *device = standin_host(copy->device);
	char *to = up ? device : host, *from = up ? host : device;

	fill(from, up ? on_host : on_device, 1);
	memset(to, 0x33, up ? on_device : on_host);
	if (!CHECK(stage_is_possible(copy)) || !CHECK_EQ(stage_run(copy, NULL), bytes))
		return false;
	for (size_t at = 0, next; at < bytes; at = next) {
		size_t to_place = shape_offset(shape, up ? &shape->device : &shape->host, at, &run);
		size_t from_place =
			shape_offset(shape, up ? &shape->host : &shape->device, at, &next);

		run = run < next ? run : next;
		next = at + run;
		if (!CHECK(memcmp(to + to_place, from + from_place, run) == 0))
			return false;
		memset(to + to_place, 0x33, run);
	}
	for (size_t i = 0; i < (up ? on_device : on_host); i++)
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

	shape.host = random_side(program, &shape);
	shape.device = random_side(program, &shape);
	if (shape_extent(&shape, &shape.host) > MOST || shape_extent(&shape, &shape.device) > MOST)
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
#define STRIDE         12 /* of the refused calls */
#define STEPS          4
#define TIMES(many)    (((many) + 3) / 4)
#define STRIDE_OF_GAPS 5
#else
#define STRIDE         1
#define STEPS          16
#define TIMES(many)    (many)
#define STRIDE_OF_GAPS 1
#endif

static void walk(uint64_t staging, unsigned threads)
{
	static struct program program = { .seed = 7 };
	const char *many = getenv("STEPS");

	begin(staging, threads);
	CHECK(pool_make());
	make_program(&program);
	for (int i = many != NULL ? atoi(many) : STEPS; i > 0 && check_failures == 0; i--) {
		copy_once(&program);
		rows_once(&program);
	}
	CHECK_EQ(standin_registered_bytes(), staging / (2 * MIB) * (2 * MIB));
	OK(cuCtxDestroy_v2(context));
}

TEST(random_alone)
{
	walk(32 * MIB, 0);
}

TEST(random_one)
{
	walk(33 * MIB, 1);
}

TEST(random_eight)
{
	walk(32 * MIB, 8);
}

TEST(random_small_region)
{
	walk(8 * MIB, 3);
}

/* Every combination of gaps, with slices of which many fit into one piece, and with large ones. */
TEST(gaps)
{
	static const size_t sizes[][3] = { { 3000, 3, 50 }, { 3000, 60, 3 }, { 150000, 2, 2 } };

	begin(32 * MIB, 2);
	CHECK(pool_make());
	for (int i = 0; i < 3 * 32 && check_failures == 0; i += STRIDE_OF_GAPS) {
		const size_t *size = sizes[i / 32];
		struct shape shape = { .width = size[0], .rows = size[1], .slices = size[2] };

		shape.host.pitch = size[0] + (i & 1 ? 100 : 0);
		shape.host.slice = shape.host.pitch * (size[1] + (i & 2 ? 1 : 0));
		shape.device.pitch = size[0] + (i & 4 ? 60 : 0);
		shape.device.slice = shape.device.pitch * (size[1] + (i & 8 ? 2 : 0));
		struct stage_copy copy = { .to_device = i & 16,
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
	CHECK(pool_make());

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
		CHECK_EQ(stage_run(&copy, NULL), 5 * MIB);
		OK(cuCtxSynchronize());
		CHECK(holds(standin_host(there), 5 * MIB, 1));

		OK(cuMemsetD8Async(there, 0x66, 6 * MIB, flavor ? CU_STREAM_PER_THREAD : stream));
		copy = simple(in_data + 8 * MIB, 5 * MIB, false);
		copy.per_thread = flavor;
		CHECK_EQ(stage_run(&copy, NULL), 5 * MIB);
		for (size_t i = 0; i < 5 * MIB; i++)
			if (in_data[8 * MIB + i] != 0x66 && !CHECK_EQ(in_data[8 * MIB + i], 0x66))
				break;
	}
	OK(cuMemsetD8Async(there, 0x77, 6 * MIB, stream));
	struct stage_copy copy = simple(in_data, 3 * MIB, false);
	copy.asynchronous = true;
	copy.stream = stream;
	CHECK_EQ(stage_run(&copy, NULL), 3 * MIB);
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

/*
 * Two contexts share the region, which ends with the one that registered it, and is created again.
 */
TEST(contexts_come_and_go)
{
	CUcontext first, second;
	CUdeviceptr memory;
	struct stage_copy copy;

	begin(32 * MIB, 2);
	first = context;
	CHECK(pool_make());
	for (int i = 0; i < TIMES(40); i++) {
		OK(cuCtxCreate_v2(&second, 0, 0));
		OK(cuMemAlloc_v2(&memory, 4 * MIB));
		fill(in_data, 4 * MIB, (unsigned)i);
		copy = simple(in_data, 4 * MIB, true);
		copy.device = memory;
		CHECK_EQ(stage_run(&copy, NULL), 4 * MIB);
		CHECK(holds(standin_host(memory), 4 * MIB, (unsigned)i));
		region_context_ending(second);
		CHECK(pool_is_ready());
		OK(cuCtxDestroy_v2(second));
		region_context_ended(second, true);
		CHECK(pool_is_ready());
		OK(cuCtxSetCurrent(first));
		copy = simple(in_data, 4 * MIB, false);
		CHECK_EQ(stage_run(&copy, NULL), 4 * MIB);
	}

	/* The context does not end after all. */
	region_context_ending(first);
	CHECK(!pool_is_ready());
	copy = simple(in_data, 4 * MIB, true);
	CHECK_EQ(stage_run(&copy, NULL), 0);
	region_context_ended(first, false);
	CHECK(pool_is_ready());
	CHECK_EQ(stage_run(&copy, NULL), 4 * MIB);

	OK(cuCtxCreate_v2(&second, 0, 0));
	OK(cuMemAlloc_v2(&memory, 4 * MIB));
	region_context_ending(first);
	OK(cuCtxDestroy_v2(first));
	region_context_ended(first, true);
	CHECK_EQ(standin_registered_bytes(), 0);
	CHECK(!pool_is_ready());
	copy.device = memory;
	CHECK_EQ(stage_run(&copy, NULL), 0);
	CHECK(pool_make());
	CHECK_EQ(standin_registered_bytes(), 32 * MIB);
	fill(in_data, 4 * MIB, 99);
	CHECK_EQ(stage_run(&copy, NULL), 4 * MIB);
	CHECK(holds(standin_host(memory), 4 * MIB, 99));
}

/* More contexts than the pool has records for; each makes room for the next. */
TEST(many_contexts)
{
	enum { MANY = 20 };
	CUcontext all[MANY];
	CUdeviceptr memory[MANY];
	int staged = 0;

	begin(32 * MIB, 0);
	CHECK(pool_make());
	for (int i = 0; i < MANY; i++) {
		OK(cuCtxCreate_v2(&all[i], 0, 0));
		OK(cuMemAlloc_v2(&memory[i], MIB));
	}
	for (int turn = 0; turn < 2; turn++)
		for (int i = 0; i < MANY; i++) {
			struct stage_copy copy = simple(in_data, MIB, true);

			OK(cuCtxSetCurrent(all[i]));
			copy.device = memory[i];
			size_t moved = stage_run(&copy, NULL);
			CHECK(moved == MIB || (turn == 1 && moved == 0));
			staged += moved == MIB;
			if (turn == 0) {
				region_context_ending(all[i]);
				region_context_ended(all[i], true);
			}
		}
	/* One of REGION_USERS contexts registered the region. */
	CHECK_EQ(staged, MANY + REGION_USERS - 1);
}

/* A context ended unnoticed, and another is at its address: its events are invalid. */
TEST(context_replaced_silently)
{
	struct stage_copy copy;
	CUcontext before = context;
	bool in_flight;

	begin(32 * MIB, 0);
	CHECK(pool_make());
	OK(cuCtxCreate_v2(&before, 0, 0));
	for (int i = 0; i < 30; i++) {
		CUdeviceptr memory;

		OK(cuMemAlloc_v2(&memory, 4 * MIB));
		fill(in_data, 3 * MIB, (unsigned)i);
		copy = simple(in_data, 3 * MIB, true);
		copy.device = memory;
		CHECK_EQ(stage_run(&copy, NULL), 3 * MIB);
		CHECK(holds(standin_host(memory), 3 * MIB, (unsigned)i));
		copy.returns_early = true;
		CHECK_EQ(stage_run(&copy, &in_flight), 3 * MIB);
		CHECK(in_flight);
		OK(cuCtxDestroy_v2(before));
		OK(cuCtxCreate_v2(&before, 0, 0));
	}
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
	CHECK_EQ(stage_run(&copy, NULL), 4 * MIB);
	return NULL;
}

/* Held streams keep their slots; a copy on another stream never waits for these. */
TEST(stalled_streams)
{
	pthread_t threads[4];
	CUstream free_stream;

	begin(8 * MIB, 2);
	CHECK(pool_make());
	OK(cuMemAlloc_v2(&flag, 64));
	OK(cuMemsetD8_v2(flag, 0, 64));
	OK(cuStreamCreate(&free_stream, CU_STREAM_NON_BLOCKING));
	fill(in_data, MOST, 5);
	for (int i = 0; i < 2; i++) {
		OK(cuStreamCreate(&stalled[i], CU_STREAM_NON_BLOCKING));
		OK(cuStreamWaitValue32_v2(stalled[i], flag, 1, CU_STREAM_WAIT_VALUE_EQ));
		pthread_create(&threads[i], NULL, copy_behind, (void *)(intptr_t)i);
	}
	/* 8 MiB need four slots: both streams hold two. */
	WAIT_FOR(standin_pending(stalled[0]) >= 3 && standin_pending(stalled[1]) >= 3);

	char *host = in_data + 10 * MIB;
	struct stage_copy copy = simple(host, 2 * MIB, true);
	copy.asynchronous = true;
	copy.stream = free_stream;
	copy.device = there + 10 * MIB;
	CHECK_EQ(stage_run(&copy, NULL), 0);

	OK(cuMemsetD32Async(flag, 1, 1, free_stream));
	OK(cuStreamSynchronize(free_stream));
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(stage_run(&copy, NULL), 2 * MIB);
	CHECK(holds(standin_host(there), 8 * MIB, 5));
}

/* On a stream of its own, behind work that ends only when `flag` is set. */
static struct stage_copy early(char *host, size_t bytes, size_t to, CUstream stream)
{
	struct stage_copy copy = simple(host, bytes, true);

	copy.device = there + to;
	copy.asynchronous = true;
	copy.stream = stream;
	copy.returns_early = true;
	return copy;
}

static void stall(CUstream *ret_stream)
{
	if (flag == 0)
		OK(cuMemAlloc_v2(&flag, 64));
	OK(cuMemsetD8_v2(flag, 0, 64));
	OK(cuStreamCreate(ret_stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamWaitValue32_v2(*ret_stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
}

static void release(CUstream stream)
{
	CUstream free_stream;

	OK(cuStreamCreate(&free_stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemsetD32Async(flag, 1, 1, free_stream));
	OK(cuStreamSynchronize(free_stream));
	OK(cuStreamSynchronize(stream));
}

/* Slots in flight are not available: other copies wait for their own. */
TEST(returns_while_in_flight)
{
	CUstream stream, free_stream;
	bool in_flight = false;

	begin(32 * MIB, 2);
	CHECK(pool_make());
	stall(&stream);
	OK(cuStreamCreate(&free_stream, CU_STREAM_NON_BLOCKING));
	/* Sixteen slots, of which eight may be in flight: four copies of two each. */
	for (size_t i = 0; i < 4; i++) {
		fill(in_data, 4 * MIB, (unsigned)i);
		struct stage_copy copy = early(in_data, 4 * MIB, 4 * i * MIB, stream);
		CHECK_EQ(stage_run(&copy, &in_flight), 4 * MIB);
		CHECK(in_flight);
	}
	for (unsigned i = 4; i < 12; i++) {
		fill(in_data, 4 * MIB, i);
		struct stage_copy copy = early(in_data, 4 * MIB, 16 * MIB, free_stream);
		CHECK_EQ(stage_run(&copy, &in_flight), 4 * MIB);
		CHECK(!in_flight);
		CHECK(holds(standin_host(there + 16 * MIB), 4 * MIB, i));
	}
	CHECK(standin_pending(stream) > 4);
	release(stream);
	for (size_t i = 0; i < 4; i++)
		CHECK(holds(standin_host(there + 4 * i * MIB), 4 * MIB, (unsigned)i));

	/* All slots become free, repeatedly. */
	for (unsigned i = 0; i < TIMES(12); i++) {
		fill(in_data, 16 * MIB, i);
		struct stage_copy copy = early(in_data, 16 * MIB, 0, free_stream);
		CHECK_EQ(stage_run(&copy, &in_flight), 16 * MIB);
		CHECK(in_flight);
		memset(in_data, 0, 16 * MIB);
		OK(cuStreamSynchronize(free_stream));
		CHECK(holds(standin_host(there), 16 * MIB, i));
	}
}

/* The call waits for a copy larger than half of the region, and for a download. */
TEST(too_large_to_return_early)
{
	static const struct {
		uint64_t staging;
		size_t bytes;
		bool in_flight;
	} table[] = {
		{ 2 * MIB, 256 * KIB, false }, { 2 * MIB, 2 * MIB, false },
		{ 4 * MIB, 2 * MIB, true },    { 4 * MIB, 2 * MIB + 1, false },
		{ 8 * MIB, 4 * MIB, true },    { 8 * MIB, 5 * MIB, false },
		{ 64 * MIB, 16 * MIB, true },  { 64 * MIB, 17 * MIB, false },
		{ 64 * MIB, 1, true },
	};

	for (size_t i = 0; i < HP_LEN(table); i++) {
		int status;
		pid_t child = fork();

		if (child == 0) {
			bool in_flight;

			begin(table[i].staging, 2);
			CHECK(pool_make());
			fill(in_data, table[i].bytes, 6);
			struct stage_copy copy = simple(in_data, table[i].bytes, true);
			copy.returns_early = true;
			CHECK_EQ(stage_run(&copy, &in_flight), table[i].bytes);
			CHECK_EQ(in_flight, table[i].in_flight);
			OK(cuCtxSynchronize());
			CHECK(holds(standin_host(there), table[i].bytes, 6));
			copy.to_device = false;
			in_flight = true;
			CHECK_EQ(stage_run(&copy, &in_flight), table[i].bytes);
			CHECK(!in_flight);
			_exit(check_failures != 0);
		}
		waitpid(child, &status, 0);
		if (!CHECK_EQ(status, 0))
			printf("# row %zu\n", i);
	}
}

/* When a context ends, its slots in flight become free. */
TEST(left_in_a_context_that_goes)
{
	CUcontext second;
	CUstream stream;
	CUdeviceptr memory;
	bool in_flight;

	begin(32 * MIB, 2);
	CHECK(pool_make());
	for (int i = 0; i < 12; i++) {
		OK(cuCtxCreate_v2(&second, 0, 0));
		OK(cuMemAlloc_v2(&memory, 16 * MIB));
		OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		struct stage_copy copy = early(in_data, 16 * MIB, 0, stream);
		copy.device = memory;
		CHECK_EQ(stage_run(&copy, &in_flight), 16 * MIB);
		if (!CHECK(in_flight))
			printf("# turn %d\n", i);
		region_context_ending(second);
		OK(cuCtxDestroy_v2(second));
		region_context_ended(second, true);
	}
}

static void *release_late(void *arg)
{
	OK(cuCtxSetCurrent(context));
	check_give_a_chance();
	release(arg);
	return NULL;
}

/*
 * The region's own context ends: copies of another context that are in flight there are waited for.
 */
TEST(left_in_another_context)
{
	CUcontext first;
	CUstream stream;
	pthread_t thread;
	bool in_flight;

	begin(32 * MIB, 2);
	first = context;
	CHECK(pool_make());
	/* Copies of the ending context are not waited for: the driver completes them. */
	struct stage_copy copy = early(in_data, 4 * MIB, 0, NULL);
	CHECK_EQ(stage_run(&copy, &in_flight), 4 * MIB);
	CHECK(in_flight);

	OK(cuCtxCreate_v2(&context, 0, 0));
	OK(cuMemAlloc_v2(&there, 4 * MIB));
	flag = 0;
	stall(&stream);
	fill(in_data, 4 * MIB, 8);
	copy = early(in_data, 4 * MIB, 0, stream);
	CHECK_EQ(stage_run(&copy, &in_flight), 4 * MIB);
	CHECK(in_flight);
	pthread_create(&thread, NULL, release_late, stream);
	region_context_ending(first);
	CHECK_EQ(standin_pending(stream), 0);
	OK(cuCtxDestroy_v2(first));
	region_context_ended(first, true);
	pthread_join(thread, NULL);
	CHECK(holds(standin_host(there), 4 * MIB, 8));
	CHECK(pool_make());
	for (int i = 0; i < 4; i++) {
		copy = simple(in_data, 4 * MIB, true);
		copy.returns_early = true;
		CHECK_EQ(stage_run(&copy, &in_flight), 4 * MIB);
		CHECK(in_flight);
	}
}

static void refuse(const char *what)
{
	setenv("STANDIN_FAIL", what, 1);
}

TEST(events_refused)
{
	refuse("cuEventCreate:3");
	begin(32 * MIB, 0);
	CHECK(pool_make());
	struct stage_copy copy = simple(in_data, 4 * MIB, true);
	CHECK_EQ(stage_run(&copy, NULL), 0);
	/* The slots were released. */
	for (int i = 0; i < 20; i++)
		CHECK_EQ(stage_run(&copy, NULL), 4 * MIB);
}

/*
 * Refuses each driver call of a copy once: the part that was copied is right, and the driver copies
 * the rest.
 */
static void refuse_each(const char *name, bool to_device)
{
	char what[64];

	for (int nth = 1; nth <= 12; nth += STRIDE + nth / 3) {
		int status;
		pid_t child = fork();

		if (child == 0) {
			snprintf(what, sizeof(what), "%s:%d", name, nth);
			refuse(what);
			begin(8 * MIB, 2);
			CHECK(pool_make());
			struct stage_copy copy = simple(in_data, 11 * MIB + 5, to_device);
			char *device = standin_host(there);

			size_t bytes = shape_bytes(&copy.shape);
			fill(to_device ? in_data : device, bytes, 3);
			size_t moved = stage_run(&copy, NULL);
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
				CHECK_EQ(stage_run(&copy, NULL), bytes);
			printf("# %s: %zu of %zu\n", what, moved, bytes);
			fflush(stdout);
			_exit(check_failures != 0);
		}
		waitpid(child, &status, 0);
		CHECK_EQ(status, 0);
	}
}

TEST(sends_refused)
{
	refuse_each("cuMemcpyHtoDAsync", true);
}

TEST(fetches_refused)
{
	refuse_each("cuMemcpyDtoHAsync", false);
}

TEST(records_refused)
{
	refuse_each("cuEventRecord", true);
	refuse_each("cuEventRecord", false);
}

TEST(waits_refused)
{
	refuse_each("cuEventSynchronize", true);
	refuse_each("cuEventSynchronize", false);
}

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
		size_t moved = stage_run(&copy, NULL);
		OK(cuMemcpyHtoD_v2(mine + moved, host + moved, bytes - moved));
		memset(host, 0, bytes);
		copy.to_device = false;
		moved = stage_run(&copy, NULL);
		OK(cuMemcpyDtoH_v2(host + moved, mine + moved, bytes - moved));
		CHECK(holds(host, bytes, pattern));
	}
	return NULL;
}

/* Threads of the program share pool and workers; the driver makes copies that get no slots. */
TEST(many_threads)
{
	static struct program programs[6];
	pthread_t threads[6];

	begin(16 * MIB, 4);
	CHECK(pool_make());
	for (unsigned i = 0; i < 6; i++) {
		programs[i].seed = i + 1;
		programs[i].memory[1] = malloc(8 * MIB);
		pthread_create(&threads[i], NULL, walk_thread, &programs[i]);
	}
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
}

TEST(untouched_memory)
{
	char *fresh =
		mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(stage_is_untouched(fresh, 8 * MIB));
	CHECK(stage_is_untouched(fresh + 100, 3 * MIB + 77));
	fresh[0] = fresh[8 * MIB - 1] = 1;
	CHECK(stage_is_untouched(fresh, 8 * MIB));
	memset(fresh, 1, 8 * MIB);
	CHECK(!stage_is_untouched(fresh, 8 * MIB));
	munmap(fresh, 8 * MIB);
	CHECK(!stage_is_untouched(fresh, 8 * MIB));
}

CHECK_MAIN()
