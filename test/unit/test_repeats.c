/*
 * test_repeats.c - copies of bytes that were there already, and copies that only look like them.
 */
#include "check.h"
#include "trace/calls/repeats.h"

#define BYTES ((size_t)128 << 10)
#define THERE 0x7f0000000000u

static char host[4 * BYTES];
static struct profile_repeats sums;

static void copy_of(enum trace_direction direction, uint64_t device, const void *at, size_t bytes,
		    bool synchronous)
{
	struct trace_copy copy = { .direction = direction,
				   .memory = TRACE_PINNED,
				   .synchronous = synchronous,
				   .linear = true,
				   .device = device,
				   .host = at,
				   .bytes = bytes,
				   .enter_ns = 10,
				   .leave_ns = 15 };

	repeats_copied(&copy, 3, 4);
}

static void send(uint64_t device, const void *at, size_t bytes)
{
	copy_of(TRACE_H2D, device, at, bytes, true);
	repeats_read(&sums);
}

TEST(many_ranges)
{
	CHECK_EQ(repeats_start(), 0);
	for (uint64_t round = 0; round < 2; round++)
		for (uint64_t i = 0; i < 1000; i++)
			send(THERE + i * BYTES, host, BYTES / 2);
	CHECK_EQ(sums.duplicates.count, 1000);
	for (uint64_t round = 0; round < 2; round++)
		for (uint64_t i = 0; i < 3000; i++)
			send(THERE + i * BYTES, host, BYTES / 2);
	/* The oldest are forgotten first. */
	CHECK_EQ(sums.duplicates.count, 2000);
}

TEST(hash)
{
	uint64_t seen[2000];
	size_t count = 0;

	memset(host, 0, 4096);
	for (size_t length = 0; length < 300; length++)
		seen[count++] = repeats_hash(host, length);
	for (size_t bit = 0; bit < 1024; bit++) {
		host[bit / 8] ^= (char)(1 << bit % 8);
		seen[count++] = repeats_hash(host, 300);
		CHECK(repeats_hash(host, 300) == repeats_hash(host, 300));
		host[bit / 8] ^= (char)(1 << bit % 8);
	}
	/* Two words are swapped. */
	host[0] = 1;
	host[32] = 2;
	seen[count++] = repeats_hash(host, 300);
	host[0] = 2;
	host[32] = 1;
	seen[count++] = repeats_hash(host, 300);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (seen[i] == seen[j] && !CHECK(!"two are equal"))
				printf("# %zu and %zu\n", j, i);
}

CHECK_MAIN()
