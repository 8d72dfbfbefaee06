/*
 * The bytes that are in use on one device over time, in bounded memory.
 *
 * The curve is a list of changes by time, because records of several threads arrive out of order.
 */
#ifndef HP_TRACE_MEMORY_CURVE_H
#define HP_TRACE_MEMORY_CURVE_H

#include <stddef.h>
#include <stdint.h>

#define MEMORY_CURVE_MOST 4096

struct memory_change {
	uint64_t at_ns;
	int64_t bytes; /* added; negative: freed */
};

/*
 * A curve of all zeros is empty.  After its first use, a curve begins with a change of 0 bytes at
 * 0.
 */
struct memory_curve {
	size_t used;
	struct memory_change changes[MEMORY_CURVE_MOST]; /* by at_ns, all different */
};

/*
 * Adds a change.  When the curve is full, each pair of points becomes one: the earlier time, the
 * larger sum.  The first and the last point stay.
 */
void memory_curve_add(struct memory_curve *curve, uint64_t at_ns, int64_t bytes);

#endif
