/*
 * test_pin_context.c - pins when contexts end, or seem to end, and in the child of a fork.
 */
#include "heap/cache.h"
#include "heap/map.h"
#include "heap/reclaim.h"
#include "pin/pin.h"
#include "pin/unpin.h"

#include "check.h"
#include "clock.h"
#include "pinning.h"

PIN_TEST(a_context_takes_the_programs_registrations_along)
{
	char *memory = allocate(16 * MIB), *freed = allocate(16 * MIB);

	CHECK_EQ(program_registers(memory, MIB), CUDA_SUCCESS);
	CHECK_EQ(program_registers(freed, 16 * MIB), CUDA_SUCCESS);
	CUcontext second = new_context();
	char *other = allocate(16 * MIB);
	CHECK_EQ(program_registers(other, 16 * MIB), CUDA_SUCCESS);
	CHECK_EQ(program_registers(memory + 8 * MIB, MIB), CUDA_SUCCESS);
	CHECK_EQ(heap_free(freed), 0);
	end_context(new_context());
	CHECK(allocate(16 * MIB) != freed);

	end_context(context);
	CHECK(allocate(16 * MIB) == freed);
	CHECK(copy(freed, 16 * MIB));
	CHECK_EQ(pin_of(memory), BLOCK_USER_REGISTERED);
	CHECK_EQ(pin_of(other), BLOCK_USER_REGISTERED);
	end_context(second);
	new_context();
	CHECK(copy(memory, 16 * MIB) && copy(other, 16 * MIB));
}

PIN_TEST(what_cannot_be_unpinned_stays_pinned)
{
	char *memory = allocate_pinned(16 * MIB);

	memset(memory, 0x6b, 16 * MIB);
	CHECK_EQ(heap_free(memory), 0);
	test_clock_pass(2100 * TEST_MS);
	struct block *block = heap_take_due();
	if (!CHECK(block != NULL))
		return;
	CHECK(word_try_unpin(&block->word));
	pinning.keeps = true;
	CHECK(!use_unpin(block));
	heap_return(block);
	CHECK_EQ(block->state, BLOCK_CACHED);
	CHECK_EQ(block_pin(block), BLOCK_PINNED);
	/* The budget does not regain memory that the driver has not released. */
	CHECK_EQ(pin_bytes(), block->room);
	CHECK_EQ(memory[MIB], 0x6b);
	CHECK_EQ(heap_check(), 0);
	CHECK_EQ(pin_check(), 0);

	/* A later attempt fails, too, and ends at once. */
	test_clock_pass(2100 * TEST_MS);
	CHECK(heap_any_due());
	CHECK_EQ(pin_evict_due(SIZE_MAX), 0);
	CHECK_EQ(pin_bytes(), block->room);

	/* The registration ends with its context. */
	pinning.keeps = false;
	end_context(context);
	CHECK_EQ(block->state, BLOCK_CACHED);
	CHECK_EQ(block_pin(block), BLOCK_PAGEABLE);
	CHECK_EQ(pin_bytes(), 0);
	CHECK(all_is_well());
}

/* The program changes the pages while the driver refuses to unregister them. */
PIN_TEST(what_could_not_be_unpinned_is_before_the_next_copy)
{
	char *memory = allocate_pinned(16 * MIB);
	struct block *block = range_find(memory);

	pinning.keeps = true;
	pin_altered(memory, 4096);
	CHECK(block_is_altered(block));
	CHECK_EQ(block_pin(block), BLOCK_PINNED);
	/* It counts as pinned as long as it is. */
	CHECK(copy(memory, 16 * MIB));
	pinning.keeps = false;
	CHECK(!copy(memory, 16 * MIB));
	CHECK_EQ(pin_bytes(), 0);
	CHECK_EQ(block_pin(block), BLOCK_ALTERED);
	CHECK_EQ(heap_free(memory), 0);

	/* A block that is freed before is unpinned like any other. */
	memory = allocate_pinned(32 * MIB);
	pinning.keeps = true;
	pin_altered(memory, 4096);
	CHECK_EQ(heap_free(memory), 0);
	pinning.keeps = false;
	test_clock_pass(2100 * TEST_MS);
	CHECK_EQ(pin_evict_due(SIZE_MAX), 32 * MIB);
	CHECK(!block_is_altered(map_at((uintptr_t)memory)));
	CHECK_EQ(heap_check(), 0);
	CHECK_EQ(pin_check(), 0);
	CHECK(all_is_well());
}

static int child_is_plain(char *memory, char *held)
{
	alarm(check_limit(20));
	check_failures = 0;
	CHECK(!copy(memory, 16 * MIB));
	CHECK(!pin_covers_any(memory, 16 * MIB));
	CHECK_EQ(memory[77], 0x6b);
	CHECK_EQ(heap_free(memory), 0);
	CHECK(!copy(allocate(16 * MIB), 16 * MIB));
	CHECK_EQ(pin_evict_due(SIZE_MAX), 0);
	CHECK(!heap_any_due());
	CHECK_EQ(map_at((uintptr_t)held)->state, BLOCK_CACHED);
	CHECK_EQ(heap_check(), 0);
	CHECK_EQ(pin_check(), 0);
	CHECK_EQ(standin_orphan_calls(), 0);
	return check_failures != 0;
}

TEST(the_child_of_a_fork_pins_nothing)
{
	heed_forks();
	pinning_start(GIB);
	char *memory = allocate_pinned(16 * MIB), *freed = allocate_pinned(16 * MIB);
	char *held = allocate(MIB);
	CHECK_EQ(program_registers(held, MIB), CUDA_SUCCESS);
	CHECK_EQ(heap_free(held), 0);
	CHECK_EQ(heap_free(freed), 0);
	memset(memory, 0x6b, 16 * MIB);

	if (CHECK_CHILD(0))
		_exit(child_is_plain(memory, held));
	CHECK(copy(memory, 16 * MIB));
	CHECK(all_is_well());
}

CHECK_MAIN()
