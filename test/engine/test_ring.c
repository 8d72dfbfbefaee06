/*
 * test_ring.c - the rings of contexts, whose parts uploads leave in flight, on the stand-in driver.
 *
 * The stand-in reads pinned memory when an operation runs, so reusing a part too early produces
 * wrong bytes.
 */
#include "base/parse.h"
#include "pin/pin.h"
#include "stage/memory.h"
#include "stage/ring.h"

#include "linked.h"
#include "pattern.h"
#include "../standin/standin.h"
#include "sizes.h"

#include <sys/wait.h>

#define BYTES ((size_t)64 << 10)
#define PARTS ((unsigned)(RING_BYTES / BYTES))
#define COUNT 160 /* uploads with a target of their own */

static CUcontext context;
static CUdeviceptr there; /* COUNT * BYTES */

static void begin_in_a_context(void)
{
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&context, 0, 0));
	OK(cuMemAlloc_v2(&there, COUNT * BYTES));
	pin_start(64 * RING_BYTES);
	ring_start(RING_WANTS);
}

static void begin_without_a_ring(void)
{
	linked_load(linked_look_up);
	begin_in_a_context();
}

static bool take(struct ring_hold *ret)
{
	return ring_take(BYTES, NULL, false, ret);
}

static void want(void)
{
	struct ring_hold hold;

	for (int i = 1; i < RING_WANTS; i++)
		CHECK(!take(&hold));
	if (CHECK(take(&hold)))
		ring_put(&hold, false);
}

static void begin(void)
{
	begin_without_a_ring();
	want();
}

/* Uploads pattern `number` to target `number` from a part of its own.  False if no part is free. */
static bool upload_by(unsigned number, CUstream stream, bool per_thread)
{
	struct ring_hold hold;
	CUdeviceptr to = there + number % COUNT * BYTES;

	if (!ring_take(BYTES, stream, per_thread, &hold))
		return false;
	fill(hold.memory, BYTES, number);
	OK(per_thread ? cuMemcpyHtoDAsync_v2_ptsz(to, hold.memory, BYTES, stream)
		      : cuMemcpyHtoDAsync_v2(to, hold.memory, BYTES, stream));
	ring_put(&hold, true);
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

TEST(never_without_a_start)
{
	struct ring_hold hold;

	linked_load(linked_look_up);
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&context, 0, 0));
	for (int i = 0; i < 3 * RING_WANTS; i++)
		CHECK(!take(&hold));
	CHECK_EQ(standin_registrations(), 0);
}

TEST_AFTER(reused_when_complete, begin())
{
	struct ring_hold hold;
	CUstream stream;

	stream = stalled();
	for (unsigned i = 0; i < PARTS; i++)
		CHECK(upload(i, stream));
	CHECK(!upload(PARTS, stream));
	release();
	for (unsigned i = 0; i < PARTS; i++)
		CHECK(has_arrived(i));
	/* All parts are available again at the same time, after their events were polled. */
	for (unsigned i = 0, had = 0; had < PARTS && CHECK(i < PARTS + 8); i++)
		had += take(&hold);
	CHECK(!take(&hold));
}

/* Parts that were returned without a copy need no event. */
TEST_AFTER(put_back, begin())
{
	struct ring_hold hold;

	for (unsigned i = 0; i < 3 * PARTS; i++) {
		CHECK(take(&hold));
		ring_put(&hold, false);
		CHECK(hold.memory == NULL);
	}
	CHECK_EQ(standin_calls("cuEventQuery"), 0);
}

/* Behind a kernel most copies poll no event, no matter which stream holds the parts. */
static void in_vain(CUstream stream, bool per_thread)
{
	CUstream other;

	begin();
	other = stalled();
	for (unsigned i = 0; i < PARTS; i++)
		CHECK(upload(i, other));
	for (unsigned i = 0; i < 84; i++)
		CHECK(!upload_by(PARTS + i, stream != NULL ? stream : other, per_thread));
	CHECK(standin_calls("cuEventQuery") <= (int)(PARTS + 84) / 5 + 2);
	release();
}

