/*
 * test_area.c - the areas of contexts on the stand-in driver: how they are made, shared and ended.
 */
#include "stage/area.h"
#include "base/parse.h"
#include "pin/pin.h"
#include "stage/memory.h"
#include "stage/ring.h"

#include "linked.h"
#include "../standin/standin.h"
#include "sizes.h"

#include <pthread.h>

#define PIECE ((size_t)128 << 10)
#define PRICE 1000

static CUcontext context;

/* The budget has room for two areas and two rings. */
static void begin_by(uint64_t bytes, void *(*look_up)(void *, const char *))
{
	linked_load(look_up);
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&context, 0, 0));
	pin_start(4 * (bytes + RING_BYTES));
	area_start(bytes, PRICE);
	ring_start(1);
}

static void begin(uint64_t bytes)
{
	begin_by(bytes, linked_look_up);
}

static bool make(void)
{
	return area_is_there(PRICE);
}

static size_t units_of(const struct area_hold *hold)
{
	return area_room(hold, AREA_UNIT);
}

static void end(CUcontext which)
{
	memory_context_ending(which);
	OK(cuCtxDestroy_v2(which));
	memory_context_ended(which, true);
}

static void refuse(const char *what)
{
	setenv("STANDIN_FAIL", what, 1);
}

/* Copies that pass without an area earn it, in each context for itself. */
TEST(made_when_it_pays)
{
	for (int i = 0; i < 2; i++) {
		if (i == 0)
			begin(16 * MIB);
		else
			OK(cuCtxCreate_v2(&context, 0, 0));
		CHECK(!area_is_there(PRICE / 2));
		CHECK(!area_is_there(0));
		CHECK(!area_is_there(PRICE / 2 - 1));
		CHECK_EQ(standin_registered_bytes(), (size_t)i * 16 * MIB);
		CHECK(area_is_there(1));
		CHECK(area_is_there(0));
		CHECK_EQ(standin_registered_bytes(), (size_t)(i + 1) * 16 * MIB);
	}
}

TEST(register_refused)
{
	refuse("cuMemHostRegister:1,cuMemHostRegister:3:801,cuMemHostRegister:4:801");
	begin(32 * MIB);
	CHECK(!make());
	CHECK(memory_may_be(MEMORY_AREA));
	CHECK(!area_is_there(1));
	CHECK(make());
}

TEST(register_refused_for_good)
{
	refuse("cuMemHostRegister:1,cuMemHostRegister:2,cuMemHostRegister:3");
	begin(32 * MIB);
	for (int i = 0; i < 6; i++)
		CHECK(!make());
	CHECK(!memory_may_be(MEMORY_AREA));
	CHECK_EQ(standin_calls("cuMemHostRegister"), 3);
}

/* The driver refuses memory for another context: the one that has an area keeps it. */
TEST(register_refused_elsewhere)
{
	struct area_hold hold;
	CUcontext first;

	refuse("cuMemHostRegister:2,cuMemHostRegister:3,cuMemHostRegister:4");
	begin(16 * MIB);
	first = context;
	CHECK(make());
	OK(cuCtxCreate_v2(&context, 0, 0));
	for (int i = 0; i < 6; i++)
		CHECK(!make());
	CHECK_EQ(standin_calls("cuMemHostRegister"), 4);
	OK(cuCtxSetCurrent(first));
	CHECK(make());
	CHECK(area_take(1, 1, &hold));
}

TEST(no_area_wanted)
{
	begin(AREA_UNIT - 1);
	CHECK(!memory_may_be(MEMORY_AREA));
	CHECK(!make());
	CHECK_EQ(standin_calls("cuMemHostRegister"), 0);
}

/* The context that was current during the registration ends before the driver returns. */
static CUresult register_and_end(void *memory, size_t bytes, unsigned flags)
{
	static int calls;
	CUresult result = cuMemHostRegister_v2(memory, bytes, flags);

	if (calls++ == 0)
		end(context);
	return result;
}

static void *look_up_and_end(void *handle, const char *name)
{
	return strcmp(name, "cuMemHostRegister_v2") == 0 ? (void *)register_and_end
							 : linked_look_up(handle, name);
}

