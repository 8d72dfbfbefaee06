/*
 * test_pool.c - slots of the pool that small uploads keep in flight, on the stand-in driver.
 *
 * The stand-in reads pinned memory when an operation runs, so reusing a slot too early produces
 * wrong bytes.
 */
#include "base/parse.h"
#include "stage/pool.h"
#include "pin/pin.h"

#include "linked.h"
#include "pattern.h"
#include "../standin/standin.h"

#include <pthread.h>
#include <sys/wait.h>

#define BYTES  ((size_t)64 << 10)
#define COUNT  64 /* uploads with a target of their own */

/* Uploads that find no region; the last one creates it. */
#define WANTED (POOL_SMALL_WANTS + 1)

static CUcontext context;
static CUdeviceptr there; /* COUNT * BYTES */

static void begin_in_a_context(void)
{
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&context, 0, 0));
	OK(cuMemAlloc_v2(&there, COUNT * BYTES));
	pin_start(64 * REGION_SMALL_UNITS * REGION_SMALL_UNIT);
	region_start(0, POOL_SMALL_WANTS);
}

static void begin_without_a_region(void)
{
	linked_load(linked_look_up);
	begin_in_a_context();
}

static bool take(struct pool_hold *ret)
{
	return pool_take_small(BYTES, NULL, false, ret);
}

static void want(void)
{
	struct pool_hold hold;

	for (int i = 0; i < WANTED; i++)
		CHECK(!take(&hold));
}

static void begin(void)
{
	begin_without_a_region();
	want();
}

/* Uploads pattern `number` to target `number` from a slot of its own.  False if no slot is free. */
static bool upload_by(unsigned number, CUstream stream, bool per_thread)
{
	struct pool_hold hold;
	CUdeviceptr to = there + number % COUNT * BYTES;

	if (!pool_take_small(BYTES, stream, per_thread, &hold))
		return false;
	fill(hold.memory, BYTES, number);
	OK(per_thread ? cuMemcpyHtoDAsync_v2_ptsz(to, hold.memory, BYTES, stream)
		      : cuMemcpyHtoDAsync_v2(to, hold.memory, BYTES, stream));
	pool_leave(&hold, NULL);
	return true;
}

static bool upload(unsigned number, CUstream stream)
{
	return upload_by(number, stream, false);
}

static bool has_arrived(unsigned number)
{
	return holds(standin_host(there + number % COUNT * BYTES), BYTES, number);
}

static CUstream stream_of(unsigned flags)
{
	CUstream stream = NULL;

	OK(cuStreamCreate(&stream, flags));
	return stream;
}

/* Holds a stream until release(). */
static CUdeviceptr flag;

static CUstream stalled(void)
{
	CUstream stream = stream_of(CU_STREAM_NON_BLOCKING);

	if (flag == 0)
		OK(cuMemAlloc_v2(&flag, 64));
	OK(cuMemsetD8_v2(flag, 0, 64));
	OK(cuStreamWaitValue32_v2(stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
	return stream;
}

static void release(void)
{
	CUstream other = stream_of(CU_STREAM_NON_BLOCKING);

	OK(cuMemsetD32Async(flag, 1, 1, other));
	OK(cuCtxSynchronize());
}

TEST(made_when_it_is_wanted)
{
	struct pool_hold hold;

	begin_without_a_region();
	for (int i = 1; i < WANTED; i++)
		CHECK(!take(&hold));
	CHECK_EQ(standin_registrations(), 0);
	CHECK(!take(&hold));
	CHECK_EQ(standin_registrations(), 1);
	CHECK_EQ(standin_registered_bytes(), REGION_SMALL_UNITS * REGION_SMALL_UNIT);
	CHECK(upload(1, NULL));
	OK(cuCtxSynchronize());
	CHECK(has_arrived(1));
	CHECK_EQ(standin_registrations(), 1);
}

TEST(never_without_a_start)
{
	struct pool_hold hold;

	linked_load(linked_look_up);
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&context, 0, 0));
	for (int i = 0; i < 3 * WANTED; i++)
		CHECK(!take(&hold));
	CHECK_EQ(standin_registrations(), 0);
}

