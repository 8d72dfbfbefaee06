/*
 * memory_curve.c - adds up allocations and frees by time.
 */
#include "trace/memory_curve.h"

#include <string.h>

static void halve(struct memory_curve *curve)
{
	struct memory_change *changes = curve->changes;
	int64_t sum = changes[0].bytes, kept_sum = sum;
	size_t last = curve->used - 1, kept = 1;

	for (size_t i = 1; i < last; i += 2) {
		int64_t most = sum += changes[i].bytes;

		if (i + 1 < last)
			sum += changes[i + 1].bytes;
		if (sum > most)
			most = sum;
		changes[kept++] = (struct memory_change){ changes[i].at_ns, most - kept_sum };
		kept_sum = most;
	}
	sum += changes[last].bytes;
	changes[kept++] = (struct memory_change){ changes[last].at_ns, sum - kept_sum };
	curve->used = kept;
}

void memory_curve_add(struct memory_curve *curve, uint64_t at_ns, int64_t bytes)
{
	struct memory_change *changes = curve->changes;

	if (curve->used == 0)
		changes[curve->used++] = (struct memory_change){ 0, 0 };
	if (curve->used == MEMORY_CURVE_MOST)
		halve(curve);

	size_t at = curve->used;
	while (changes[at - 1].at_ns > at_ns)
		at--;
	if (changes[at - 1].at_ns == at_ns) {
		changes[at - 1].bytes += bytes;
		return;
	}
	memmove(&changes[at + 1], &changes[at], (curve->used - at) * sizeof(*changes));
	changes[at] = (struct memory_change){ at_ns, bytes };
	curve->used++;
}
