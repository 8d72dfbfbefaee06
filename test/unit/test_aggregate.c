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

static void memory(uint32_t operation, uint32_t memory_kind, uint32_t device, uint64_t address,
		   uint64_t bytes, uint64_t at)
{
	const struct cupti_memory record = {
		.kind = CUPTI_MEMORY2,
		.operation = operation,
		.memory_kind = memory_kind,
		.device = device,
		.address = address,
		.bytes = bytes,
		.at = at,
	};

	aggregate_record(&aggregate, &record, 10000000);
}

/* Returns the bytes in use at the time `at`. */
static int64_t in_use(uint32_t device, uint64_t at)
{
	const struct memory_curve *curve = device_memory_of(aggregate.memory, device)->curve;
	int64_t sum = 0;

	for (size_t i = 0; i < curve->used && curve->changes[i].at_ns <= at; i++)
		sum += curve->changes[i].bytes;
	return sum;
}

TEST(memory_by_device_and_time)
{
	CHECK_EQ(aggregate_init(&aggregate, 0), 0);
	/* The record of a free may name another kind, device or size. */
	memory(CUPTI_RELEASE, CUPTI_MEMORY_UNKNOWN, 1, 0x1000, 0, 400);
	memory(CUPTI_ALLOCATION, CUPTI_DEVICE, 0, 0x1000, 1000, 100);
	memory(CUPTI_ALLOCATION, CUPTI_DEVICE, 1, 0x2000, 70, 150);
	/* Records of another thread arrive later. */
	memory(CUPTI_ALLOCATION, CUPTI_ARRAY, 0, 0x3000, 30, 200);
	memory(CUPTI_RELEASE, CUPTI_ARRAY, 0, 0x3000, 30, 400);
	memory(CUPTI_ALLOCATION, CUPTI_DEVICE, 0, 0x1000, 5, 500);
	aggregate_turn(&aggregate, 1000, true);
	CHECK_EQ(in_use(0, 99), 0);
	CHECK_EQ(in_use(0, 199), 1000);
	CHECK_EQ(in_use(0, 399), 1030);
	CHECK_EQ(in_use(0, 400), 0);
	CHECK_EQ(in_use(0, 500), 5);
	CHECK_EQ(device_memory_of(aggregate.memory, 0)->curve->used, 5);
	CHECK_EQ(device_memory_of(aggregate.memory, 1)->unknown_frees, 0);
	CHECK_EQ(in_use(1, 149), 0);
	CHECK_EQ(in_use(1, 500), 70);
	CHECK_EQ(aggregate.unknown_kinds, 0);
}

TEST(memory_that_counts_on_no_device)
{
	CHECK_EQ(aggregate_init(&aggregate, 5000000), 0);
	memory(CUPTI_ALLOCATION, CUPTI_PINNED, 0, 0x1000, 1000, 5000100);
	memory(CUPTI_ALLOCATION, CUPTI_MANAGED, 0, 0x1000, 1000, 5000100);
	memory(CUPTI_ALLOCATION, CUPTI_DEVICE, AGGREGATE_DEVICES, 0x1000, 1000, 5000100);
	memory(0, CUPTI_DEVICE, 0, 0x1000, 1000, 5000100);
	CHECK(aggregate.memory == NULL);
	memory(CUPTI_RELEASE, CUPTI_PINNED, 0, 0x1000, 1000, 5000200);
	memory(CUPTI_RELEASE, CUPTI_DEVICE, AGGREGATE_DEVICES, 0x1000, 1000, 5000200);
	aggregate_turn(&aggregate, 6000000, true);
	CHECK(device_memory_of(aggregate.memory, 0)->curve == NULL);
}

/* Wrong times of allocations do not make those of copies and kernels doubtful. */
TEST(memory_records_that_are_wrong)
{
	CHECK_EQ(aggregate_init(&aggregate, 5000000), 0);
	memory(CUPTI_ALLOCATION, CUPTI_DEVICE, 0, 0x1000, (uint64_t)1 << 60, 5000100);
	memory(CUPTI_ALLOCATION, CUPTI_DEVICE, 0, 0x2000, 1000, 100);
	memory(CUPTI_ALLOCATION, CUPTI_DEVICE, 0, 0x3000, 1000, 900000000);
	memory(CUPTI_ALLOCATION, CUPTI_DEVICE, 0, 0x4000, 1000, 5000100);
	memory(CUPTI_RELEASE, CUPTI_DEVICE, AGGREGATE_DEVICES, 0x4000, UINT64_MAX, 0);
	aggregate_turn(&aggregate, 20000000, true);
	CHECK_EQ(aggregate.outside, 0);
	CHECK_EQ(device_memory_of(aggregate.memory, 0)->uncounted, 3);
	CHECK_EQ(in_use(0, 5000100), 1000);
	CHECK_EQ(in_use(0, 10000000), 0);
}

/* A full curve keeps its start, its peaks and its end. */
TEST(memory_of_many_allocations)
{
	static struct memory_curve curve;
	int64_t sum = 0, most = 0;

	for (uint64_t i = 1; i <= 20000; i++) {
		memory_curve_add(&curve, 100 * i, i % 2 == 1 ? 64 : -64);
		if (i == 7778) {
			memory_curve_add(&curve, 100 * i + 40, 5000);
			memory_curve_add(&curve, 100 * i + 60, -5000);
		}
		CHECK(curve.used <= MEMORY_CURVE_MOST);
	}
	CHECK(curve.used > MEMORY_CURVE_MOST / 4);
	for (size_t i = 0; i < curve.used; i++) {
		CHECK(i == 0 || curve.changes[i].at_ns > curve.changes[i - 1].at_ns);
		sum += curve.changes[i].bytes;
		most = sum > most ? sum : most;
	}
	CHECK_EQ(curve.changes[0].at_ns, 0);
	CHECK_EQ(curve.changes[0].bytes, 0);
	CHECK_EQ(curve.changes[curve.used - 1].at_ns, 2000000);
	CHECK_EQ(sum, 0);
	CHECK_EQ(most, 5000);
	/* Late records are still added at their position. */
	memory_curve_add(&curve, 1, 7);
	CHECK_EQ(curve.changes[1].at_ns, 1);
	CHECK_EQ(curve.changes[1].bytes, 7);
}

CHECK_MAIN()
