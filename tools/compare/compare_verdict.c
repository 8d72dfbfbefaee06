/*
 * compare_verdict.c - the verdict on two wall times and their noise.
 */
#include "compare/compare_verdict.h"
#include "profile/sorted_lists.h"
#include "profile/texts.h"

#include <stdlib.h>

#define NOISE_MOST   10000

/* hotpin promises that no program becomes slower by more (2 %). */
#define ALIKE_TENTHS 20

static int ascending(const void *left, const void *right)
{
	return sorted_numbers(*(const int64_t *)left, *(const int64_t *)right);
}

struct compare_times compare_times_of(int64_t *times, size_t count)
{
	if (count == 0)
		return (struct compare_times){ 0 };
	qsort(times, count, sizeof(*times), ascending);
	int64_t low = times[(count - 1) / 2], high = times[count / 2];

	return (struct compare_times){ times[0], low + (high - low) / 2, times[count - 1] };
}

unsigned compare_noise_of(const struct compare_times *before, const struct compare_times *after,
			  unsigned least_tenths)
{
	bool faster = after->median < before->median;
	__int128_t apart =
		faster ? (__int128_t)before->median - before->least + after->most - after->median
		       : (__int128_t)before->most - before->median + after->median - after->least;
	__int128_t tenths =
		before->median > 0 ? (apart * 1000 + before->median - 1) / before->median : 0;

	if (tenths <= least_tenths)
		return least_tenths;
	return tenths < NOISE_MOST ? (unsigned)tenths : NOISE_MOST;
}

static bool is_sure(int64_t before_ns, int64_t after_ns)
{
	__int128_t more = before_ns > after_ns ? before_ns : after_ns;
	__int128_t less = before_ns > after_ns ? after_ns : before_ns;

	return more > less * COMPARE_SURE_TIMES;
}

enum compare_verdict compare_judge(int64_t before_ns, int64_t after_ns, unsigned noise_tenths,
				   bool is_known)
{
	if (!is_known && !is_sure(before_ns, after_ns))
		return COMPARE_UNCLEAR;
	if (text_is_same(before_ns, after_ns, noise_tenths))
		return noise_tenths > COMPARE_NOISY_TENTHS ? COMPARE_UNCLEAR : COMPARE_SAME;
	return after_ns > before_ns ? COMPARE_SLOWER : COMPARE_FASTER;
}

/* Returns how many of `count` turns must agree; one more than all if even all are too few. */
static size_t turns_needed(size_t count)
{
	double chance = 1, sum = 0; /* that exactly, and at least, `needed` turns agree */
	size_t needed = count + 1;

	for (size_t i = 0; i < count; i++)
		chance /= 2;
	while (needed > 0 && sum + chance <= 0.05) {
		sum += chance;
		needed--;
		chance *= (double)needed / (double)(count - needed + 1);
	}
	return needed;
}

enum compare_verdict compare_turns(const int64_t *before, const int64_t *after, size_t count,
				   size_t *ret_agree)
{
	size_t slower = 0, faster = 0, much_slower = 0, much_faster = 0;
	size_t needed = turns_needed(count);

	for (size_t i = 0; i < count; i++) {
		bool alike = text_is_same(before[i], after[i], ALIKE_TENTHS);

		slower += after[i] > before[i];
		faster += after[i] < before[i];
		much_slower += after[i] > before[i] && !alike;
		much_faster += after[i] < before[i] && !alike;
	}
	if (count - much_slower >= needed && count - much_faster >= needed) {
		*ret_agree = count - much_slower - much_faster;
		return COMPARE_SAME;
	}
	*ret_agree = slower >= needed ? slower : faster;
	return slower >= needed   ? COMPARE_SLOWER
	       : faster >= needed ? COMPARE_FASTER
				  : COMPARE_UNCLEAR;
}

const char *compare_verdict_name(enum compare_verdict verdict)
{
	static const char *const names[] = { "SAME", "UNCLEAR", "FASTER", "SLOWER" };

	return names[verdict];
}
