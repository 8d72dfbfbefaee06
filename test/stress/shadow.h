/*
 * A model of allocated memory: which bytes are allocated, and whether they hold what was written.
 *
 * Allocators are compared with it.  Its own memory comes from mmap() alone, so that the allocator
 * under test cannot damage it unnoticed.  All functions are thread-safe and lock-free; none
 * allocates.
 */
#ifndef HP_TEST_STRESS_SHADOW_H
#define HP_TEST_STRESS_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE ((size_t)4096)

/* Reserves the maps.  False: the addresses cannot be had. */
bool shadow_start(void);

/*
 * [address, address + bytes) belongs to the caller from now on.  False: some of it, to 16 bytes,
 * belongs to somebody already.  Call it once the allocator has returned the block.
 */
bool shadow_claim(const void *address, size_t bytes);

/* The same range belongs to nobody.  Call it before the allocator gets the block back. */
bool shadow_release(const void *address, size_t bytes);

/*
 * What a block of `bytes` carries: all of it where it is small, else its first and last 64 bytes
 * and eight bytes in each `step`th page.
 */
struct pattern {
	uint64_t seed;
	uintptr_t origin; /* where the block was when the pattern was written */
	size_t bytes, step;
};

/* The pattern for a block at `address`, in about `pages_most` pages. */
struct pattern pattern_for(const void *address, size_t bytes, uint64_t seed, size_t pages_most);

/* Bytes of memory that it takes, at most, in pages of `page` bytes. */
size_t pattern_touches(const struct pattern *pattern, size_t page);

void pattern_write(const struct pattern *pattern, char *address);

/*
 * The first `bytes` of what the block carried are at `address`, which need not be its origin.
 * Returns the offset of the first eight bytes that are wrong, or SIZE_MAX: none.
 */
size_t pattern_wrong_at(const struct pattern *pattern, const char *address, size_t bytes);

/* [address, address + bytes) is zero: all of it, or where patterns of earlier blocks would be. */
bool pattern_is_zero(const char *address, size_t bytes, size_t step, bool all);

#endif