CASE(few_questions_in_a_row, in_vain(NULL, false))
CASE(few_questions_of_another_stream, in_vain(CU_STREAM_LEGACY, false))
CASE(few_questions_of_a_threads_stream, in_vain(CU_STREAM_PER_THREAD, true))

/* The program may destroy the stream; the next one may have its handle. */
TEST_AFTER(streams_that_are_destroyed, begin())
{
	CUstream stream, other;

	stream = stalled();
	for (unsigned i = 0; i < PARTS - 1; i++)
		CHECK(upload(i, stream));
	OK(cuStreamDestroy_v2(stream));
	for (unsigned i = 0; i < 20; i++) {
		other = stream_of(CU_STREAM_NON_BLOCKING);
		CHECK(upload(PARTS + i, other) == (i == 0));
		OK(cuStreamSynchronize(other));
		OK(cuStreamDestroy_v2(other));
	}
	release();
	for (unsigned i = 0; i <= PARTS; i++)
		CHECK(i == PARTS - 1 || has_arrived(i));
}

static CUstream shared;

/* An event of the ring's context cannot cover these streams. */
TEST_AFTER(streams_of_another_context, begin())
{
	CUcontext other;
	CUstream stream;

	OK(cuCtxCreate_v2(&other, 0, 0));
	stream = stream_of(0);
	OK(cuCtxSetCurrent(context));
	for (unsigned i = 0; i < PARTS; i++)
		CHECK(!upload(i, stream));
	CHECK(upload(0, NULL));
}

/* The stream would continue to read after the context of its copies has ended. */
TEST_AFTER(streams_that_outlive_a_ring, begin_without_a_ring())
{
	CUcontext second;
	CUstream stream;

	stream = stalled();
	OK(cuCtxCreate_v2(&second, 0, 0));
	want();
	for (unsigned i = 0; i < PARTS; i++)
		upload(i, stream);
	memory_context_ending(second);
	OK(cuCtxDestroy_v2(second));
	memory_context_ended(second, true);
	OK(cuCtxSetCurrent(context));
	release();
}

/* A thread that is inside a copy keeps its part, without harm. */
TEST_AFTER(held_when_its_context_goes, begin_without_a_ring())
{
	struct ring_hold held[2], hold;
	CUcontext second;

	OK(cuCtxCreate_v2(&second, 0, 0));
	want();
	CHECK(take(&held[0]));
	CHECK(take(&held[1]));
	char *memory = held[1].memory;
	memory_context_ending(second);
	OK(cuCtxDestroy_v2(second));
	memory_context_ended(second, true);
	OK(cuCtxCreate_v2(&second, 0, 0));
	want();
	for (unsigned i = 0; i < PARTS; i++) {
		CHECK(take(&hold));
		CHECK(hold.memory != held[0].memory && hold.memory != memory);
	}
	CHECK(!take(&hold));
	ring_put(&held[0], true);
	memset(memory, 1, BYTES);
	ring_put(&held[1], false);
	CHECK(!is_mapped(memory));
	CHECK(!take(&hold));
}

/* More than the table holds: the last contexts have no ring. */
TEST_AFTER(many_contexts, begin_without_a_ring())
{
	CUcontext all[20];
	struct ring_hold hold;
	int have = 0;

	for (size_t i = 0; i < HP_LEN(all); i++) {
		OK(cuCtxCreate_v2(&all[i], 0, 0));
		for (int j = 1; j < RING_WANTS; j++)
			CHECK(!take(&hold));
		have += take(&hold);
	}
	CHECK_EQ(have, 16);
	memory_context_ending(all[3]);
	OK(cuCtxDestroy_v2(all[3]));
	memory_context_ended(all[3], true);
	OK(cuCtxSetCurrent(all[19]));
	want();
	CHECK(take(&hold));
}

/* Without an event the upload takes its fallback; a part without a record is not reused. */
TEST(events_refused)
{
	unsigned had = 0;

	setenv("STANDIN_FAIL", "cuEventCreate:2,cuEventRecord:2", 1);
	begin();
	for (unsigned i = 0; i < 40; i++) {
		if (!upload(i, NULL))
			continue;
		had++;
		OK(cuCtxSynchronize());
		CHECK(has_arrived(i));
	}
	CHECK_EQ(had, 39);
}

