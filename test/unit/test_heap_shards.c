/*
 * test_heap_shards.c - blocks that wait in shards: their owners, look-ups, and how they leave.
 */
#include "base/clock.h"
#include "base/counters.h"
#include "base/lock.h"
#include "heap/cache.h"
#include "heap/map.h"
#include "heap/reclaim.h"

#include "check.h"
#include "heap_helpers.h"

#include <errno.h>

#define BYTES (300 * KIB)

static struct block *of(const char *memory)
{
	return range_find(memory);
}

/* Registers the block, or unregisters it, as src/pin does. */
static void set_pinned(struct block *block, bool pinned)
{
	CHECK(pinned ? word_try_pin(&block->word) : word_try_unpin(&block->word));
	CHECK(heap_release(block, pinned, NULL));
}

/* Returns a block that waits in a shard. */
static char *park(struct block **ret)
{
	char *memory = heap_alloc(BYTES, 0, false, 0);

	*ret = of(memory);
	CHECK_EQ(heap_free(memory), 0);
	CHECK_EQ((*ret)->state, BLOCK_PARKED);
	return memory;
}

HEAP_TEST(a_loop_needs_no_lock)
{
	struct block *block;

	char *memory = park(&block);
	/* A thread that needed the lock would wait for ever. */
	alarm(check_limit(10));
	hp_lock(HP_LOCK_heap);
	for (int i = 0; i < 1000; i++) {
		CHECK(heap_alloc(BYTES, 0, false, 0) == memory);
		CHECK_EQ(heap_usable(memory), block->room - (block->start - block->base));
		CHECK_EQ(heap_free(memory), 0);
		CHECK_EQ(heap_free(memory), -EINVAL);
		CHECK_EQ(heap_usable(memory), 0);
	}
	hp_unlock(HP_LOCK_heap);
	heap_count();
	CHECK_EQ(hp_count_read(blocks_served), 1001);
	CHECK_EQ(hp_count_read(blocks_reused), 1000);
	heap_count();
	CHECK_EQ(hp_count_read(blocks_served), 1001);
	CHECK_EQ(live(), 0);
	CHECK_EQ(kept(), block->touched);
}

HEAP_TEST(what_does_not_suit_is_not_taken)
{
	struct block *block;

	char *memory = park(&block);
	char *small = heap_alloc(200 * KIB, 0, false, 0),
	     *large = heap_alloc(BYTES * 2, 0, false, 0);
	CHECK(of(small) != of(large));
	CHECK(of(small)->room - 200 * KIB < 32 * KIB);
	CHECK_EQ(heap_free(small), 0);
	CHECK_EQ(heap_free(large), 0);

	char *again = heap_alloc(BYTES, 0, true, 0);
	CHECK(all_are(again, BYTES, 0));
	memset(again, 1, BYTES);
	CHECK_EQ(heap_free(again), 0);
	again = heap_alloc(BYTES, 4 * KIB, true, 0);
	CHECK_EQ((uintptr_t)again % (4 * KIB), 0);
	CHECK(all_are(again, BYTES, 0));
	(void)memory;
}

/* A block of 2.25 MiB has addresses for 4 MiB, which the next one of its class would waste. */
HEAP_TEST(a_block_grows_in_place_up_to_its_class)
{
	char *block = heap_alloc(2200 * KIB, 0, false, 0);

	CHECK(!heap_resize(block, 3 * MIB));
	CHECK(heap_resize(block, 2230 * KIB));
	CHECK_EQ(heap_free(block), 0);
	CHECK(heap_alloc(2200 * KIB, 0, false, 0) == block);
	CHECK(heap_usable(block) < 2304 * KIB);
}

HEAP_TEST(registered_or_altered_meanwhile)
{
	struct block *block;

	char *memory = park(&block);
	word_alter(&block->word, WORD_REGISTERED);
	CHECK(heap_alloc(BYTES, 0, false, 0) != memory);
	unpark();
	CHECK_EQ(block->state, BLOCK_HELD);
	CHECK_EQ(heap_check(), 0);
	heap_unhold(block);
	CHECK_EQ(block->state, BLOCK_CACHED);

	memory = park(&block);
	word_alter(&block->word, WORD_ALTERED);
	CHECK(heap_alloc(BYTES, 0, false, 0) != memory);
	CHECK_EQ(heap_check(), 0);

	/* In use, and then freed. */
	memory = park(&block);
	CHECK(heap_alloc(BYTES, 0, false, 0) == memory);
	word_alter(&block->word, WORD_REGISTERED);
	CHECK_EQ(heap_free(memory), 0);
	CHECK_EQ(block->state, BLOCK_HELD);
}

