/*
 * repeats.c - remembers the contents of the latest thousand copied ranges of each side.
 */
#include "trace/calls/repeats.h"
#include "base/arena.h"
#include "base/lock.h"

#include <errno.h>
#include <string.h>

#define RANGES_MOST 1024

/* A range of memory that was copied to or from; 0 bytes: unused. */
struct range {
	uint64_t base, bytes, hash, turn;
};

/* Under the lock trace. */
static struct range *on_device; /* as sent to the device */
static struct range *on_host;   /* as fetched from the device */
static struct profile_repeat *rows;
static size_t row_count;
static struct profile_repeats sums;
static uint64_t turns;

int repeats_start(void)
{
	on_device = hp_arena_alloc(RANGES_MOST * sizeof(*on_device));
	on_host = hp_arena_alloc(RANGES_MOST * sizeof(*on_host));
	rows = hp_arena_alloc(REPEATS_ROWS_MOST * sizeof(*rows));
	return on_device != NULL && on_host != NULL && rows != NULL ? 0 : -ENOMEM;
}

/*
 * Mixes both halves of the product.  Compilers use the scalar multiplier for it, which is faster.
 */
static uint64_t mix(uint64_t sum, uint64_t word, uint64_t odd)
{
	__uint128_t product = (__uint128_t)(sum ^ word) * odd;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t repeats_hash(const void *bytes, size_t length)
{
	static const uint64_t odd[4] = { UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f),
					 UINT64_C(0x165667b19e3779f9),
					 UINT64_C(0xd6e8feb86659fd93) };
	const char *at = bytes;
	uint64_t sum[4] = { 1, 2, 3, 4 }, word[4], hash = length;

	/*
	 * Four words at a time: a multiplication takes three cycles, and a new one can start each
	 * cycle.
	 */
	for (; length >= sizeof(word); length -= sizeof(word), at += sizeof(word)) {
		memcpy(word, at, sizeof(word));
		for (int i = 0; i < 4; i++)
			sum[i] = mix(sum[i], word[i], odd[i]);
	}
	memset(word, 0, sizeof(word));
	memcpy(word, at, length);
	for (int i = 0; i < 4; i++)
		hash = mix(hash, mix(sum[i], word[i], odd[i]), odd[3 - i] + 2);
	return hash;
}

static bool overlaps(const struct range *range, uint64_t base, uint64_t bytes)
{
	return range->base < base + bytes && base < range->base + range->bytes;
}

/*
 * True if `ranges` holds these bytes at this address.  If `is_written`, forgets overlapping ranges.
 */
static bool look(struct range *ranges, uint64_t base, uint64_t bytes, uint64_t hash,
		 bool is_written)
{
	bool same = false;

	for (size_t i = 0; i < RANGES_MOST; i++) {
		struct range *range = &ranges[i];

		if (range->bytes == 0 || !overlaps(range, base, bytes))
			continue;
		same |= hash != 0 && range->base == base && range->bytes == bytes &&
			range->hash == hash;
		if (is_written)
			range->bytes = 0;
	}
	return same;
}

/* Notes a range in place of the oldest one. */
static void note(struct range *ranges, uint64_t base, uint64_t bytes, uint64_t hash)
{
	struct range *oldest = &ranges[0];

	for (size_t i = 0; i < RANGES_MOST && oldest->bytes != 0; i++)
		if (ranges[i].bytes == 0 || ranges[i].turn < oldest->turn)
			oldest = &ranges[i];
	*oldest = (struct range){ base, bytes, hash, ++turns };
}

/* `kind`: duplicate, bytes last sent to that address; ping_pong, bytes unchanged since a download.
 */
static void found(const char *kind, struct profile_sum *all, const struct trace_copy *copy,
		  uint32_t site, uint32_t buffer)
{
	int64_t buffer_index = buffer != UINT32_MAX ? (int64_t)buffer : UNKNOWN;
	size_t at = 0;

	trace_flow_add(all, copy);
	while (at < row_count &&
	       (rows[at].kind != kind || rows[at].site != site || rows[at].buffer != buffer_index))
		at++;
	if (at == REPEATS_ROWS_MOST)
		return;
	if (at == row_count)
		rows[row_count++] = (struct profile_repeat){ .kind = kind,
							     .site = site,
							     .buffer = buffer_index };
	rows[at].count++;
	rows[at].bytes += (int64_t)copy->bytes;
	rows[at].host_ns += (int64_t)(copy->leave_ns - copy->enter_ns);
}

void repeats_copied(const struct trace_copy *copy, uint32_t site, uint32_t buffer)
{
	static const char duplicate[] = "duplicate", ping_pong[] = "ping_pong";
	uint64_t host = (uintptr_t)copy->host, hash = 0;

	if (trace_copy_touched_host(copy) && copy->linear && copy->host != NULL &&
	    copy->device != 0 && copy->bytes >= REPEATS_LEAST_BYTES)
		hash = repeats_hash(copy->host, copy->bytes) | 1;
	hp_lock(HP_LOCK_trace);
	sums.hashed_copies += hash != 0;
	if (copy->direction == TRACE_H2D) {
		if (look(on_device, copy->device, copy->bytes, hash, true))
			found(duplicate, &sums.duplicates, copy, site, buffer);
		else if (look(on_host, host, copy->bytes, hash, false))
			found(ping_pong, &sums.ping_pong, copy, site, buffer);
		if (hash != 0)
			note(on_device, copy->device, copy->bytes, hash);
	} else {
		look(on_host, host, copy->bytes, 0, true);
		if (hash != 0)
			note(on_host, host, copy->bytes, hash);
	}
	hp_unlock(HP_LOCK_trace);
}

void repeats_read(struct profile_repeats *ret)
{
	*ret = hp_locked(HP_LOCK_trace, sums);
}

bool repeats_read_row(size_t index, struct profile_repeat *ret)
{
	return hp_locked(HP_LOCK_trace, index < row_count && (*ret = rows[index], true));
}
