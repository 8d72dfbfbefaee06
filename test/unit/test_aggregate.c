/*
 * test_aggregate.c - sums up records, without a whole run.
 */
#include "trace/collect/aggregate.h"
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
	char name[16] = "first";

	CHECK_EQ(aggregate_init(&aggregate, 0), 0);
	launch(name, 100, 200);
	launch(name, 200, 340);
	strcpy(name, "second");
	launch(name, 300, 330);
	strcpy(name, "first");
	launch(name, 400, 460);
	const struct profile_kernel *kernel = aggregate.kernels;
	CHECK(strcmp(kernel[0].name, "first") == 0 && strcmp(kernel[1].name, "second") == 0);
	CHECK_EQ(kernel[0].count, 3);
	CHECK_EQ(kernel[0].busy_ns, 300);
	CHECK_EQ(kernel[0].longest_ns, 140);
	CHECK_EQ(kernel[1].busy_ns, 30);
	CHECK_EQ(kernel[1].longest_ns, 30);
	CHECK_EQ(kernel[2].count, 0);
}

TEST(names_past_the_room_are_the_others)
{
	static char huge[AGGREGATE_NAME_BYTES + 2];

	CHECK_EQ(aggregate_init(&aggregate, 0), 0);
	const struct profile_kernel *others = &aggregate.kernels[AGGREGATE_KERNELS_MOST];
	memset(huge, 'x', sizeof(huge) - 1);
	launch(huge, 100, 200);
	launch(huge, 100, 200);
	launch("small", 100, 110);
	CHECK(strcmp(others->name, "(others)") == 0);
	CHECK_EQ(others->count, 2);
	CHECK_EQ(aggregate.kernels_unnamed, 2);
	CHECK(strcmp(aggregate.kernels[0].name, "small") == 0);
}

CHECK_MAIN()