HEAP_TEST(a_pinned_block_is_not_parked)
{
	struct block *block;

	heap_set_device(true);
	char *memory = park(&block);
	CHECK_EQ(heap_try_pin(block), 0);
	CHECK(heap_alloc(BYTES, 0, false, 0) == memory);

	/* The block is freed while it is being pinned. */
	size_t room = heap_try_pin(block);
	CHECK_EQ(room, block->room);
	CHECK_EQ(heap_free(memory), 0);
	CHECK_EQ(block->state, BLOCK_CACHED);
	CHECK(heap_release(block, true, NULL));
	/* A larger request of its class gets another block, because the pin is as long as the room.
	 */
	CHECK(range_find(heap_alloc(BYTES + 8 * KIB, 0, false, 0)) != block);
	CHECK_EQ(block->size_class, map_class(BYTES + 8 * KIB));
	CHECK(heap_alloc(BYTES, 0, false, 0) == memory);
	CHECK(block_pin(block) == BLOCK_PINNED && block->room == room);
}

HEAP_TEST(pinned_ones_become_due)
{
	struct block *block;

	heap_set_device(true);
	char *memory = park(&block);
	CHECK(!heap_any_due());
	CHECK(heap_alloc(BYTES, 0, false, 0) == memory);
	set_pinned(block, true);
	CHECK_EQ(heap_free(memory), 0);
	CHECK_EQ(block->state, BLOCK_CACHED);
	CHECK(!heap_any_due());
	CHECK(heap_take_due() == NULL);
	/* Allocated again it keeps its pin. */
	CHECK(heap_alloc(BYTES, 0, false, 0) == memory);
	CHECK_EQ(block_pin(block), BLOCK_PINNED);
	pass_ms(1100);
	CHECK(!heap_any_due());
	CHECK(heap_take_due() == NULL);
	CHECK_EQ(heap_free(memory), 0);
	CHECK(!heap_any_due());
	CHECK(heap_take_due() == NULL);
	pass_ms(900);
	CHECK(!heap_any_due());
	pass_ms(200);
	CHECK(heap_any_due());
	CHECK(heap_take_due() == block);
	CHECK_EQ(block->state, BLOCK_LEAVING);
	CHECK(!heap_any_due());
	CHECK(heap_take_due() == NULL);
	heap_return(block);

	/* The pin ends immediately if the budget needs it. */
	CHECK_EQ(heap_free(heap_alloc(BYTES, 0, false, 0)), 0);
	CHECK_EQ(heap_check(), 0);
	CHECK(heap_take_due() == NULL);
	heap_set_reclaim_target(1);
	CHECK(heap_any_due());
	CHECK(heap_take_due() == block);
	CHECK_EQ(heap_check(), 0);

	/* Memory is short. */
	heap_return(block);
	CHECK_EQ(heap_free(heap_alloc(BYTES, 0, false, 0)), 0);
	CHECK(heap_take_due() == NULL);
	heap_set_level(PRESSURE_SOME);
	CHECK(heap_take_due() == block);
}

/* A block that is pinned only after it was parked. */
HEAP_TEST(a_pin_in_a_shard_is_found)
{
	struct block *block;

	heap_set_device(true);
	char *memory = park(&block);
	set_pinned(block, true);
	CHECK(heap_alloc(BYTES, 0, false, 0) == memory);
	set_pinned(block, false);
	CHECK_EQ(heap_free(memory), 0);
	set_pinned(block, true);
	CHECK_EQ(block->state, BLOCK_PARKED);
	for (int i = 0; i < 4; i++) {
		heap_expire(hp_now_ns());
		pass_ms(600);
	}
	CHECK(heap_take_due() == block);
}