TEST(reused_when_complete)
{
	struct pool_hold hold;
	CUstream stream;

	begin();
	stream = stalled();
	for (unsigned i = 0; i < REGION_SMALL_UNITS; i++)
		CHECK(upload(i, stream));
	CHECK(!upload(REGION_SMALL_UNITS, stream));
	release();
	for (unsigned i = 0; i < REGION_SMALL_UNITS; i++)
		CHECK(has_arrived(i));
	/* All slots are available again at the same time, after their events were polled. */
	for (unsigned i = 0, had = 0; had < REGION_SMALL_UNITS && CHECK(i < 40); i++)
		had += take(&hold);
	CHECK(!take(&hold));
	pool_put(&hold);
}

/* Slots that were returned without a copy need no event. */
TEST(put_back)
{
	struct pool_hold hold;

	begin();
	for (unsigned i = 0; i < 3 * REGION_SMALL_UNITS; i++) {
		CHECK(take(&hold));
		pool_put(&hold);
		CHECK(hold.memory == NULL);
	}
	CHECK_EQ(standin_calls("cuEventQuery"), 0);
}

/* The last slot of an idle stream is reused, because it is in the CPU's caches. */
TEST(the_same_unit_again)
{
	CUstream streams[] = { NULL, CU_STREAM_LEGACY, NULL };
	struct pool_hold hold;

	begin();
	streams[2] = stream_of(0);
	for (size_t i = 0; i < HP_LEN(streams); i++) {
		char *same = NULL;

		for (unsigned j = 0; j < 40; j++) {
			CHECK(pool_take_small(BYTES, streams[i], false, &hold));
			CHECK(j < 2 || hold.memory == same);
			same = hold.memory;
			pool_put(&hold);
			CHECK(upload(j, streams[i]));
			OK(cuStreamSynchronize(streams[i]));
		}
	}
}

/* Behind a kernel most copies poll no event, no matter which stream holds the slots. */
static void in_vain(CUstream stream, bool per_thread)
{
	CUstream other;

	begin();
	other = stalled();
	for (unsigned i = 0; i < REGION_SMALL_UNITS; i++)
		CHECK(upload(i, other));
	for (unsigned i = 0; i < 84; i++)
		CHECK(!upload_by(REGION_SMALL_UNITS + i, stream != NULL ? stream : other,
				 per_thread));
	CHECK(standin_calls("cuEventQuery") <= 3 + 84 / 5 * 4 + 4);
	release();
}

TEST(few_questions_in_a_row)
{
	in_vain(NULL, false);
}

TEST(few_questions_of_another_stream)
{
	in_vain(CU_STREAM_LEGACY, false);
}

TEST(few_questions_of_a_threads_stream)
{
	in_vain(CU_STREAM_PER_THREAD, true);
}

/* Copies on another stream may still be in flight, even earlier ones. */
TEST(an_event_covers_its_stream)
{
	CUstream stream, other;
	unsigned had = 0;

	begin();
	stream = stalled();
	other = stream_of(CU_STREAM_NON_BLOCKING);
	for (unsigned i = 0; i < REGION_SMALL_UNITS; i++)
		CHECK(upload(i, i % 2 ? stream : other));
	OK(cuStreamSynchronize(other));
	for (unsigned i = 0; i < 40; i++) {
		had += upload(REGION_SMALL_UNITS + i, other);
		if (i % 6 == 5)
			OK(cuStreamSynchronize(other));
	}
	CHECK(had > 30);
	release();
	for (unsigned i = 1; i < REGION_SMALL_UNITS; i += 2)
		CHECK(has_arrived(i));
}

/* Another thread runs `meanwhile` after an event was recorded and before its slots are noted. */
static void (*meanwhile)(void);

static CUresult record_and_meanwhile(CUevent event, CUstream stream)
{
	void (*then)(void) = meanwhile;
	CUresult result = cuEventRecord(event, stream);

	meanwhile = NULL;
	if (then != NULL)
		then();
	return result;
}

static void *look_up_meanwhile(void *handle, const char *name)
{
	return strcmp(name, "cuEventRecord") == 0 ? (void *)record_and_meanwhile
						  : dlsym(handle, name);
}

static CUstream shared;

