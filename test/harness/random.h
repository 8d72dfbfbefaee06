/*
 * Random numbers for random tests: a sequence that depends on its state alone.
 *
 * splitmix64 (public domain, S. Vigna): any state is valid, and similar states give unrelated
 * sequences.
 */
#ifndef HP_HARNESS_RANDOM_H
#define HP_HARNESS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t random_mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static inline uint64_t random_next(uint64_t *state)
{
	return random_mix(*state += 0x9e3779b97f4a7c15ull);
}

/* Returns a number below `bound`. */
static inline size_t random_below(uint64_t *state, size_t bound)
{
	return random_next(state) % bound;
}

/*
 * Returns a row of a table, each with the probability of its weight.  `weight` is that of the first
 * row, `row_bytes` the size of a row.
 */
size_t random_row(uint64_t *state, const unsigned *weight, size_t row_bytes, size_t rows);

#endif
