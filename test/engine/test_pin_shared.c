/*
 * test_pin_shared.c - pins next to the program's own registrations, and with several threads.
 */
#include "pin/unpin.h"
#include "pin/user_registration.h"
#include "pin/pin.h"
#include "base/counters.h"
#include "base/lock.h"
#include "heap/heap.h"
#include "heap/map.h"

#include "check.h"
#include "clock.h"
#include "fake.h"
#include "pinning.h"

#include <errno.h>
#include <pthread.h>

PIN_TEST(the_programs_registration_wins)
{
	char *memory = allocate_pinned(16 * MIB);

	CHECK_EQ(fake_program_register(memory + 4096, MIB), CUDA_SUCCESS);
	CHECK_EQ(fake.overlaps, 0);
	CHECK_EQ(pin_of(memory), BLOCK_USER_REGISTERED);
	CHECK(!pin_covers_any(memory, 16 * MIB));
	for (int i = 0; i < 10; i++)
		CHECK(!copy(memory, 16 * MIB));
	CHECK_EQ(fake.registers, 2);
	CHECK(fake_all_well());

	CHECK_EQ(fake_program_unregister(memory + 4096), CUDA_SUCCESS);
	CHECK(copy(memory, 16 * MIB));
}

PIN_TEST(a_registration_that_fails_leaves_the_block_to_us)
{
	char *memory = allocate_pinned(16 * MIB);

	pin_before_user_registration(memory, 4096);
	CHECK_EQ(pin_of(memory), BLOCK_USER_REGISTERED);
	CHECK(!copy(memory, 16 * MIB));
	pin_after_user_registration(memory, 4096, false);
	CHECK(copy(memory, 16 * MIB));
	CHECK_EQ(pin_of(memory), BLOCK_PINNED);
	/* Unregistering memory that was never registered changes nothing. */
	pin_user_registration_ended(memory);
	CHECK_EQ(pin_of(memory), BLOCK_PINNED);
}

