/*
 * pattern.c - words that name their place and seed.
 */
#include "pattern.h"

#include <stdio.h>
#include <string.h>

/* Eight unaligned bytes: if memcpy() is a call, one for each word takes most of a test's time. */
typedef uint64_t __attribute__((aligned(1), may_alias)) word_anywhere;

uint64_t word_at(size_t i, unsigned seed)
{
	return (i + 1) * 0x9e3779b97f4a7c15u ^ (seed + 1) * 0x0101010101010101u;
}

void fill(char *at, size_t bytes, unsigned seed)
{
	uint64_t last = word_at(bytes / 8, seed);

	for (size_t i = 0; i < bytes / 8; i++)
		((word_anywhere *)at)[i] = word_at(i, seed);
	memcpy(at + bytes / 8 * 8, &last, bytes % 8);
}

bool holds_from(const char *at, size_t from, size_t bytes, unsigned seed)
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

bool holds(const char *at, size_t bytes, unsigned seed)
{
	return holds_from(at, 0, bytes, seed);
}

bool all_are(const char *at, size_t bytes, char value)
{
	return bytes == 0 || (at[0] == value && memcmp(at, at + 1, bytes - 1) == 0);
}
