/*
 * test_sites.c - more call stacks than the table has room for: sums lose nothing, and important
 * stacks stay.
 */
#include "trace/places/sites.h"
#include "base/lock.h"

#include "check.h"
#include "random.h"

#define STACKS_MOST 20000

/* The expected sums of a site, if there were room for all. */
static struct truth {
	uint64_t count, bytes, ns;
	uint32_t id; /* as last returned by sites_add() */
} truths[STACKS_MOST];
static struct truth all;

/*
 * Makes call stack `number`: eight frames of which the inner ones are shared, as in real programs.
 */
static struct frames_way stack(uint64_t number)
{
	struct frames_way way = { .depth = FRAMES_MOST };

	for (size_t i = 0; i < FRAMES_MOST; i++) {
		uint64_t shared = i < 2 ? number % 3 : i < 4 ? number % 40 : number;

		way.address[i] = (uintptr_t)(1000000 * (i + 1) + shared);
	}
	way.hash = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
	return way;
}

static uint32_t add(struct frames_way *way, const struct trace_copy *copy)
{
	hp_lock(HP_LOCK_trace);
	uint32_t id = sites_add(way, copy);
	hp_unlock(HP_LOCK_trace);
	return id;
}

static uint32_t copied(uint64_t number, uint64_t bytes, uint64_t ns)
{
	struct frames_way way = stack(number);
	const struct trace_copy copy = { .direction = number % 2 ? TRACE_H2D : TRACE_D2H,
					 .memory = TRACE_PAGEABLE,
					 .synchronous = true,
					 .bytes = bytes,
					 .enter_ns = 5,
					 .leave_ns = 5 + ns };
	struct truth *sums[] = { &truths[number], &all };

	for (int i = 0; i < 2; i++) {
		sums[i]->count++;
		sums[i]->bytes += bytes;
		sums[i]->ns += ns;
	}
	return truths[number].id = add(&way, &copy);
}

static struct trace_sum sum_of(const struct site *site)
{
	struct trace_sum sum = { 0 };

	for (int direction = 0; direction < TRACE_DIRECTIONS; direction++)
		for (int memory = 0; memory < TRACE_MEMORIES; memory++)
			trace_sum_add_sum(&sum, &site->row[direction][memory]);
	return sum;
}

/* Checks that all sums are there, in any site, and that the table is bounded. */
static void check_sums(void)
{
	struct sites_counts counts;
	struct trace_sum sum = { 0 };
	uint64_t folded = 0;
	struct site site;

	sites_count(&counts);
	for (size_t i = 0; sites_read(i, &site); i++) {
		struct trace_sum row = sum_of(&site);

		CHECK(i <= SITES_MOST);
		trace_sum_add_sum(&sum, &row);
		folded += site.folded ? row.count : 0;
		CHECK(site.folded || site.place.depth == FRAMES_MOST);
	}
	CHECK_EQ(sum.count, all.count);
	CHECK_EQ(sum.bytes, all.bytes);
	CHECK_EQ(sum.host_ns, all.ns);
	CHECK_EQ(sum.sync_count, all.count);
	CHECK_EQ(sum.sync_ns, all.ns);
	CHECK_EQ(counts.folded, folded);
	CHECK_EQ(counts.lost, 0);
}

/* Finds the table's row of this stack alone. */
static bool find(uint64_t number, struct trace_sum *ret)
{
	struct frames_way way = stack(number);
	struct site site;

	for (size_t i = 0; sites_read(i, &site); i++) {
		/* The outermost frame is of this stack alone. */
		if (site.folded ||
		    site.place.frame[FRAMES_MOST - 1].offset != way.address[FRAMES_MOST - 1])
			continue;
		for (size_t j = 0; j < FRAMES_MOST; j++)
			CHECK_EQ(site.place.frame[j].offset, way.address[j]);
		*ret = sum_of(&site);
		return true;
	}
	return false;
}

static uint64_t weight_of(uint64_t count, uint64_t ns)
{
	return ns + 1000 * count;
}

/*
 * Every stack with a share above 1 / SITES_MOST has a row, and lost no more than that share
 * before it got the row.
 */
static void check_kept(void)
{
	uint64_t share = weight_of(all.count, all.ns) / SITES_MOST;
	unsigned heavy = 0;

	for (uint64_t i = 0; i < STACKS_MOST; i++) {
		uint64_t weight = weight_of(truths[i].count, truths[i].ns);
		struct trace_sum row;

		if (weight <= share)
			continue;
		heavy++;
		if (CHECK(find(i, &row)))
			CHECK(weight_of(row.count, row.host_ns) + share >= weight);
	}
	CHECK(heavy > 0);
}

/* 1,640 stacks copy once, slowly; then eight copy all the time. */
TEST_AFTER(a_flood_at_the_start_leaves_room_for_what_is_hot, CHECK_EQ(sites_start(), 0))
{
	struct trace_sum row;

	for (uint64_t i = 0; i < 1640; i++)
		copied(i, 10, 1000000);
	check_sums();
	for (uint64_t i = 0; i < 200000; i++)
		copied(2000 + i % 8, i % 4096, 6000);
	check_sums();
	check_kept();
	for (uint64_t i = 0; i < 8; i++)
		CHECK(find(2000 + i, &row) && row.count == 25000);
}

