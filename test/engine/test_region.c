/*
 * test_region.c - pinned regions on the stand-in driver: how they are made, shared and ended.
 */
#include "stage/pool.h"
#include "base/parse.h"
#include "pin/pin.h"

#include "linked.h"
#include "../standin/standin.h"
#include "sizes.h"

#include <pthread.h>

#define PIECE ((size_t)128 << 10)
#define SMALL (REGION_SMALL_UNITS * REGION_SMALL_UNIT)

static CUcontext context;

/* The budget holds one large and one small region, but not two of either. */
static void begin_by(uint64_t large, void *(*look_up)(void *, const char *))
{
	linked_load(look_up);
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&context, 0, 0));
	pin_start(2 * (large + SMALL));
	region_start(large, POOL_SMALL_WANTS);
}

static void begin(uint64_t large)
{
	begin_by(large, linked_look_up);
}

static bool take_large(unsigned least, unsigned most, bool leaves, struct pool_hold *ret)
{
	return pool_take_large(least, most, leaves, NULL, false, ret);
}

static bool take_small(struct pool_hold *ret)
{
	return pool_take_small(REGION_SMALL_UNIT, NULL, false, ret);
}

static void want_small(void)
{
	struct pool_hold hold;

	for (int i = 0; i <= POOL_SMALL_WANTS; i++)
		CHECK(!take_small(&hold));
}

static size_t units_of(const struct pool_hold *hold)
{
	return pool_room(hold, REGION_LARGE_UNIT);
}

/* Keeps slots in flight behind a stream that is held. */
static CUdeviceptr flag;

