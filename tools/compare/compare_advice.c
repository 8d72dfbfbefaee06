/*
 * compare_advice.c - what a stage predicted for the next one, held against it.
 *
 * The program may have been changed in another way than advised; then the difference says so.
 */
#include "compare/compare.h"
#include "profile/texts.h"

#include <stdio.h>
#include <string.h>

/* Returns the build ID of the program's file; NULL if it is not known. */
static const char *build_id(const struct profile *profile)
{
	for (size_t i = 0; i < profile->module_count; i++) {
		const char *path = profile->modules[i].path, *slash = strrchr(path, '/');

		if (strcmp(slash != NULL ? slash + 1 : path, profile->process.program) == 0)
			return profile->modules[i].build_id;
	}
	return NULL;
}

/* True if the stages are one program that was observed, and then ran with hotpin. */
static bool is_hotpin_the_change(const struct profile *before, const struct profile *after)
{
	const char *was = build_id(before), *is = build_id(after);

	return was != NULL && is != NULL && strcmp(was, is) == 0 && compare_was_observed(before) &&
	       !compare_was_observed(after);
}

bool compare_predict(const struct profile *before, const struct profile *after,
		     struct compare_prediction *ret)
{
	struct advice_list list;
	size_t at = 0;

	advice_make(before, &list);
	if (is_hotpin_the_change(before, after))
		while (at < list.count && !list.items[at].hotpin_does_it)
			at++;
	if (at == list.count || !advice_is_worth(before, &list.items[at]))
		return false;
	ret->advice = list.items[at];
	ret->wall_ns = before->wall_ns - list.items[at].saves_ns;
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
		fprintf(to, " (%s)", text_name(predicted.advice.where, 120));
	fprintf(to, "\n    predicted %s %s; it took %s, %s %s (%s)%s\n",
		is_estimate ? "about" : "at least", text_time(predicted.wall_ns),
		text_time(after->wall_ns), text_time(off_ns),
		predicted.off_ns < 0 ? "less" : "more",
		text_share(off_ns, before->profile->wall_ns),
		predicted.off_ns < 0 && !is_estimate ? ": other parts took less time, too" : "");
}
