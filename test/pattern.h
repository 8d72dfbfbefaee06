/*
 * Fills memory with bytes that identify their place: no two places and no two seeds have the same.
 */
#ifndef HP_TEST_PATTERN_H
#define HP_TEST_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Returns the eight bytes at 8 * i. */
static inline uint64_t word_at(size_t i, unsigned seed)
{
	return (i + 1) * 0x9e3779b97f4a7c15u ^ (seed + 1) * 0x0101010101010101u;
}

/* Eight unaligned bytes: if memcpy() is a call, one for each word takes most of a test's time. */
typedef uint64_t __attribute__((aligned(1), may_alias)) word_anywhere;

static inline void fill(char *at, size_t bytes, unsigned seed)
{
	uint64_t last = word_at(bytes / 8, seed);

	for (size_t i = 0; i < bytes / 8; i++)
		((word_anywhere *)at)[i] = word_at(i, seed);
	memcpy(at + bytes / 8 * 8, &last, bytes % 8);
}

/* True if `bytes` at `at` hold the pattern from the offset `from` on, a multiple of eight. */
static inline bool holds_from(const char *at, size_t from, size_t bytes, unsigned seed)
{
	uint64_t last = word_at(from / 8 + bytes / 8, seed);
	size_t i = 0;

	while (i < bytes / 8 && ((const word_anywhere *)at)[i] == word_at(from / 8 + i, seed))
		i++;
	if (i < bytes / 8 || memcmp(at + i * 8, &last, bytes % 8) != 0) {
		printf("# wrong at byte %zu\n", from + i * 8);
		return false;
	}
	return true;
}

static inline bool holds(const char *at, size_t bytes, unsigned seed)
{
	return holds_from(at, 0, bytes, seed);
}

#endif
