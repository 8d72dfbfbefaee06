/*
 * test_pin_site.c - what pins teach about sites, and what sites do for pins.
 */
#include "host/site.h"

#include "check.h"
#include "fake.h"
#include "pinning.h"

#include <sys/mman.h>

static char *allocate_at(uint32_t site, size_t bytes)
{
	char *memory = heap_alloc(bytes, 64 * KIB, false, site);

	if (!CHECK(memory != NULL))
		_exit(1);
	return memory;
}

static bool is_dense(uint32_t site)
{
	uintptr_t trial;

	return site_density(site, &trial) == SITE_DENSE;
}

/* Freed, unpinned, and the pages gone. */
static void let_go(char *memory)
{
	CHECK_EQ(heap_free(memory), 0);
	heap_press(HEAP_PRESSURE_SEVERE);
	while (pin_wants_idle() && pin_when_idle(SIZE_MAX) > 0)
		;
	heap_press(HEAP_PRESSURE_NONE);
	CHECK(!fake_is_registered(memory, 1));
	CHECK_EQ(memory[0], 0);
}

/* A block's life: `copies` of 16 MiB out of 64.  Was the first one pinned? */
static bool live(uint32_t site, int copies)
{
	char *memory = allocate_at(site, 64 * MIB);
	bool first = false;

	memory[0] = 1;
	for (int i = 0; i < copies; i++) {
		bool pinned = copy(memory, 16 * MIB);

		first = first || (pinned && i == 0);
	}
	let_go(memory);
	return first;
}

TEST(sites_of_hot_blocks_are_pinned_at_the_first_copy)
{
	fake_start(GIB);
	fake.unregister_ns = 1000;
	for (int i = 0; i < 2; i++)
		CHECK(!live(5, 10));
	CHECK(site_is_hot(5));
	CHECK(live(5, 10));
	CHECK(!live(7, 10));
	CHECK(fake_all_well());
}

TEST(useless_pins_are_unlearned)
{
	int useless = 0;

	fake_start(GIB);
	for (int i = 0; i < 4; i++)
		live(5, 10);
	for (int i = 0; i < 20; i++)
		useless += live(5, 1);
	CHECK(useless >= 1 && useless <= 5);
	CHECK(!site_is_hot(5));
	printf("# %d useless pins\n", useless);
	CHECK(fake_all_well());
}

static uint64_t own_bank(uint32_t site)
{
	uint64_t own, common;

	site_funds(site, &own, &common);
	return own;
}

/* Blocks that were copied once and freed are seasons, too, once their pages have gone. */
TEST(seasons_without_a_pin_count)
{
	fake_start(GIB);
	for (int i = 0; i < 4; i++)
		live(5, 10);
	uint64_t before = own_bank(5);
	char *memory = allocate_at(5, 64 * MIB);

	CHECK(site_is_hot(5));
	pin_press(true);
	for (int i = 0; i < 8; i++)
		CHECK(!live(5, 1));
	pin_press(false);
	CHECK_EQ(own_bank(5), before);
	range_find(memory)->excess_ns = 1000;
	let_go(memory);
	CHECK_EQ(own_bank(5), before + 1000);
	CHECK(site_is_hot(5));
	for (int i = 0; i < 4; i++) {
		memory = allocate_at(5, 64 * MIB);
		range_find(memory)->excess_ns = 1000;
		let_go(memory);
	}
	CHECK(!site_is_hot(5));
	CHECK(fake_all_well());
}

/* realloc() takes the account along: once. */
TEST(moved_pages_take_their_season_along)
{
	fake_start(GIB);
	char *memory = allocate_at(5, 4 * MIB), *wall = allocate_at(6, 4 * MIB);

	memset(memory, 1, 4 * MIB);
	range_find(memory)->excess_ns = 1000;
	char *moved = heap_move(memory, 8 * MIB);
	if (!CHECK(moved != NULL && wall != NULL))
		return;
	CHECK_EQ(own_bank(5), 0);
	CHECK_EQ(range_find(moved)->excess_ns, 1000);
	let_go(moved);
	CHECK_EQ(own_bank(5), 1000);
	CHECK(fake_all_well());
}

TEST(a_context_that_goes_ends_a_season_too)
{
	fake_start(GIB);
	for (int i = 0; i < 3; i++)
		live(5, 10);
	char *memory = allocate_at(5, 64 * MIB);
	CHECK(copy(memory, 16 * MIB));
	CHECK(range_find(memory)->owed_ns > 0);
	fake_destroy_context(1000);
	forget_context(1000);
	CHECK_EQ(range_find(memory)->owed_ns, 0);
	CHECK(fake_all_well());
}

TEST(large_blocks_teach_how_dense_they_are)
{
	const size_t large = 300 * MIB;

	fake_start(2 * GIB);
	char *dense = allocate_at(5, large), *sparse = allocate_at(7, large);
	char *small = allocate_at(9, 64 * MIB);
	range_find(dense)->huge = range_find(sparse)->huge = false;

	CHECK_EQ(madvise(dense, large, MADV_NOHUGEPAGE), 0);
	CHECK_EQ(madvise(sparse, large, MADV_NOHUGEPAGE), 0);
	memset(dense, 1, large);
	memset(sparse, 1, large / 4);
	CHECK(heat_up(dense, large));
	CHECK(is_dense(5));
	/* That would make the process 225 MiB larger. */
	CHECK(!heat_up(sparse, large));
	CHECK(!is_dense(7));
	CHECK_EQ(pin_of(sparse), BLOCK_PAGEABLE);
	CHECK_EQ(fake.registers, 1);
	memset(sparse, 1, large / 4 * 3);
	CHECK(heat_up(sparse, large));
	CHECK(!is_dense(7));
	CHECK(heat_up(small, 64 * MIB) && !is_dense(9));
	CHECK(fake_all_well());
}

CHECK_MAIN()