/* An error of the query says nothing about the copy. */
TEST(queries_refused)
{
	CUstream stream;

	setenv("STANDIN_FAIL", "cuEventQuery:1,cuEventQuery:2,cuEventQuery:3", 1);
	begin();
	stream = stalled();
	for (unsigned i = 0; i < PARTS; i++)
		upload(i, stream);
	for (unsigned i = 0; i < PARTS; i++)
		upload(PARTS + i, NULL);
	release();
	for (unsigned i = 0; i < PARTS; i++)
		CHECK(has_arrived(i));
}

/* Larger uploads take several adjacent units, which are released together. */
TEST(units_in_a_row)
{
	enum { COUNT_OF = 5, TIMES = RING_BYTES / ((size_t)64 << 10) / COUNT_OF };
	const size_t bytes = (COUNT_OF - 1) * BYTES + 1;
	struct ring_hold holds_of[TIMES], hold;
	CUstream stream;

	begin();
	OK(cuMemAlloc_v2(&there, TIMES * bytes));
	stream = stalled();
	for (unsigned i = 0; i < TIMES; i++) {
		CHECK(ring_take(bytes, stream, false, &holds_of[i]));
		fill(holds_of[i].memory, bytes, i);
	}
	CHECK(!ring_take(bytes, stream, false, &hold));
	for (unsigned i = 0; i < TIMES; i++) {
		OK(cuMemcpyHtoDAsync_v2(there + i * bytes, holds_of[i].memory, bytes, stream));
		ring_put(&holds_of[i], true);
	}
	CHECK(!ring_take(bytes, stream, false, &hold));
	/* The remaining units are enough for smaller uploads. */
	for (unsigned i = COUNT_OF * TIMES; i < PARTS; i++)
		CHECK(take(&hold));
	for (int i = 0; i < 8; i++)
		CHECK(!take(&hold));
	release();
	for (unsigned i = 0; i < TIMES; i++)
		CHECK(holds(standin_host(there + i * bytes), bytes, i));
}

/* The end of the ring is left out if the next upload does not fit there. */
TEST_AFTER(around_the_end, begin())
{
	struct ring_hold first, second, third, hold;

	CHECK(ring_take(3 * MIB, NULL, false, &first));
	CHECK(ring_take(3 * MIB, NULL, false, &second));
	CHECK(!ring_take(3 * MIB, NULL, false, &hold));
	ring_put(&first, false);
	CHECK(ring_take(3 * MIB, NULL, false, &third));
	CHECK(third.memory + 3 * MIB == second.memory);
	CHECK(!take(&hold));
	ring_put(&third, false);
	CHECK(!take(&hold));
	ring_put(&second, false);
	CHECK(ring_take(RING_BYTES, NULL, false, &hold));
}

/* Half of the budget holds one ring: another context gets one when the first one's has ended. */
TEST_AFTER(counts_against_the_budget, begin_without_a_ring())
{
	struct ring_hold hold;
	CUcontext first;

	first = context;
	pin_start(2 * RING_BYTES);
	want();
	CHECK_EQ(standin_registered_bytes(), RING_BYTES);
	OK(cuCtxCreate_v2(&context, 0, 0));
	for (int i = 0; i < 3 * RING_WANTS; i++)
		CHECK(!take(&hold));
	CHECK_EQ(standin_registered_bytes(), RING_BYTES);
	memory_context_ending(first);
	OK(cuCtxDestroy_v2(first));
	memory_context_ended(first, true);
	CHECK_EQ(standin_registered_bytes(), 0);
	for (int i = 0; i < RING_WANTS / 2 && !take(&hold); i++)
		continue;
	CHECK_EQ(standin_registered_bytes(), RING_BYTES);
}

/* Streams of every kind, in any order, some with pending work. */
TEST_AFTER(at_random, begin())
{
	unsigned seed = 1, last[COUNT] = { 0 }, arrived = 0;
	CUstream streams[4];

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

TEST_AFTER(threads, begin())
{
	shared = stream_of(CU_STREAM_NON_BLOCKING);
	check_in_threads(8, upload_from_a_thread);
}

CHECK_MAIN()
