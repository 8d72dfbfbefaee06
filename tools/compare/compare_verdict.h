/*
 * Says whether one stage is faster than another: pure.
 */
#ifndef HP_TOOLS_COMPARE_COMPARE_VERDICT_H
#define HP_TOOLS_COMPARE_COMPARE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum compare_verdict { COMPARE_SAME, COMPARE_UNCLEAR, COMPARE_FASTER, COMPARE_SLOWER };

/* Noise, in tenths of a percent, above which times of a program say little. */
#define COMPARE_NOISY_TENTHS 50

/*
 * Without repeats, a change counts only if one time is more than this many times the other.  Runs
 * of one program have been seen to differ by 2.1 times.
 */
#define COMPARE_SURE_TIMES   3

/* Of the wall times of a stage's runs; all are equal if it has one run. */
struct compare_times {
	int64_t least, median, most;
};

/*
 * Sorts the times, none of which is negative; all zeros if there are none.  The median of an even
 * number of times is the mean of the middle two.
 */
struct compare_times compare_times_of(int64_t *times, size_t count);

/*
 * Returns the noise of two stages in tenths of a percent: how far their runs are from the medians
 * towards the other stage, or `least_tenths` if that is more.  A change is above it only if each
 * run of one stage takes longer than all runs of the other.
 */
unsigned compare_noise_of(const struct compare_times *before, const struct compare_times *after,
			  unsigned least_tenths);

/*
 * Judges two wall times.  `is_known`: repeats of both stages, or the user, tell the noise, which is
 * in tenths of a percent.  Without it a change is unclear, unless it exceeds COMPARE_SURE_TIMES.
 */
enum compare_verdict compare_judge(int64_t before_ns, int64_t after_ns, unsigned noise_tenths,
				   bool is_known);

/*
 * Judges two ways to run a program that were measured in turns, by the times of each turn.  This is
 * the sign test (W. J. Dixon and A. M. Mood, 1946), which assumes nothing about the noise: if the
 * ways did not differ, each would be the slower one in half of the turns, and so many turns would
 * agree by chance in at most 1 of 20 such measurements.
 *
 *   SAME            so many turns are not slower by 2 %, and so many are not faster by 2 %
 *   SLOWER, FASTER  so many turns are
 *   UNCLEAR         neither
 *
 * So the verdict is not UNCLEAR if all turns agree.  There are at least COMPARE_TURNS_LEAST turns:
 * fewer agree too often by chance.  *ret_agree: the turns that are within 2 % if the verdict is
 * SAME, that are slower if it is SLOWER, otherwise those that are faster.
 */
#define COMPARE_TURNS_LEAST 5
enum compare_verdict compare_turns(const int64_t *before, const int64_t *after, size_t count,
				   size_t *ret_agree);

/* Returns "FASTER" and so on. */
const char *compare_verdict_name(enum compare_verdict verdict);

#endif