TEST(time_pressure_and_closing_find_them)
{
	struct block *block;
	uint64_t now = hp_now_ns();

	heap_set_device(true);
	char *large = heap_alloc(40 * MIB, 0, false, 0);
	block = of(large);
	memset(large, 1, 40 * MIB);
	CHECK_EQ(heap_free(large), 0);
	CHECK_EQ(block->state, BLOCK_PARKED);
	now = hp_now_ns();
	heap_expire(now);
	CHECK_EQ(block->state, BLOCK_CACHED);
	heap_expire(now + CACHE_NS - 1);
	CHECK(kept() >= 40 * MIB);
	heap_expire(now + CACHE_NS);
	CHECK_EQ(kept(), 0);

	park(&block);
	heap_set_level(PRESSURE_SOME);
	CHECK_EQ(kept(), 0);
	park(&block);
	heap_expire(hp_now_ns());
	CHECK_EQ(kept(), 0);
	heap_set_level(PRESSURE_SEVERE);
	CHECK_EQ(heap_free(heap_alloc(BYTES, 0, false, 0)), 0);
	CHECK_EQ(kept(), 0);
	heap_set_level(PRESSURE_NONE);
	char *memory = park(&block);
	heap_close();
	CHECK_EQ(kept(), 0);
	CHECK_EQ(heap_free(memory), -EINVAL);
	CHECK_EQ(heap_check(), 0);
}

/* A loop whose block is in use at every look parks it again each time. */
HEAP_TEST(what_is_used_is_parked_again)
{
	heap_set_device(true);
	char *memory = heap_alloc(40 * MIB, 0, false, 0);
	uint64_t now = hp_now_ns();

	for (int i = 0; i < 10; i++) {
		CHECK_EQ(heap_free(memory), 0);
		CHECK_EQ(of(memory) == NULL, true);
		CHECK_EQ(map_at((uintptr_t)memory)->state, BLOCK_PARKED);
		CHECK(heap_alloc(40 * MIB, 0, false, 0) == memory);
		CHECK(heap_needs_expiry());
		now += CACHE_NS / 2;
		heap_expire(now);
		CHECK(!heap_needs_expiry());
	}
}

static void *free_it(void *memory)
{
	return (void *)(intptr_t)heap_free(memory);
}

HEAP_TEST(freed_elsewhere_it_serves_the_next)
{
	struct block *block;
	void *result;

	char *memory = park(&block);
	for (int i = 0; i < 10; i++) {
		CHECK(heap_alloc(BYTES, 0, false, 0) == memory);
		result = check_in_thread(free_it, memory);
		CHECK(result == NULL);
		CHECK(block->state == BLOCK_PARKED || block->state == BLOCK_CACHED);
	}
}

static void *allocate_and_free(void *arg)
{
	char *memory = heap_alloc(16 * MIB, 0, false, 0);

	memset(memory, 1, 16 * MIB);
	CHECK_EQ(heap_free(memory), 0);
	return arg;
}

/* Many threads, each with a shard of its own, have ended. */
TEST(what_dead_threads_left_is_bounded_and_serves)
{
	skip_if_sanitized();
	size_t before = memory_resident();
	for (int i = 0; i < 12; i++) {
		check_in_thread(allocate_and_free, NULL);
		CHECK(kept() <= 60 * MIB);
		CHECK_EQ(heap_check(), 0);
	}
	CHECK(memory_resident() < before + 62 * MIB);
	size_t most = kept();
	char *memory = heap_alloc(16 * MIB, 0, false, 0);
	CHECK(kept() < most);
	CHECK_EQ(heap_free(memory), 0);
	/* Other sizes are also allocated from their blocks. */
	for (int i = 0; i < 40; i++)
		memory = heap_alloc(MIB, 0, false, 0);
	CHECK_EQ(heap_check(), 0);
}

/* No thread of the child has them. */
HEAP_TEST(parked_and_leaving_blocks_in_the_child_of_a_fork)
{
	struct block *parked, *leaving;

	heap_set_device(true);
	char *memory = heap_alloc(BYTES, 0, false, 0);
	leaving = of(memory);
	set_pinned(leaving, true);
	CHECK_EQ(heap_free(memory), 0);
	pass_ms(1100);
	CHECK(heap_take_due() == leaving);
	park(&parked);
	if (CHECK_CHILD(0)) {
		heap_after_fork_child();
		CHECK(parked->state != BLOCK_PARKED && leaving->state != BLOCK_LEAVING);
		CHECK_EQ(heap_check(), 0);
		heap_set_level(PRESSURE_SEVERE);
		CHECK_EQ(kept(), 0);
		_exit(check_failures != 0);
	}
	heap_return(leaving);
}

CHECK_MAIN()