TEST(a_context_ends_while_its_area_is_made)
{
	struct area_hold hold;

	begin_by(16 * MIB, look_up_and_end);
	CHECK(!make());
	OK(cuCtxCreate_v2(&context, 0, 0));
	CHECK(!area_is_there(1));
	CHECK(make());
	CHECK_EQ(standin_registered_bytes(), 16 * MIB);
	CHECK(area_take(1, 1, &hold));
}

/* Another context is at the address of one that ended; returns the memory of the former area. */
static char *replace(bool noticed)
{
	CUcontext before;
	struct area_hold hold;

	begin(16 * MIB);
	before = context;
	CHECK(make());
	CHECK(area_take(1, 1, &hold));
	char *memory = area_memory(&hold, AREA_UNIT, 0);
	area_put(&hold);
	if (noticed)
		memory_context_ending(before);
	OK(cuCtxDestroy_v2(before));
	OK(cuCtxCreate_v2(&context, 0, 0));
	CHECK(context == before);
	CHECK(!area_take(1, 1, &hold));
	return memory;
}

/* The next context copies before the call that has ended the earlier one returns. */
TEST(an_owner_is_replaced)
{
	char *memory = replace(true);
	struct area_hold hold;

	CHECK(!is_mapped(memory));
	CHECK(make());
	CHECK(area_take(1, 1, &hold));
	memory_context_ended(context, true);
	CHECK_EQ(standin_registered_bytes(), 16 * MIB);
	memset(area_memory(&hold, AREA_UNIT, 0), 1, AREA_UNIT);
	area_put(&hold);
	CHECK(area_take(1, 1, &hold));
}

/* No call has ended the context, so its registration may still exist: the memory stays. */
TEST(an_owner_is_replaced_unnoticed)
{
	char *memory = replace(false);

	CHECK(is_mapped(memory));
	CHECK(!make());
	CHECK_EQ(standin_calls("cuMemHostRegister"), 1);
}

/* Area and ring have room of their own. */
TEST(neither_limit_starves_the_other)
{
	struct area_hold hold;
	struct ring_hold all, more;

	begin(8 * MIB);
	CHECK(make());
	CHECK(ring_take(RING_BYTES, NULL, false, &all));
	CHECK(!ring_take(1, NULL, false, &more));
	CHECK(area_take(4, 4, &hold));
	CHECK(!area_take(1, 1, &(struct area_hold){ 0 }));
	ring_put(&all, false);
	CHECK(ring_take(1, NULL, false, &more));
}

/* A copy gets half of the free units, or `least` if that is more. */
TEST(shares)
{
	struct area_hold holds[3], hold;

	begin(32 * MIB);
	CHECK(make());
	CHECK(area_take(4, 8, &holds[0]));
	CHECK_EQ(units_of(&holds[0]), 8);
	CHECK(area_take(4, 8, &holds[1]));
	CHECK_EQ(units_of(&holds[1]), 4);
	CHECK(area_take(3, 3, &holds[2]));
	CHECK_EQ(units_of(&holds[2]), 3);
	CHECK(!area_take(4, 8, &hold));
	CHECK(area_take(1, 8, &hold));
	CHECK_EQ(units_of(&hold), 1);
	area_put(&holds[0]);
	CHECK(area_take(4, 8, &holds[0]));
	CHECK_EQ(units_of(&holds[0]), 4);
}

static bool is_in_one(const struct area_hold *hold, size_t piece, const char *at)
{
	for (size_t i = 0; i < area_room(hold, piece); i++) {
		const char *from = area_memory(hold, piece, i);

		if (at >= from && at < from + piece)
			return true;
	}
	return false;
}

