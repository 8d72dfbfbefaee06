/*
 * test_repeats.c - copies of bytes that were there already, and copies that only look like them.
 */
#include "check.h"
#include "trace/calls/repeats.h"

#define BYTES ((size_t)128 << 10)
#define THERE 0x7f0000000000u

static char host[4 * BYTES];
static struct repeats sums;

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

static void fetch(uint64_t device, const void *at, size_t bytes)
{
	copy_of(TRACE_D2H, device, at, bytes, true);
	repeats_read(&sums);
}

TEST(duplicates)
{
	struct repeat_row row;

	CHECK_EQ(repeats_start(), 0);
	send(THERE, host, BYTES);
	CHECK_EQ(sums.all[REPEAT_DUPLICATE].count, 0);
	send(THERE, host, BYTES);
	send(THERE, host, BYTES);
	CHECK_EQ(sums.all[REPEAT_DUPLICATE].count, 2);
	CHECK_EQ(sums.all[REPEAT_DUPLICATE].bytes, 2 * BYTES);
	CHECK_EQ(sums.all[REPEAT_DUPLICATE].host_ns, 10);
	/* Another source with the same bytes. */
	send(THERE, host + BYTES, BYTES);
	CHECK_EQ(sums.all[REPEAT_DUPLICATE].count, 3);
	/* One bit differs. */
	host[BYTES - 1] = 1;
	send(THERE, host, BYTES);
	CHECK_EQ(sums.all[REPEAT_DUPLICATE].count, 3);
	/* Another destination. */
	send(THERE + BYTES, host, BYTES);
	CHECK_EQ(sums.all[REPEAT_DUPLICATE].count, 3);
	CHECK_EQ(sums.rows, 1);
	repeats_read_row(0, &row);
	CHECK(row.kind == REPEAT_DUPLICATE && row.site == 3 && row.buffer == 4);
	CHECK_EQ(row.flow.count, 3);
	CHECK_EQ(sums.copies, 6);
	CHECK_EQ(sums.bytes, 6 * BYTES);
}

/* The destination was overwritten in between, also by copies that are not hashed. */
TEST(written_over_in_between)
{
	static const struct {
		uint64_t offset;
		size_t bytes;
		bool synchronous;
	} between[] = { { 0, 100, true },
			{ BYTES - 1, 1, true },
			{ 0, BYTES / 2, true },
			{ 0, BYTES, false },
			{ BYTES / 2, BYTES, true } };

	CHECK_EQ(repeats_start(), 0);
	for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++) {
		send(THERE, host, BYTES);
		copy_of(TRACE_H2D, THERE + between[i].offset, host + 2 * BYTES, between[i].bytes,
			between[i].synchronous);
		send(THERE, host, BYTES);
		if (!CHECK_EQ(sums.all[REPEAT_DUPLICATE].count, 0))
			printf("# row %zu\n", i);
		send(THERE + 4 * BYTES, host, i + 1); /* nowhere near */
		host[1]++;
	}
	/* Nothing overwrites it here. */
	send(THERE, host, BYTES);
	copy_of(TRACE_H2D, THERE + BYTES, host, BYTES, true);
	fetch(THERE, host + 3 * BYTES, BYTES);
	send(THERE, host, BYTES);
	CHECK_EQ(sums.all[REPEAT_DUPLICATE].count, 1);
}

TEST(ping_pong)
{
	CHECK_EQ(repeats_start(), 0);
	host[7] = 1;
	fetch(THERE, host, BYTES);
	send(THERE, host, BYTES);
	CHECK_EQ(sums.all[REPEAT_PING_PONG].count, 1);
	/* Now it is a duplicate, and counted as such only. */
	send(THERE, host, BYTES);
	CHECK_EQ(sums.all[REPEAT_PING_PONG].count, 1);
	CHECK_EQ(sums.all[REPEAT_DUPLICATE].count, 1);
	/* The host changed it. */
	fetch(THERE, host, BYTES);
	host[9] = 1;
	send(THERE, host, BYTES);
	CHECK_EQ(sums.all[REPEAT_PING_PONG].count, 1);
	/* A part of it was downloaded since. */
	fetch(THERE, host, BYTES);
	fetch(THERE + 64, host + 64, 64);
	send(THERE + 8 * BYTES, host, BYTES);
	CHECK_EQ(sums.all[REPEAT_PING_PONG].count, 1);
}

TEST(what_is_not_hashed)
{
	struct trace_copy rows = {
		.synchronous = true, .device = THERE, .host = host, .bytes = BYTES
	};

	CHECK_EQ(repeats_start(), 0);
	send(THERE, host, REPEATS_LEAST_BYTES - 1);
	copy_of(TRACE_H2D, THERE, host, BYTES, false);
	copy_of(TRACE_H2D, 0, host, BYTES, true);
	copy_of(TRACE_H2D, THERE, NULL, BYTES, true);
	repeats_copied(&rows, 0, 0);
	repeats_read(&sums);
	CHECK_EQ(sums.copies, 0);
}

TEST(many_ranges)
{
	CHECK_EQ(repeats_start(), 0);
	for (uint64_t round = 0; round < 2; round++)
		for (uint64_t i = 0; i < 1000; i++)
			send(THERE + i * BYTES, host, BYTES / 2);
	CHECK_EQ(sums.all[REPEAT_DUPLICATE].count, 1000);
	for (uint64_t round = 0; round < 2; round++)
		for (uint64_t i = 0; i < 3000; i++)
			send(THERE + i * BYTES, host, BYTES / 2);
	/* The oldest are forgotten first. */
	CHECK_EQ(sums.all[REPEAT_DUPLICATE].count, 2000);
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
