/*
 * Fills memory with bytes that identify their place: no two places and no two seeds have the same.
 */
#ifndef HP_HARNESS_PATTERN_H
#define HP_HARNESS_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the eight bytes at 8 * i. */
uint64_t word_at(size_t i, unsigned seed);

void fill(char *at, size_t bytes, unsigned seed);

/* True if `bytes` at `at` hold the pattern from the offset `from` on, a multiple of eight. */
bool holds_from(const char *at, size_t from, size_t bytes, unsigned seed);
bool holds(const char *at, size_t bytes, unsigned seed);

/* True if all bytes have this value. */
bool all_are(const char *at, size_t bytes, char value);

#endif
