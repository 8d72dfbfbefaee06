/*
 * test_perf_ring.c - valid and damaged records of a perf ring buffer, at every position.
 */
#include "trace/samples/perf_ring.h"

#include "check.h"

#include <linux/perf_event.h>
#include <stdbool.h>

#define BYTES  512
#define USER   ((uint64_t)PERF_CONTEXT_USER)
#define KERNEL ((uint64_t)PERF_CONTEXT_KERNEL)

static uint64_t chains[8][PERF_RING_CHAIN_MOST];
static size_t depths[8], taken;

#define NOW 5 /* of each sample */

static void take(uint64_t now_ns, const uint64_t *chain, size_t depth, void *arg)
{
	CHECK_EQ(now_ns, NOW);
	CHECK(arg == chains);
	CHECK(depth > 0 && depth <= PERF_RING_CHAIN_MOST);
	memcpy(chains[taken], chain, depth * sizeof(*chain));
	depths[taken++] = depth;
}

static uint8_t ring[BYTES];

static uint64_t put(uint64_t at, uint32_t type, size_t size, const uint64_t *words, size_t count)
{
	struct perf_event_header header = { .type = type, .size = (uint16_t)size };
	uint8_t record[BYTES];

	memcpy(record, &header, sizeof(header));
	memcpy(record + sizeof(header), words, count * sizeof(*words));
	for (size_t i = 0; i < sizeof(header) + count * sizeof(*words); i++)
		ring[(at + i) % BYTES] = record[i];
	return at + size;
}

TEST(each_record)
{
	static const struct {
		uint32_t type;
		uint64_t words[24];
		size_t count;
		struct perf_ring_sums sums;
		size_t depth;
		uint64_t first, last;
	} rows[] = {
		{ PERF_RECORD_SAMPLE, { NOW, 3, USER, 11, 12 }, 5, { .samples = 1 }, 2, 11, 12 },
		{ PERF_RECORD_SAMPLE, { NOW, 2, USER, 11 }, 4, { .samples = 1 }, 1, 11, 11 },
		/* The kernel's part of a chain is not the program's. */
		{ PERF_RECORD_SAMPLE,
		  { NOW, 4, KERNEL, 9, USER, 11 },
		  6,
		  { .samples = 1 },
		  1,
		  11,
		  11 },
		{ PERF_RECORD_SAMPLE,
		  { NOW, 2, KERNEL, 9 },
		  4,
		  { .samples = 1, .empty = 1 },
		  0,
		  0,
		  0 },
		{ PERF_RECORD_SAMPLE, { NOW, 0 }, 2, { .samples = 1, .empty = 1 }, 0, 0, 0 },
		{ PERF_RECORD_SAMPLE, { NOW }, 1, { .samples = 1, .empty = 1 }, 0, 0, 0 },
		{ PERF_RECORD_SAMPLE, { 0 }, 0, { .samples = 1, .empty = 1 }, 0, 0, 0 },
		/* The record states more addresses than it has. */
		{ PERF_RECORD_SAMPLE,
		  { NOW, UINT64_MAX, USER, 11 },
		  4,
		  { .samples = 1 },
		  1,
		  11,
		  11 },
		{ PERF_RECORD_SAMPLE,
		  { NOW, 14, USER, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 },
		  16,
		  { .samples = 1 },
		  12,
		  1,
		  12 },
		{ PERF_RECORD_LOST, { 1, 77 }, 2, { .lost = 77 }, 0, 0, 0 },
		{ PERF_RECORD_LOST, { 1 }, 1, { 0 }, 0, 0, 0 },
		{ PERF_RECORD_LOST_SAMPLES, { 5 }, 1, { .lost = 5 }, 0, 0, 0 },
		{ PERF_RECORD_THROTTLE, { 1, 2, 3 }, 3, { 0 }, 0, 0, 0 },
		{ PERF_RECORD_UNTHROTTLE, { 1, 2, 3 }, 3, { 0 }, 0, 0, 0 },
		{ 4711, { 1, 2, 3 }, 3, { 0 }, 0, 0, 0 },
	};

	/* Tries every position at which a record can begin, so most of them wrap around once. */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (uint64_t at = 8 * BYTES; at < 9 * BYTES; at += 8) {
			struct perf_ring_sums sums = { 0 };

			taken = 0;
			uint64_t head = put(at, rows[i].type, 8 + 8 * rows[i].count, rows[i].words,
					    rows[i].count);
			perf_ring_decode(ring, BYTES, at, head, &sums, take, chains);
			CHECK(memcmp(&sums, &rows[i].sums, sizeof(sums)) == 0);
			CHECK_EQ(taken, rows[i].depth > 0);
			if (taken == 0 || rows[i].depth == 0)
				continue;
			CHECK_EQ(depths[0], rows[i].depth);
			CHECK_EQ(chains[0][0], rows[i].first);
			CHECK_EQ(chains[0][depths[0] - 1], rows[i].last);
		}
	}
}

TEST(a_damaged_ring_ends_it)
{
	static const size_t sizes[] = { 0, 1, 7, 48, 1000 };
	const uint64_t words[] = { NOW, 2, USER, 11 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct perf_ring_sums sums = { 0 };

		taken = 0;
		put(put(96, PERF_RECORD_SAMPLE, 40, words, 4), PERF_RECORD_SAMPLE, sizes[i], words,
		    4);
		perf_ring_decode(ring, BYTES, 96, 176, &sums, take, chains);
		CHECK_EQ(taken, 1);
		CHECK_EQ(sums.broken, 1);
	}

	struct perf_ring_sums sums = { 0 };
	perf_ring_decode(ring, BYTES, 96, 96 + BYTES + 8, &sums, take, chains);
	perf_ring_decode(ring, BYTES, 96, 88, &sums, take, chains);
	perf_ring_decode(ring, BYTES, 96, 100, &sums, take, chains);
	CHECK_EQ(sums.broken, 3);
}

TEST(a_record_longer_than_any_of_ours_is_cut)
{
	uint64_t words[56] = { NOW, 54, USER };
	struct perf_ring_sums sums = { 0 };

	for (size_t i = 3; i < 56; i++)
		words[i] = i;
	taken = 0;
	perf_ring_decode(ring, BYTES, 8, put(8, PERF_RECORD_SAMPLE, 456, words, 56), &sums, take,
			 chains);
	CHECK_EQ(taken, 1);
	CHECK_EQ(depths[0], PERF_RING_CHAIN_MOST);
	CHECK_EQ(sums.broken, 0);
}

TEST(draining_gives_the_room_back)
{
	const uint64_t words[] = { NOW, 2, USER, 11 };
	_Atomic uint64_t head = 0, tail = 0;
	struct perf_ring all = { &head, &tail, ring, BYTES };
	struct perf_ring_sums sums = { 0 };

	for (unsigned turn = 0; turn < 100; turn++) {
		taken = 0;
		head = put(put(head, PERF_RECORD_SAMPLE, 40, words, 4), PERF_RECORD_SAMPLE, 40,
			   words, 4);
		perf_ring_drain(&all, &sums, take, chains);
		CHECK_EQ(tail, head);
		CHECK_EQ(taken, 2);
	}
	CHECK_EQ(sums.samples, 200);
}

CHECK_MAIN()