/* Units of a share need not be adjacent; each piece has its own memory and event. */
TEST_AFTER(pieces, begin(16 * MIB))
{
	struct area_hold first, second, third;

	CHECK(make());
	CHECK(area_take(2, 2, &first));
	CHECK(area_take(1, 1, &second));
	area_put(&first);
	CHECK(area_take(3, 3, &third));
	for (size_t piece = PIECE; piece <= AREA_UNIT; piece *= 2) {
		size_t room = area_room(&third, piece);

		CHECK_EQ(room, 3 * AREA_UNIT / piece);
		for (size_t i = 0; i < room; i++) {
			char *memory = area_memory(&third, piece, i);

			CHECK(area_memory(&third, piece, i + room) == memory);
			CHECK(!is_in_one(&second, piece, memory));
			CHECK(area_event(&third, piece, i) != NULL);
			for (size_t j = 0; j < i; j++)
				CHECK(area_event(&third, piece, j) !=
					      area_event(&third, piece, i) &&
				      area_memory(&third, piece, j) != memory);
		}
	}
}

TEST_AFTER(events_are_made_once, begin(16 * MIB))
{
	struct area_hold hold;

	CHECK(make());
	for (int i = 0; i < 10; i++) {
		CHECK(area_take(2, 2, &hold));
		area_put(&hold);
	}
	CHECK_EQ(standin_calls("cuEventCreate"), 2 * AREA_UNIT / PIECE);
}

/* A context ends without a wait for the copies of another, which keep their units. */
TEST_AFTER(contexts_end_apart, begin(16 * MIB))
{
	struct area_hold first, second, hold;
	CUcontext other;

	CHECK(make());
	CHECK(area_take(1, 1, &first));
	char *gone = area_memory(&first, AREA_UNIT, 0);
	area_put(&first);
	OK(cuCtxCreate_v2(&other, 0, 0));
	CHECK(make());
	CHECK(area_take(4, 4, &second));
	CHECK(standin_pinned(area_memory(&second, AREA_UNIT, 0)));
	end(context);
	CHECK(!is_mapped(gone));
	CHECK_EQ(standin_registered_bytes(), 16 * MIB);
	CHECK(standin_pinned(area_memory(&second, AREA_UNIT, 0)));
	OK(cuCtxSetCurrent(other));
	CHECK(area_take(4, 4, &hold));
	area_put(&second);
	area_put(&hold);
	CHECK(area_take(8, 8, &hold));
}

/* A thread that is inside a copy when its context ends keeps the mapping, and not the budget. */
TEST_AFTER(held_when_its_context_ends, begin(16 * MIB))
{
	struct area_hold holds[2], hold;

	pin_start(2 * 16 * MIB); /* one area */
	CHECK(make());
	CHECK(area_take(1, 1, &holds[0]));
	CHECK(area_take(1, 1, &holds[1]));
	char *memory = area_memory(&holds[0], AREA_UNIT, 0);
	end(context);
	CHECK_EQ(standin_registered_bytes(), 0);
	OK(cuCtxCreate_v2(&context, 0, 0));
	CHECK(make());
	CHECK(area_take(8, 8, &hold));
	CHECK(!is_in_one(&hold, AREA_UNIT, memory));
	area_put(&holds[0]);
	memset(area_memory(&holds[1], AREA_UNIT, 0), 1, AREA_UNIT);
	CHECK(is_mapped(memory));
	area_put(&holds[1]);
	CHECK(!is_mapped(memory));
	CHECK_EQ(standin_registered_bytes(), 16 * MIB);
}

/* The driver refuses to end the context. */
TEST_AFTER(a_context_that_lives_on, begin(16 * MIB))
{
	struct area_hold hold;

	CHECK(make());
	memory_context_ending(context);
	memory_context_ended(context, false);
	CHECK(area_take(1, 1, &hold));
}

TEST_AFTER(no_context, begin(16 * MIB))
{
	struct area_hold hold;

	CHECK(make());
	OK(cuCtxSetCurrent(NULL));
	CHECK(!make());
	CHECK(!area_take(1, 1, &hold));
}

TEST(not_in_a_child)
{
	begin(8 * MIB);
	CHECK(make());

	if (CHECK_CHILD(0)) {
		struct ring_hold part;
		struct area_hold hold;

		memory_after_fork_child();
		_exit(memory_may_be(MEMORY_AREA) || make() || area_take(1, 1, &hold) ||
		      ring_take(1, NULL, false, &part));
	}
	CHECK(make());
}

CHECK_MAIN()
