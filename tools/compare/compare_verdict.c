/*
 * compare_verdict.c - the verdict on two wall times and their noise.
 */
#include "compare/compare_verdict.h"
#include "profile/texts.h"

#define NOISE_MOST 10000

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

const char *compare_verdict_name(enum compare_verdict verdict)
{
	static const char *const names[] = { "SAME", "UNCLEAR", "FASTER", "SLOWER" };

	return names[verdict];
}
