/*
 * Checks for tests of the heap: contents of blocks, resident memory, sums.
 */
#ifndef HP_TEST_UNIT_HEAP_HELPERS_H
#define HP_TEST_UNIT_HEAP_HELPERS_H

#include "base/clock.h"
#include "base/lock.h"
#include "heap/heap.h"
#include "heap/reclaim.h"
#include "heap/shards.h"

#include "check.h"
#include "clock.h"
#include "heap_check.h"
#include "memory.h"
#include "pattern.h"
#include "sizes.h"

#include <stdint.h>

/* With this alignment the heap has no choice of the start of a block of `bytes`. */
#define WHOLE(bytes) ((size_t)((bytes) < 2 * MIB ? 4 : 64) << 10)

/* A sanitizer's own memory would dominate the measurement, and may exceed the limits. */
static inline void skip_if_sanitized(void)
{
	if (SANITIZED)
		CHECK_SKIP("a sanitizer needs memory of its own");
}

static inline size_t kept(void)
{
	size_t live, bytes;

	heap_stats(&live, &bytes);
	return bytes;
}

static inline size_t live(void)
{
	size_t bytes, other;

	heap_stats(&bytes, &other);
	return bytes;
}

/* Moves blocks from the shards to the cache. */
static inline void unpark(void)
{
	hp_lock(HP_LOCK_heap);
	shards_drain(hp_now_ns());
	hp_unlock(HP_LOCK_heap);
}

static inline void pass_ms(unsigned ms)
{
	test_clock_pass(ms * TEST_MS);
}

#endif