PIN_TEST(several_registrations_in_one_block)
{
	char *memory = allocate_pinned(16 * MIB);

	CHECK_EQ(fake_program_register(memory, 1000), CUDA_SUCCESS);
	CHECK_EQ(fake_program_register(memory + MIB, 1000), CUDA_SUCCESS);
	CHECK_EQ(fake_program_register(memory + MIB, 1000),
		 CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	CHECK_EQ(fake_program_unregister(memory), CUDA_SUCCESS);
	CHECK_EQ(pin_of(memory), BLOCK_USER_REGISTERED);
	CHECK(!copy(memory, 16 * MIB));
	CHECK_EQ(fake_program_unregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	CHECK_EQ(pin_of(memory), BLOCK_USER_REGISTERED);
	CHECK_EQ(fake_program_unregister(memory + MIB), CUDA_SUCCESS);
	CHECK(copy(memory, 16 * MIB));
}

PIN_TEST(a_registration_over_several_blocks)
{
	char *a = allocate_pinned(MIB), *b = allocate(MIB), *c = allocate_pinned(MIB);

	CHECK(a + MIB == b && b + MIB == c);
	CHECK_EQ(fake_program_register(a + 4096, 2 * MIB), CUDA_SUCCESS);
	CHECK(pin_of(a) == BLOCK_USER_REGISTERED && pin_of(b) == BLOCK_USER_REGISTERED);
	CHECK_EQ(pin_of(c), BLOCK_USER_REGISTERED);
	CHECK_EQ(fake_program_unregister(a + 4096), CUDA_SUCCESS);
	CHECK(heat_up(a, MIB) && heat_up(c, MIB));
}

PIN_TEST(freed_under_the_programs_registration)
{
	char *memory = allocate(MIB);

	memset(memory, 0x6b, MIB);
	CHECK_EQ(fake_program_register(memory, MIB), CUDA_SUCCESS);
	CHECK_EQ(heap_free(memory), 0);
	CHECK(range_find(memory) == NULL);
	CHECK_EQ(heap_free(memory), -EINVAL);
	/* The block is neither allocated nor released. */
	for (int i = 0; i < 4; i++) {
		CHECK(allocate(MIB) != memory);
		test_clock_pass(700 * TEST_MS);
	}
	CHECK_EQ(heap_free(allocate(MIB)), 0);
	CHECK(memory[0] == 0x6b && memcmp(memory, memory + 1, MIB - 1) == 0);
	CHECK(fake_all_well());

	CHECK_EQ(fake_program_unregister(memory), CUDA_SUCCESS);
	CHECK_EQ(fake.broken, 0);
	bool found = false;
	for (int i = 0; i < 3 && !found; i++)
		found = allocate(MIB) == memory;
	CHECK(found);
}

PIN_TEST(memory_that_is_not_ours_is_not_looked_at)
{
	static char elsewhere[8192];

	CHECK_EQ(fake_program_register(elsewhere, sizeof(elsewhere)), CUDA_SUCCESS);
	allocate(MIB);
	CHECK_EQ(fake_program_unregister(elsewhere), CUDA_SUCCESS);
	CHECK_EQ(fake_program_register(elsewhere, sizeof(elsewhere)), CUDA_SUCCESS);
	CHECK_EQ(fake_program_unregister(elsewhere), CUDA_SUCCESS);
}

PIN_TEST(a_freed_block_is_not_pinned)
{
	char *memory = allocate(16 * MIB);
	struct block *block = range_find(memory);

	CHECK_EQ(heap_free(memory), 0);
	CHECK_EQ(pin_before_copy(block, true, 16 * MIB, NULL), PIN_PAGEABLE);
	pin_leave(NULL);
	CHECK_EQ(fake.registers, 0);
}

static char *subject;
static bool pinned_there;

static void *copy_in_thread(void *arg)
{
	fake_set_context(1000);
	*(bool *)arg = copy(subject, 64 * MIB);
	return NULL;
}

/* While one thread registers, another copies the same block and uses everything else. */
static void meanwhile(void *base, size_t bytes)
{
	fake.inside = NULL;
	CHECK(base == subject && bytes >= 64 * MIB);
	CHECK_EQ(pin_of(subject), BLOCK_CHANGING);
	CHECK(pin_covers_any(subject, 1));
	CHECK(!heap_resize(subject, 200 * MIB) && !heap_resize(subject, MIB));
	check_in_thread(copy_in_thread, &pinned_there);
	CHECK_EQ(heap_free(allocate(MIB)), 0);
	CHECK_EQ(pin_check(), 0);
}

PIN_TEST(others_go_on_while_one_pins)
{
	subject = allocate(64 * MIB);
	pinned_there = true;
	fake.inside = meanwhile;
	CHECK(copy(subject, 64 * MIB));
	CHECK(!pinned_there);
	CHECK_EQ(fake.registers, 1);
}

static void free_it(void *base, size_t bytes)
{
	(void)bytes;
	fake.inside = NULL;
	CHECK_EQ(heap_free(base), 0);
	/* It is not allocated meanwhile. */
	char *next = allocate(16 * MIB);
	CHECK(next != base);
	CHECK_EQ(heap_free(next), 0);
	CHECK_EQ(pin_evict_due(SIZE_MAX), 0);
}

PIN_TEST(freed_while_it_is_being_pinned)
{
	char *memory = allocate(16 * MIB);

	fake.inside = free_it;
	copy(memory, 16 * MIB);
	CHECK(range_find(memory) == NULL);
	CHECK(fake_all_well());
	test_clock_pass(2100 * TEST_MS);
	CHECK(heap_any_due());
	CHECK_EQ(pin_evict_due(SIZE_MAX), 16 * MIB);
	CHECK(fake_all_well());

	fake.refuse = CUDA_ERROR_INVALID_VALUE;
	memory = allocate(16 * MIB);
	fake.inside = free_it;
	CHECK(!copy(memory, 16 * MIB));
}

CHECK_MAIN()
