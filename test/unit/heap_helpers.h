/*
 * Checks for tests of the heap: contents of blocks, resident memory, sums.
 */
#ifndef HP_TEST_UNIT_HEAP_HELPERS_H
#define HP_TEST_UNIT_HEAP_HELPERS_H

#include "base/clock.h"
#include "heap/heap.h"
#include "heap/reclaim.h"

#include "check.h"
#include "clock.h"
#include "heap_check.h"
#include "memory.h"
#include "pattern.h"
#include "sizes.h"

#include <stdint.h>

/* With this alignment the heap has no choice of a block's start. */
#define WHOLE ((size_t)64 << 10)

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

/* Moves blocks from the slots to the cache, as if they had been idle for long. */
static inline void unpark(void)
{
	for (uint64_t i = 1; i <= 2; i++)
		heap_expire(hp_now_ns() + i * 1000000000);
}

static inline void pass_ms(unsigned ms)
{
	test_clock_pass(ms * TEST_MS);
}

#endif
