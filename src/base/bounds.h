/*
 * Minimum and saturating difference.
 */
#ifndef HP_BASE_BOUNDS_H
#define HP_BASE_BOUNDS_H

#include <stdint.h>

static inline uint64_t hp_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns a - b, or 0 if that is negative. */
static inline uint64_t hp_above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

#endif
