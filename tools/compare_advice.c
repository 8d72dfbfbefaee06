/*
 * compare_advice.c - what a stage predicted for the next one, held against it.
 *
 * The program may have been changed in another way than advised; then the difference says so.
 */
#include "compare.h"
#include "show.h"

#include <stdio.h>

bool compare_predict(const struct profile *before, const struct profile *after,
		     struct compare_prediction *ret)
{
	struct advice_list list;

	advice_make(before, &list);
	if (list.count == 0 || !advice_is_worth(before, &list.items[0]))
		return false;
	ret->advice = list.items[0];
	ret->wall_ns = before->wall_ns - list.items[0].saves_ns;
	ret->off_ns = after->wall_ns - ret->wall_ns;
	return true;
}

void compare_show_prediction(FILE *to, const struct compare_stage *before,
			     const struct profile *after)
{
	struct compare_prediction predicted;

	if (!compare_predict(before->profile, after, &predicted))
		return;
	int64_t off_ns = predicted.off_ns < 0 ? -predicted.off_ns : predicted.off_ns;
	bool is_estimate = predicted.advice.is_estimate;

	fprintf(to, "  %s advised: %s", compare_name(before), predicted.advice.what);
	if (predicted.advice.where[0] != '\0')
		fprintf(to, " (%s)", show_text(predicted.advice.where, 120));
	fprintf(to, "\n    predicted %s %s; it took %s, %s %s (%s)%s\n",
		is_estimate ? "about" : "at least", show_time(predicted.wall_ns),
		show_time(after->wall_ns), show_time(off_ns),
		predicted.off_ns < 0 ? "less" : "more",
		show_share(off_ns, before->profile->wall_ns),
		predicted.off_ns < 0 && !is_estimate ? ": other changes helped, too" : "");
}
