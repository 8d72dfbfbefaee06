/*
 * The profile of the last part of a run: each sum, less its value at the begin of that part.
 *
 * A window consists of slices.  At the end of each slice, hotpin notes all sums.  So memory is
 * bounded by the number of slices and by the sums of a profile, for a run of any length.  Pure
 * except for its memory.
 */
#ifndef HP_TRACE_WINDOW_H
#define HP_TRACE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WINDOW_SLICES_MOST 12u
/* More sums than a profile has when all of its tables are full. */
#define WINDOW_SUMS_MOST   ((size_t)256 << 10)

struct window_sum {
	uint64_t key, value;
};

struct window {
	size_t slices, marks;
	struct window_mark {
		size_t count;
		struct window_sum *sum; /* by key; sums of 0 are left out */
	} mark[WINDOW_SLICES_MOST];     /* the oldest first */
	struct window_sum *noted;       /* WINDOW_SUMS_MOST */
	size_t count;
	bool crowded;
};

/*
 * Starts a window of `slices`, 1 to WINDOW_SLICES_MOST, which begins with the run.  Returns 0 or
 * -ENOMEM.
 */
int window_init(struct window *window, size_t slices);

/*
 * Notes a sum, and returns its value when the window began: 0 for a sum that did not exist then.
 * Different sums of one slice need different keys.
 */
uint64_t window_before(struct window *window, uint64_t key, uint64_t value);

/*
 * Ends a slice.  The noted sums become the begin of the window after `slices` more slices.  Without
 * memory for them, the window begins earlier than it should.
 */
void window_end_slice(struct window *window);

/* True if the window begins later than the run. */
bool window_has_begun(const struct window *window);

#endif
