/*
 * Statistics of a few times of one thing: pure functions.
 */
#ifndef HP_TOOLS_ANALYZE_STATISTICS_H
#define HP_TOOLS_ANALYZE_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

/* All zeros if there were no times. */
struct statistics {
	int64_t least, median, most;
};

/*
 * Sorts `times`, none of which is negative.  The median of an even number of times is the mean of
 * the middle two.
 */
struct statistics statistics_of(int64_t *times, size_t count);

#endif
