/*
 * test_device_memory.c - memory in use over time, made from records of allocations and frees.
 */
#include "trace/device_memory.h"
#include "check.h"
#include "random.h"

#define SECOND 1000000000u

static struct device_memory *memory;

static void allocated(uint64_t at_ns, uint64_t address, uint64_t bytes)
{
	device_memory_add(memory, &(struct device_memory_record){ .at_ns = at_ns,
								  .address = address,
								  .bytes = bytes,
								  .counts = true });
}

static void freed(uint64_t at_ns, uint64_t address)
{
	device_memory_add(memory, &(struct device_memory_record){ .at_ns = at_ns,
								  .address = address,
								  .frees = true,
								  .counts = true });
}

static const struct device_memory_sum *settled(void)
{
	device_memory_settle(memory);
	return device_memory_of(memory, 0);
}

/* The sum up to `at_ns`.  Checks that no sum is below 0. */
static int64_t in_use(uint64_t at_ns)
{
	const struct memory_curve *curve = settled()->curve;
	int64_t sum = 0, found = 0;

	for (size_t i = 0; i < curve->used; i++) {
		sum += curve->changes[i].bytes;
		CHECK(sum >= 0);
		found = curve->changes[i].at_ns <= at_ns ? sum : found;
	}
	return found;
}

TEST(frees_without_allocations)
{
	memory = device_memory_create();
	freed(10, 0x1000);
	freed(20, 0);
	allocated(30, 0x2000, 64);
	device_memory_add(memory, &(struct device_memory_record){ .address = 7, .frees = true });
	CHECK_EQ(in_use(100), 64);
	CHECK_EQ(settled()->unknown_frees, 1);
	CHECK_EQ(settled()->uncounted, 0);
}

TEST(allocations_without_size_or_address)
{
	memory = device_memory_create();
	allocated(10, 0x1000, 0);
	allocated(20, 0, 64);
	CHECK_EQ(settled()->uncounted, 2);
	CHECK_EQ(settled()->curve->used, 0);
}

/* Another thread's record of the same address comes out of order, in one settling or in two. */
TEST(addresses_that_are_used_again)
{
	for (int twice = 0; twice < 2; twice++) {
		memory = device_memory_create();
		allocated(10, 0x1000, 100);
		allocated(30, 0x1000, 70);
		if (twice)
			settled();
		freed(20, 0x1000);
		freed(40, 0x1000);
		CHECK_EQ(in_use(15), 100);
		CHECK_EQ(in_use(35), 70);
		CHECK_EQ(in_use(45), 0);
		CHECK_EQ(settled()->unknown_frees, 0);
	}
}

/* The call that allocates begins while another thread's call has not yet freed the address. */
TEST(calls_that_overlap)
{
	memory = device_memory_create();
	allocated(10, 0x1000, 100);
	allocated(50, 0x1000, 70);
	freed(51, 0x1000);
	CHECK_EQ(in_use(60), 70);
	freed(90, 0x1000);
	CHECK_EQ(in_use(95), 0);
	CHECK_EQ(settled()->unknown_frees, 0);
}

/* The record of a free was lost: the old block ends with the next one, or before. */
TEST(frees_that_never_come)
{
	memory = device_memory_create();
	allocated(10, 0x1000, 100);
	allocated(20, 0x1000, 70);
	freed(20 + SECOND, 0x1000);
	CHECK_EQ(in_use(30 + SECOND), 0);
	for (uint64_t i = 0; i < 50; i++)
		allocated(2 * SECOND + i, 0x2000, 8);
	CHECK_EQ(in_use(3u * SECOND), 16);
}

TEST(devices_apart)
{
	memory = device_memory_create();
	allocated(10, 0x1000, 100);
	device_memory_add(
		memory,
		&(struct device_memory_record){
			.at_ns = 20, .address = 0x1000, .bytes = 7, .device = 63, .counts = true });
	CHECK_EQ(in_use(30), 0);
	CHECK_EQ(device_memory_of(memory, 63)->curve->used, 2);
	CHECK(device_memory_of(memory, 1)->curve == NULL);
}

TEST(more_blocks_than_there_is_room_for)
{
	memory = device_memory_create();
	for (uint64_t i = 1; i <= DEVICE_MEMORY_BLOCKS_MOST + 5; i++)
		allocated(i, i << 9, 2);
	CHECK_EQ(in_use(SECOND), 2 * DEVICE_MEMORY_BLOCKS_MOST);
	CHECK_EQ(settled()->uncounted, 5);
	for (uint64_t i = 1; i <= DEVICE_MEMORY_BLOCKS_MOST + 5; i++)
		freed(SECOND + i, i << 9);
	CHECK_EQ(in_use(2u * SECOND), 0);
	CHECK_EQ(settled()->unknown_frees, 5);
}

/* Records come in random order, but none so late that the queue has no room. */
TEST(any_order)
{
	enum { BLOCKS = 300, STEPS = 100000, LATE = 5000 };
	static struct {
		uint64_t address, bytes;
		bool frees, told;
	} steps[STEPS];
	uint64_t bytes_at[BLOCKS] = { 0 }, sum = 0, most = 0, random = 7;

	memory = device_memory_create();
	for (size_t i = 0; i < STEPS; i++) {
		size_t block = random_below(&random, BLOCKS);

		steps[i].address = 0x7f0000000000 + (block << 21);
		steps[i].frees = bytes_at[block] != 0;
		steps[i].bytes = 1 + random_below(&random, 1000);
		sum += steps[i].frees ? -bytes_at[block] : steps[i].bytes;
		bytes_at[block] = steps[i].frees ? 0 : steps[i].bytes;
		most = sum > most ? sum : most;
	}
	for (size_t i = 0, told = 0; told < STEPS; i = (i + 1) % STEPS) {
		/* The oldest step waits no longer than LATE others. */
		size_t at = told + random_below(&random, LATE);

		while (at >= STEPS || steps[at].told)
			at = at >= STEPS ? told : at + 1;
		steps[at].told = true;
		if (steps[at].frees)
			freed(10 * (at + 1), steps[at].address);
		else
			allocated(10 * (at + 1), steps[at].address, steps[at].bytes);
		while (told < STEPS && steps[told].told)
			told++;
	}
	CHECK_EQ(in_use(10 * (STEPS + 1)), sum);
	CHECK_EQ(settled()->unknown_frees, 0);
	const struct memory_curve *curve = settled()->curve;
	int64_t level = 0, highest = 0;
	for (size_t i = 0; i < curve->used; i++) {
		level += curve->changes[i].bytes;
		highest = level > highest ? level : highest;
	}
	CHECK_EQ(highest, most);
}

/* CUPTI may have no record of frees when the last context ends. */
TEST(contexts_that_end)
{
	memory = device_memory_create();
	allocated(10, 0x1000, 100);
	allocated(20, 0x2000, 70);
	device_memory_all_gone(30);
	allocated(40, 0x1000, 5);
	freed(50, 0x1000);
	allocated(60, 0x2000, 9);
	/* The free of the block before has not come. */
	allocated(65, 0x2000, 4);
	CHECK_EQ(in_use(29), 170);
	CHECK_EQ(in_use(30), 0);
	CHECK_EQ(in_use(55), 0);
	device_memory_all_gone(70);
	CHECK_EQ(in_use(69), 13);
	CHECK_EQ(in_use(70), 0);
	/* More ends than are remembered. */
	for (uint64_t i = 0; i < 100; i++)
		device_memory_all_gone(80 + i);
	CHECK_EQ(in_use(300), 0);
}

CHECK_MAIN()
