/*
 * test_aggregate.c - sums up records, without a whole run.
 */
#include "trace/aggregate.h"
#include "check.h"

static struct aggregate aggregate;

static void launch(const char *name, uint64_t start, uint64_t end)
{
	const struct cupti_kernel record = {
		.kind = CUPTI_KERNEL,
		.name = name,
		.start = start,
		.end = end,
	};

	aggregate_record(&aggregate, &record, 10000000);
}

/* A module was unloaded, and the name of another kernel is at the same address. */
TEST(name_at_a_used_address)
{
	const struct aggregate_kernel *top[4];
	char name[16] = "first";

	CHECK_EQ(aggregate_init(&aggregate, 0), 0);
	launch(name, 100, 200);
	launch(name, 200, 340);
	strcpy(name, "second");
	launch(name, 300, 330);
	strcpy(name, "first");
	launch(name, 400, 460);
	CHECK_EQ(aggregate_top_kernels(&aggregate, top, 4), 2);
	CHECK(strcmp(top[0]->name, "first") == 0 && strcmp(top[1]->name, "second") == 0);
	CHECK_EQ(top[0]->count, 3);
	CHECK_EQ(top[0]->busy_ns, 300);
	CHECK_EQ(top[0]->most_ns, 140);
	CHECK_EQ(top[1]->busy_ns, 30);
	CHECK_EQ(top[1]->most_ns, 30);
}

TEST(names_past_the_room_are_the_others)
{
	static char huge[AGGREGATE_NAME_BYTES + 2];
	const struct aggregate_kernel *top[4];

	CHECK_EQ(aggregate_init(&aggregate, 0), 0);
	memset(huge, 'x', sizeof(huge) - 1);
	launch(huge, 100, 200);
	launch(huge, 100, 200);
	launch("small", 100, 110);
	CHECK_EQ(aggregate_top_kernels(&aggregate, top, 4), 2);
	CHECK(strcmp(top[0]->name, "(others)") == 0);
	CHECK_EQ(top[0]->count, 2);
	CHECK_EQ(aggregate.kernels_unnamed, 2);
	CHECK(strcmp(top[1]->name, "small") == 0);
}

TEST(top_is_by_time)
{
	static const uint64_t times[] = { 5, 9, 1, 7, 3, 8 };
	const struct aggregate_kernel *top[3];
	char names[6][4];

	CHECK_EQ(aggregate_init(&aggregate, 0), 0);
	for (int i = 0; i < 6; i++) {
		snprintf(names[i], sizeof(names[i]), "k%d", i);
		launch(names[i], 100, 100 + times[i]);
	}
	CHECK_EQ(aggregate_top_kernels(&aggregate, top, 3), 3);
	CHECK_EQ(top[0]->busy_ns, 9);
	CHECK_EQ(top[1]->busy_ns, 8);
	CHECK_EQ(top[2]->busy_ns, 7);
}

TEST(stamps_outside_the_run)
{
	CHECK_EQ(aggregate_init(&aggregate, 5000000), 0);
	for (int i = 0; i < 99; i++)
		launch("k", 5000000, 5000010);
	CHECK(aggregate_is_alignable(&aggregate));
	launch("k", 1000, 2000);
	CHECK_EQ(aggregate.outside, 1);
	CHECK(aggregate_is_alignable(&aggregate));
	launch("k", 900000000, 900000010);
	CHECK_EQ(aggregate.outside, 2);
	CHECK(!aggregate_is_alignable(&aggregate));
	CHECK_EQ(aggregate.launches.count, 101);
	/* How long a run took is known even if it cannot be placed. */
	CHECK_EQ(aggregate.launches.busy_ns, 99 * 10 + 1000 + 10);
}

CHECK_MAIN()
