/*
 * Which of two is less, and what does one have above the other?
 */
#ifndef HP_BASE_BOUNDS_H
#define HP_BASE_BOUNDS_H

#include <stdint.h>

static inline uint64_t hp_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* a - b, or 0. */
static inline uint64_t hp_above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

#endif
