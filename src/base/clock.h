/*
 * What time is it?  One clock for everything: CLOCK_MONOTONIC, in nanoseconds.
 */
#ifndef HP_BASE_CLOCK_H
#define HP_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t hp_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
