/*
 * The profile of the last part of a run: each sum, less what it was when that part began.
 *
 * A window is made of slices.  At the end of each slice all sums are noted, so memory is bounded by
 * the slices and by what a profile holds, however long the run is.  Pure except for its memory.
 */
#ifndef HP_TRACE_WINDOW_H
#define HP_TRACE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WINDOW_SLICES_MOST 12u
/* More sums than a profile whose tables are all full has. */
#define WINDOW_SUMS_MOST   ((size_t)256 << 10)

struct window_sum {
	uint64_t key, value;
};

struct window {
	size_t slices, marks;
	struct window_mark {
		size_t count;
		struct window_sum *sum; /* by key; those of 0 are left out */
	} mark[WINDOW_SLICES_MOST];     /* the oldest first */
	struct window_sum *noted;       /* WINDOW_SUMS_MOST */
	size_t count;
	bool crowded;
};

/* A window of `slices`, 1 to WINDOW_SLICES_MOST, which begins with the run.  0 or -ENOMEM. */
int window_init(struct window *window, size_t slices);

/*
 * Notes a sum, and writes what it was when the window began: 0 for one that was not known then.
 * Two sums of one slice have two keys.
 */
uint64_t window_before(struct window *window, uint64_t key, uint64_t value);

/*
 * Ends a slice: what was noted is what the window begins with, so many slices later.  Where there
 * is no memory for it, the window begins earlier than it should.
 */
void window_end_slice(struct window *window);

/* Has the run's begin left the window? */
bool window_has_begun(const struct window *window);

#endif