/* New stacks that keep coming do not replace the hot ones, which come rarely between them. */
TEST_AFTER(a_flood_without_end, CHECK_EQ(sites_start(), 0))
{
	struct trace_sum row;

	for (uint64_t i = 0; i < 60000; i++) {
		copied(100 + i % 19000, 10, 100);
		if (i % 50 == 0)
			copied(i / 50 % 4, 1000, 5000);
	}
	check_sums();
	check_kept();
	for (uint64_t i = 0; i < 4; i++)
		CHECK(find(i, &row) && row.count >= 250);
}

/* Stack n comes with a frequency proportional to 1 / n, with times of its own. */
TEST_AFTER(a_zipf_stream, CHECK_EQ(sites_start(), 0))
{
	static double up_to[STACKS_MOST];
	double sum = 0;
	uint64_t random = 1;

	for (size_t i = 0; i < STACKS_MOST; i++)
		up_to[i] = sum += 1.0 / (double)(i + 1);
	for (int i = 0; i < 300000; i++) {
		double wished = (double)(random_below(&random, 1000000007)) / 1000000007.0 * sum;
		size_t low = 0, high = STACKS_MOST - 1;

		while (low < high) {
			size_t middle = (low + high) / 2;

			if (up_to[middle] < wished)
				low = middle + 1;
			else
				high = middle;
		}
		copied(low, random_below(&random, 100000), random_below(&random, 20000));
	}
	check_sums();
	check_kept();
}

/* A remembered id is not taken for the site that now has the row. */
TEST_AFTER(ids_of_what_is_gone, CHECK_EQ(sites_start(), 0))
{
	struct trace_sum row;

	uint32_t first = copied(0, 1, 1);
	CHECK_EQ(sites_index(first), 0);
	CHECK_EQ(sites_index(SITES_NOWHERE), UNKNOWN);
	for (uint64_t i = 1; i <= SITES_MOST; i++)
		CHECK(copied(i, 1, 1000) != first);
	CHECK_EQ(sites_index(first), UNKNOWN);
	CHECK(!find(0, &row));
	/* The stack comes again, with its old id. */
	uint32_t again = copied(0, 1, 1);
	CHECK(again != first && sites_index(again) != SITES_NOWHERE);
	CHECK(find(0, &row) && row.count == 1);
	check_sums();
}

TEST_AFTER(while_it_is_held_nobody_gives_up_a_row, CHECK_EQ(sites_start(), 0))
{
	struct trace_sum row;

	for (uint64_t i = 0; i < SITES_MOST; i++)
		CHECK_EQ(sites_index(copied(i, 1, 1)), i);
	sites_hold(true);
	for (uint64_t i = SITES_MOST; i < 3000; i++)
		CHECK_EQ(copied(i, 7, 100), SITES_NOWHERE);
	for (uint64_t i = 0; i < SITES_MOST; i++)
		CHECK_EQ(sites_index(truths[i].id), i);
	check_sums();
	sites_hold(false);
	copied(3000, 7, 100);
	CHECK(find(3000, &row));
	check_sums();
}

/* Rare stacks have one row, without frames. */
TEST_AFTER(the_rest_has_one_row, CHECK_EQ(sites_start(), 0))
{
	struct sites_counts counts;
	struct site rest;

	for (uint64_t i = 0; i < 15000; i++)
		copied(i, 1, 1);
	check_sums();
	sites_count(&counts);
	CHECK_EQ(counts.folded, 15000 - SITES_MOST);
	CHECK(sites_read(SITES_MOST, &rest) && !sites_read(SITES_MOST + 1, &rest));
	CHECK(rest.folded && rest.place.depth == 0);
	CHECK_EQ(sum_of(&rest).count, 15000 - SITES_MOST);
}

TEST_AFTER(a_copy_without_a_caller_is_in_no_site, CHECK_EQ(sites_start(), 0))
{
	struct sites_counts counts;
	struct frames_way way = { .depth = 0 };
	struct site site;
	const struct trace_copy copy = { .bytes = 1 };

	CHECK_EQ(add(&way, &copy), SITES_NOWHERE);
	sites_count(&counts);
	CHECK_EQ(counts.lost, 1);
	CHECK(!sites_read(0, &site));
}

/* A call stack that was cut to save time is marked as incomplete. */
TEST(a_way_that_was_cut)
{
	struct frames_way way = stack(1);
	struct sites_counts counts;
	struct site site;
	const struct trace_copy copy = { .bytes = 1 };

	CHECK_EQ(sites_start(), 0);
	way.depth = 2;
	way.cut = true;
	CHECK(add(&way, &copy) != SITES_NOWHERE);
	sites_count(&counts);
	CHECK_EQ(counts.folded, 1);
	CHECK(sites_read(0, &site) && site.folded && site.place.depth == 2);
}

CHECK_MAIN()
