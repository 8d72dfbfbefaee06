/*
 * statistics.c - computes median and range of times.
 */
#include "analyze/statistics.h"

#include <stdlib.h>

static int ascending(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

struct statistics statistics_of(int64_t *times, size_t count)
{
	if (count == 0)
		return (struct statistics){ 0 };
	qsort(times, count, sizeof(*times), ascending);
	int64_t low = times[(count - 1) / 2], high = times[count / 2];

	return (struct statistics){
		.least = times[0],
		.median = low + (high - low) / 2,
		.most = times[count - 1],
	};
}
