/*
 * Porting stages beside one another.
 */
#ifndef HP_TOOLS_COMPARE_H
#define HP_TOOLS_COMPARE_H

#include "profile.h"

struct compare_stage {
	const struct profile *profile; /* the run of median wall time, or all ranks added up */
	struct profile merged;         /* all ranks, or all zeros */
	const struct profile **runs;
	size_t run_count;
	bool repeated;             /* the runs are repeats, not ranks */
	int64_t least_ns, most_ns; /* wall times of repeats */
};

/* All that is printed for a comparison of stages; noise in tenths of a percent. */
void compare_show(const struct compare_stage *stages, size_t count, unsigned noise_tenths);

/*
 * Says on stderr why the stages cannot be compared, and prints what a reader must know of those
 * that can.  Returns how many reasons there are against it.
 */
int compare_gate(const struct compare_stage *stages, size_t count);

#endif
