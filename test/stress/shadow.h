/*
 * A model of allocated memory: which bytes are allocated, and whether they hold what was written.
 *
 * Allocators are compared with it.  Its own memory comes from mmap() alone, so that the allocator
 * under test cannot damage it unnoticed.  All functions are thread-safe and lock-free; none
 * allocates.
 */
#ifndef HP_TEST_STRESS_SHADOW_H
#define HP_TEST_STRESS_SHADOW_H

#include "sizes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reserves the maps.  False if the addresses are not available. */
bool shadow_start(void);

/*
 * Claims [address, address + bytes) for the caller.  False if some of it, in units of 16 bytes, is
 * already claimed.  Call it after the allocator has returned the block.
 */
bool shadow_claim(const void *address, size_t bytes);

/* Releases the same range.  Call it before the allocator gets the block back. */
bool shadow_release(const void *address, size_t bytes);

/*
 * The pattern of a block of `bytes`: everywhere in a small one, otherwise in its first and last 64
 * bytes and in eight bytes of each `step`th page.
 */
struct pattern {
	uint64_t seed;
	uintptr_t origin; /* where the block was when the pattern was written */
	size_t bytes, step;
};

/* Returns the pattern for a block at `address`, in about `pages_most` pages. */
struct pattern pattern_for(const void *address, size_t bytes, uint64_t seed, size_t pages_most);

/* Returns the bytes of the pages that it touches, at most. */
size_t pattern_touches(const struct pattern *pattern);

void pattern_write(const struct pattern *pattern, char *address);

/*
 * Compares the first `bytes` at `address`, which need not be the origin, with the block's pattern.
 * Returns the offset of the first eight wrong bytes, or SIZE_MAX if there are none.
 */
size_t pattern_wrong_at(const struct pattern *pattern, const char *address, size_t bytes);

/*
 * True if [address, address + bytes) is zero: all of it, or where patterns of earlier blocks would
 * be.
 */
bool pattern_is_zero(const char *address, size_t bytes, size_t step, bool all);

#endif
