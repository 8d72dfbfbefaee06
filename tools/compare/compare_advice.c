/*
 * compare_advice.c - what a stage predicted for the next one, held against it.
 *
 * The program may have been changed in another way than advised; then the difference says so.
 */
#include "compare/compare.h"

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