static bool leave_stalled(struct pool_hold *hold, CUstream *ret_stream)
{
	CUevent event = pool_event(hold, PIECE, 0);

	OK(cuMemAlloc_v2(&flag, 64));
	OK(cuMemsetD8_v2(flag, 0, 64));
	OK(cuStreamCreate(ret_stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamWaitValue32_v2(*ret_stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuEventRecord(event, *ret_stream));
	return pool_leave(hold, event);
}

static void release(CUstream stream)
{
	CUstream other;

	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(cuMemsetD32Async(flag, 1, 1, other));
	OK(cuStreamSynchronize(other));
	OK(cuStreamSynchronize(stream));
}

static void refuse(const char *what)
{
	setenv("STANDIN_FAIL", what, 1);
}

TEST(register_refused)
{
	refuse("cuMemHostRegister:1,cuMemHostRegister:3:801,cuMemHostRegister:4:801");
	begin(32 * MIB);
	CHECK(!pool_make());
	CHECK(!pool_is_ready());
	CHECK(pool_may_be());
	CHECK(pool_make());
}

TEST(register_refused_for_good)
{
	refuse("cuMemHostRegister:1,cuMemHostRegister:2,cuMemHostRegister:3");
	begin(32 * MIB);
	for (int i = 0; i < 6; i++)
		CHECK(!pool_make());
	CHECK(!pool_may_be());
	CHECK_EQ(standin_calls("cuMemHostRegister"), 3);
}

TEST(no_large_region_wanted)
{
	begin(REGION_LARGE_UNIT - 1);
	CHECK(!pool_may_be());
	CHECK(!pool_make());
	CHECK_EQ(standin_calls("cuMemHostRegister"), 0);
}

/* The context that was current during the registration ends before the driver returns. */
static CUresult register_and_end(void *memory, size_t bytes, unsigned flags)
{
	static int calls;
	CUresult result = cuMemHostRegister_v2(memory, bytes, flags);

	if (calls++ == 0) {
		OK(cuCtxDestroy_v2(context));
		region_context_ended(context, true);
	}
	return result;
}

static void *look_up_and_end(void *handle, const char *name)
{
	return strcmp(name, "cuMemHostRegister_v2") == 0 ? (void *)register_and_end
							 : linked_look_up(handle, name);
}

TEST(a_context_ends_while_its_large_region_is_made)
{
	struct pool_hold hold;

	begin_by(16 * MIB, look_up_and_end);
	CHECK(!pool_make());
	CHECK(!pool_is_ready());
	OK(cuCtxCreate_v2(&context, 0, 0));
	CHECK(pool_make());
	CHECK_EQ(standin_registered_bytes(), 16 * MIB);
	CHECK(take_large(1, 1, false, &hold));
}

TEST(a_context_ends_while_its_small_region_is_made)
{
	struct pool_hold hold;

	begin_by(0, look_up_and_end);
	want_small();
	OK(cuCtxCreate_v2(&context, 0, 0));
	want_small();
	CHECK_EQ(standin_registered_bytes(), SMALL);
	CHECK(take_small(&hold));
}

/* The next context at its address has another id: the registration has ended, too. */
TEST(an_owner_is_replaced_unnoticed)
{
	struct pool_hold hold;
	CUcontext before;

	begin(16 * MIB);
	before = context;
	CHECK(pool_make());
	want_small();
	OK(cuCtxDestroy_v2(context));
	OK(cuCtxCreate_v2(&context, 0, 0));
	CHECK(context == before);
	CHECK(!take_large(1, 1, false, &hold));
	CHECK(!pool_is_ready());
	CHECK(pool_make());
	want_small();
	CHECK_EQ(standin_registered_bytes(), 16 * MIB + SMALL);
	CHECK(take_large(1, 1, false, &hold));
	CHECK(take_small(&hold));
}

TEST(neither_limit_starves_the_other)
{
	struct pool_hold large, small[REGION_SMALL_UNITS], hold;

	begin(8 * MIB);
	CHECK(pool_make());
	want_small();
	CHECK(take_large(4, 4, false, &large));
	CHECK(!take_large(1, 1, false, &hold));
	for (unsigned i = 0; i < REGION_SMALL_UNITS; i++)
		CHECK(take_small(&small[i]));
	CHECK(!take_small(&hold));
	pool_put(&large);
	CHECK(take_large(4, 4, false, &large));
	CHECK(!take_small(&hold));
}

/* A copy gets half of the free slots, or `least` if that is more. */
TEST(shares)
{
	struct pool_hold holds[3], hold;

	begin(32 * MIB);
	CHECK(pool_make());
	CHECK(take_large(4, 8, false, &holds[0]));
	CHECK_EQ(units_of(&holds[0]), 8);
	CHECK(take_large(4, 8, false, &holds[1]));
	CHECK_EQ(units_of(&holds[1]), 4);
	CHECK(take_large(3, 3, false, &holds[2]));
	CHECK_EQ(units_of(&holds[2]), 3);
	CHECK(!take_large(4, 8, false, &hold));
	CHECK(take_large(1, 8, false, &hold));
	CHECK_EQ(units_of(&hold), 1);
	pool_put(&holds[0]);
	CHECK(take_large(4, 8, false, &holds[0]));
	CHECK_EQ(units_of(&holds[0]), 4);
}

static bool is_in_one(const struct pool_hold *hold, size_t piece, const char *at)
{
	for (size_t i = 0; i < pool_room(hold, piece); i++) {
		const char *from = pool_memory(hold, piece, i);

		if (at >= from && at < from + piece)
			return true;
	}
	return false;
}

/* Slots of a share need not be adjacent; each piece has its own memory and event. */
TEST(pieces)
{
	struct pool_hold first, second, third;

	begin(16 * MIB);
	CHECK(pool_make());
	CHECK(take_large(2, 2, false, &first));
	CHECK(take_large(1, 1, false, &second));
	pool_put(&first);
	CHECK(take_large(3, 3, false, &third));
	for (size_t piece = PIECE; piece <= REGION_LARGE_UNIT; piece *= 2) {
		size_t room = pool_room(&third, piece);

		CHECK_EQ(room, 3 * REGION_LARGE_UNIT / piece);
		for (size_t i = 0; i < room; i++) {
			char *memory = pool_memory(&third, piece, i);

			CHECK(pool_memory(&third, piece, i + room) == memory);
			CHECK(!is_in_one(&second, piece, memory));
			CHECK(pool_event(&third, piece, i) != NULL);
			for (size_t j = 0; j < i; j++)
				CHECK(pool_event(&third, piece, j) !=
					      pool_event(&third, piece, i) &&
				      pool_memory(&third, piece, j) != memory);
		}
	}
}

TEST(events_are_made_once)
{
	struct pool_hold hold;

	begin(16 * MIB);
	CHECK(pool_make());
	for (int i = 0; i < 10; i++) {
		CHECK(take_large(2, 2, false, &hold));
		pool_put(&hold);
	}
	CHECK_EQ(standin_calls("cuEventCreate"), 2 * REGION_LARGE_UNIT / PIECE);
}

/* Half of the region limits the sum of slots in flight and those reserved by copies. */
TEST(half_may_be_in_flight)
{
	struct pool_hold promised[2], other, hold;
	CUstream stream;

	begin(16 * MIB);
	CHECK(pool_make());
	CHECK(take_large(2, 2, true, &promised[0]));
	CHECK(take_large(2, 2, true, &promised[1]));
	CHECK(!take_large(1, 1, true, &hold));
	CHECK(take_large(1, 1, false, &other));
	CHECK(!leave_stalled(&other, &stream));
	CHECK(leave_stalled(&promised[0], &stream));
	CHECK(!pool_leave(&other, pool_event(&other, PIECE, 0)));
	pool_put(&promised[1]);
	CHECK(pool_leave(&other, pool_event(&other, PIECE, 0)));
	CHECK(take_large(1, 1, true, &hold));
	CHECK(!take_large(1, 1, true, &hold));
}

/* The error of a query says nothing about the copy in flight. */
TEST(a_refused_query)
{
	struct pool_hold left, hold;
	CUstream stream;

	refuse("cuEventQuery:1");
	begin(8 * MIB);
	CHECK(pool_make());
	CHECK(take_large(2, 2, false, &left));
	char *memory = left.memory;
	CHECK(leave_stalled(&left, &stream));
	CHECK(take_large(2, 2, false, &hold));
	CHECK(hold.memory != memory);
	pool_put(&hold);
	release(stream);
	CHECK(take_large(4, 4, false, &hold));
}

static struct pool_hold held;

static void *put_late(void *arg)
{
	(void)arg;
	OK(cuCtxSetCurrent(context));
	check_give_a_chance();
	CHECK(held.memory != NULL);
	pool_put(&held);
	return NULL;
}

/* The end of a context waits for a thread that is inside a copy of any size. */
static void end_during_a_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, put_late, NULL);
	region_context_ending(context);
	CHECK(held.memory == NULL);
	pthread_join(thread, NULL);
}

TEST(held_large_units_are_waited_for)
{
	struct pool_hold hold;

	begin(8 * MIB);
	CHECK(pool_make());
	CHECK(take_large(1, 1, false, &held));
	end_during_a_thread();
	CHECK(!take_large(1, 1, false, &hold));
	region_context_ended(context, false);
	CHECK(take_large(1, 1, false, &hold));
}

TEST(held_small_units_are_waited_for)
{
	struct pool_hold hold;

	begin(0);
	want_small();
	CHECK(take_small(&held));
	end_during_a_thread();
	CHECK(!take_small(&hold));
	region_context_ended(context, false);
	CHECK(take_small(&hold));
}

TEST(not_in_a_child)
{
	int status;

	begin(8 * MIB);
	CHECK(pool_make());
	want_small();

	pid_t child = fork();
	if (child == 0) {
		struct pool_hold hold;

		region_after_fork_child();
		_exit(pool_may_be() || pool_is_ready() || pool_make() ||
		      take_large(1, 1, false, &hold) || take_small(&hold));
	}
	waitpid(child, &status, 0);
	CHECK_EQ(status, 0);
	CHECK(pool_is_ready());
}

CHECK_MAIN()