static void stall_and_upload(void)
{
	OK(cuStreamWaitValue32_v2(shared, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
	CHECK(upload(1, shared));
}

/* The event covers slots that were noted before it was recorded, none that are noted later. */
TEST(an_event_covers_earlier_units)
{
	struct pool_hold hold;
	CUstream other;

	linked_load(look_up_meanwhile);
	begin_in_a_context();
	want();
	OK(cuMemAlloc_v2(&flag, 64));
	OK(cuMemsetD8_v2(flag, 0, 64));
	shared = stream_of(CU_STREAM_NON_BLOCKING);
	other = stream_of(CU_STREAM_NON_BLOCKING);
	meanwhile = stall_and_upload;
	CHECK(upload(0, shared));
	while (standin_step(shared, 1) != 0)
		;
	CHECK(has_arrived(0));
	CHECK(pool_take_small(BYTES, shared, false, &hold));
	for (unsigned i = 0; i < REGION_SMALL_UNITS; i++)
		upload(COUNT + 2 + i, other);
	release();
	CHECK(has_arrived(1));
}

/* A stream handle proves nothing: its previous stream may have work left. */
TEST(a_handle_may_be_another_streams)
{
	CUstream stream, other;

	begin();
	stream = stalled();
	for (unsigned i = 0; i < REGION_SMALL_UNITS - 1; i++)
		CHECK(upload(i, stream));
	OK(cuStreamDestroy_v2(stream));
	for (unsigned i = 0; i < 20; i++) {
		other = stream_of(CU_STREAM_NON_BLOCKING);
		CHECK(upload(REGION_SMALL_UNITS + i, other));
		OK(cuStreamSynchronize(other));
		OK(cuStreamDestroy_v2(other));
	}
	release();
	for (unsigned i = 0; i < REGION_SMALL_UNITS - 1; i++)
		CHECK(has_arrived(i));
}

/* An event of the region's context cannot cover these streams. */
TEST(streams_of_another_context)
{
	CUcontext other;
	CUstream stream;

	begin();
	OK(cuCtxCreate_v2(&other, 0, 0));
	stream = stream_of(0);
	OK(cuCtxSetCurrent(context));
	for (unsigned i = 0; i < REGION_SMALL_UNITS; i++)
		CHECK(!upload(i, stream));
	CHECK(upload(0, NULL));
}

/* The stream would continue to read after the context of its copies has ended. */
TEST(streams_that_outlive_a_region)
{
	CUcontext second;
	CUstream stream;

	begin_without_a_region();
	stream = stalled();
	OK(cuCtxCreate_v2(&second, 0, 0));
	want();
	for (unsigned i = 0; i < REGION_SMALL_UNITS; i++)
		upload(i, stream);
	OK(cuCtxDestroy_v2(second));
	region_context_ended(second, true);
	OK(cuCtxSetCurrent(context));
	release();
}

/* A region ends with its registration, its events and everything in flight. */
TEST(goes_with_its_context)
{
	begin_without_a_region();
	for (int i = 0; i < 40; i++) {
		CUcontext second;

		OK(cuCtxCreate_v2(&second, 0, 0));
		OK(cuMemAlloc_v2(&there, COUNT * BYTES));
		want();
		for (unsigned j = 0; j < REGION_SMALL_UNITS; j++)
			CHECK(upload(j, NULL));
		OK(cuCtxDestroy_v2(second));
		region_context_ended(second, true);
	}
}

/* A thread that is inside a copy keeps its slots, without harm. */
TEST(held_when_its_context_goes)
{
	struct pool_hold held[2], hold;
	CUcontext second;

	begin_without_a_region();
	OK(cuCtxCreate_v2(&second, 0, 0));
	want();
	CHECK(take(&held[0]));
	CHECK(take(&held[1]));
	OK(cuCtxDestroy_v2(second));
	region_context_ended(second, true);
	OK(cuCtxCreate_v2(&second, 0, 0));
	want();
	for (unsigned i = 0; i < REGION_SMALL_UNITS - 2; i++) {
		CHECK(take(&hold));
		CHECK(hold.memory != held[0].memory && hold.memory != held[1].memory);
	}
	CHECK(!take(&hold));
	pool_leave(&held[0], NULL);
	pool_put(&held[1]);
	CHECK(take(&hold));
	CHECK(take(&hold));
	CHECK(!take(&hold));
}

/* More than REGION_USERS: the last contexts have no region. */
TEST(many_contexts)
{
	CUcontext all[20];
	struct pool_hold hold;
	int have = 0;

	begin_without_a_region();
	for (size_t i = 0; i < HP_LEN(all); i++) {
		OK(cuCtxCreate_v2(&all[i], 0, 0));
		want();
		have += take(&hold);
	}
	CHECK_EQ(have, 16);
	OK(cuCtxDestroy_v2(all[3]));
	region_context_ended(all[3], true);
	OK(cuCtxSetCurrent(all[19]));
	want();
	CHECK(take(&hold));
}

TEST(no_context)
{
	struct pool_hold hold;

	begin();
	OK(cuCtxSetCurrent(NULL));
	CHECK(!take(&hold));
}

TEST(register_refused)
{
	struct pool_hold hold;
	CUcontext second;

	setenv("STANDIN_FAIL", "cuMemHostRegister:1", 1);
	begin();
	for (int i = 0; i < 3 * WANTED; i++)
		CHECK(!take(&hold));
	CHECK_EQ(standin_calls("cuMemHostRegister"), 1);
	OK(cuCtxCreate_v2(&second, 0, 0));
	want();
	CHECK(take(&hold));
}

/* The slot is not reused; the copy is right. */
TEST(events_refused)
{
	setenv("STANDIN_FAIL", "cuEventCreate:1,cuEventRecord:1", 1);
	begin();
	for (unsigned i = 0; i < 40; i++) {
		CHECK(upload(i, NULL));
		OK(cuCtxSynchronize());
		CHECK(has_arrived(i));
	}
}

/* An error of the query says nothing about the copy. */
TEST(queries_refused)
{
	CUstream stream;

	setenv("STANDIN_FAIL", "cuEventQuery:1,cuEventQuery:2,cuEventQuery:3", 1);
	begin();
	stream = stalled();
	for (unsigned i = 0; i < REGION_SMALL_UNITS; i++)
		upload(i, stream);
	for (unsigned i = 0; i < REGION_SMALL_UNITS; i++)
		upload(REGION_SMALL_UNITS + i, NULL);
	release();
	for (unsigned i = 0; i < REGION_SMALL_UNITS; i++)
		CHECK(has_arrived(i));
}

TEST(not_in_a_child)
{
	int status;

	begin();
	CHECK(upload(1, NULL));

	pid_t child = fork();
	if (child == 0) {
		struct pool_hold hold;

		region_after_fork_child();
		_exit(take(&hold));
	}
	waitpid(child, &status, 0);
	CHECK_EQ(status, 0);
	CHECK(upload(2, NULL));
}

/* Larger uploads take several adjacent slots, which are released together. */
TEST(units_in_a_row)
{
	enum { COUNT_OF = 5, TIMES = REGION_SMALL_UNITS / COUNT_OF };
	const size_t bytes = (COUNT_OF - 1) * REGION_SMALL_UNIT + 1;
	struct pool_hold holds_of[TIMES], hold;
	CUstream stream;

	begin();
	OK(cuMemAlloc_v2(&there, TIMES * bytes));
	stream = stalled();
	for (unsigned i = 0; i < TIMES; i++) {
		CHECK(pool_take_small(bytes, stream, false, &holds_of[i]));
		fill(holds_of[i].memory, bytes, i);
	}
	CHECK(!pool_take_small(bytes, stream, false, &hold));
	for (unsigned i = 0; i < TIMES; i++) {
		OK(cuMemcpyHtoDAsync_v2(there + i * bytes, holds_of[i].memory, bytes, stream));
		pool_leave(&holds_of[i], NULL);
	}
	CHECK(!pool_take_small(bytes, stream, false, &hold));
	/* The remaining slots are enough for one upload. */
	for (unsigned i = COUNT_OF * TIMES; i < REGION_SMALL_UNITS; i++)
		CHECK(take(&hold));
	for (int i = 0; i < 8; i++)
		CHECK(!take(&hold));
	release();
	for (unsigned i = 0; i < TIMES; i++)
		CHECK(holds(standin_host(there + i * bytes), bytes, i));
	for (unsigned i = 0, had = 0; had < TIMES && CHECK(i < 40); i++)
		had += pool_take_small(bytes, stream, false, &hold);
	CHECK(!take(&hold));
}

/* Half of the budget holds one region: another context gets one when the first one's has ended. */
TEST(counts_against_the_budget)
{
	const size_t bytes = REGION_SMALL_UNITS * REGION_SMALL_UNIT;
	struct pool_hold hold;
	CUcontext first;

	begin_without_a_region();
	first = context;
	pin_start(2 * bytes);
	want();
	CHECK_EQ(standin_registered_bytes(), bytes);
	OK(cuCtxCreate_v2(&context, 0, 0));
	for (int i = 0; i < 3; i++)
		want();
	CHECK_EQ(standin_registered_bytes(), bytes);
	OK(cuCtxDestroy_v2(first));
	region_context_ended(first, true);
	CHECK_EQ(standin_registered_bytes(), 0);
	want();
	CHECK_EQ(standin_registered_bytes(), bytes);
	CHECK(take(&hold));
	pool_put(&hold);
}

/* Nothing may be pinned. */
TEST(no_budget)
{
	begin_without_a_region();
	pin_start(0);
	for (int i = 0; i < 3; i++)
		want();
	CHECK_EQ(standin_registrations(), 0);
}

/* Uploads as large as the region, and larger. */
TEST(all_of_it)
{
	struct pool_hold hold;

	begin();
	for (int i = 0; i < 3; i++) {
		CHECK(!pool_take_small(REGION_SMALL_UNITS * REGION_SMALL_UNIT + 1, NULL, false,
				       &hold));
		CHECK(pool_take_small(REGION_SMALL_UNITS * REGION_SMALL_UNIT, NULL, false, &hold));
		CHECK(!pool_take_small(1, NULL, false, &(struct pool_hold){ 0 }));
		memset(hold.memory, 1, REGION_SMALL_UNITS * REGION_SMALL_UNIT);
		pool_put(&hold);
	}
}

/* Streams of every kind, in any order, some with pending work. */
TEST(at_random)
{
	unsigned seed = 1, last[COUNT] = { 0 }, arrived = 0;
	CUstream streams[4];

	begin();
	for (size_t i = 0; i < HP_LEN(streams); i++)
		streams[i] = stream_of(i % 2 ? CU_STREAM_NON_BLOCKING : 0);
	for (unsigned number = COUNT; number < 4000; number++) {
		unsigned which = (unsigned)rand_r(&seed) % 6;

		/* A target belongs to one stream, so its uploads are in order. */
		unsigned n = number / COUNT * COUNT + which * 10 + (unsigned)rand_r(&seed) % 10;
		if (which < 4 ? upload(n, streams[which]) : upload_by(n, NULL, which == 5))
			last[n % COUNT] = n;
		if (rand_r(&seed) % 3 == 0)
			standin_step(streams[rand_r(&seed) % 4], 1 + rand_r(&seed) % 8);
		if (rand_r(&seed) % 200 != 0)
			continue;
		OK(cuCtxSynchronize());
		for (unsigned i = 0; i < COUNT; i++)
			arrived += last[i] != 0 && CHECK(has_arrived(last[i]));
	}
	CHECK(arrived > 300);
}

static void *upload_from_a_thread(void *arg)
{
	unsigned mine = (unsigned)(uintptr_t)arg;
	CUstream stream;

	OK(cuCtxSetCurrent(context));
	stream = mine % 2 ? stream_of(CU_STREAM_NON_BLOCKING) : shared;
	for (unsigned i = 0; i < 300; i++) {
		unsigned number = mine * 8 + i % 8 + i / 8 * COUNT;

		if (!upload(number, stream))
			continue;
		if (i % 5 == 0) {
			OK(cuStreamSynchronize(stream));
			CHECK(has_arrived(number));
		}
	}
	OK(cuStreamSynchronize(stream));
	return NULL;
}

TEST(threads)
{
	pthread_t threads[8];

	begin();
	shared = stream_of(CU_STREAM_NON_BLOCKING);
	for (uintptr_t i = 0; i < HP_LEN(threads); i++)
		pthread_create(&threads[i], NULL, upload_from_a_thread, (void *)i);
	for (size_t i = 0; i < HP_LEN(threads); i++)
		pthread_join(threads[i], NULL);
}

CHECK_MAIN()
