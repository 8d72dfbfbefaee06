/*
 * test_clockmap.c - converts times between two clocks, whose distance the test chooses.
 */
#include "trace/collect/clockmap.h"
#include "base/clock.h"

#include "check.h"

static int64_t ahead_ns;

static int read_ahead(uint64_t *ret_ns)
{
	*ret_ns = hp_now_ns() + (uint64_t)ahead_ns;
	return 0;
}

static struct clockmap map;

static void sample(int64_t ahead)
{
	ahead_ns = ahead;
	clockmap_sample(&map, read_ahead, 100);
}

/* Moves the anchors a second on, without a gap. */
static void anchor(int64_t ahead, uint64_t at_ns)
{
	map.last = (struct clockmap_anchor){ .offset_ns = ahead, .at_ns = at_ns };
}

TEST(the_same_clock)
{
	int64_t drift = 99;

	sample(5000000000);
	CHECK(clockmap_drift_ppb(&map, &drift));
	CHECK_EQ(drift, 0);
	anchor(map.first.offset_ns, map.first.at_ns + 1000000000);
	CHECK(clockmap_drift_ppb(&map, &drift));
	CHECK_EQ(drift, 0);
}

TEST(clocks_that_run_apart)
{
	int64_t drift = 0;

	sample(0);
	anchor(map.first.offset_ns - 3000, map.first.at_ns + 1000000000);
	CHECK(clockmap_drift_ppb(&map, &drift));
	CHECK_EQ(drift, -3000);
}

/* If another user of CUPTI changed the clock, there is no meaningful drift. */
TEST(a_clock_that_is_stepped)
{
	int64_t drift;

	sample(0);
	sample(1000000000000);
	CHECK(!clockmap_drift_ppb(&map, &drift));
	sample(1000000000000);
	CHECK(!clockmap_drift_ppb(&map, &drift));
}

CHECK_MAIN()
