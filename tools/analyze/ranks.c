/*
 * ranks.c - tells whether profiles are the ranks of one run.
 *
 * Nothing but names and fields shows that files belong to one run, so these are compared first.
 */
#include "analyze/ranks.h"
#include "system/messages.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL || strcmp(a, b) == 0;
}

/* Returns why the two cannot be ranks of one run; NULL if they can. */
static const char *apart(const struct profile *a, const struct profile *b)
{
	if (a->process.rank == NULL && b->process.rank == NULL)
		return "they have no ranks";
	if (a->process.rank == NULL || b->process.rank == NULL)
		return "one of them has no rank";
	if (strcmp(a->process.rank, b->process.rank) == 0)
		return "both are the same rank";
	if (!same_text(a->process.program, b->process.program))
		return "their programs differ";
	if (!same_text(a->stage, b->stage))
		return "their stages differ";
	if (a->process.ranks >= 0 && b->process.ranks >= 0 && a->process.ranks != b->process.ranks)
		return "their runs had different numbers of ranks";
	return NULL;
}

static bool is_launcher(const struct profile *profile)
{
	return profile->process.rank == NULL &&
	       (profile_used_no_device(profile) ||
		(profile->transfer_count == 0 && profile->kernel_count == 0));
}

/* True if any profile is a rank of the same stage. */
static bool has_ranks(const struct profile *profiles, size_t count, const struct profile *of)
{
	for (size_t i = 0; i < count; i++)
		if (profiles[i].process.rank != NULL && same_text(profiles[i].stage, of->stage))
			return true;
	return false;
}

size_t ranks_only(struct profile *profiles, size_t count)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		struct profile profile = profiles[i];

		if (is_launcher(&profile) && has_ranks(profiles, count, &profile)) {
			hotpin_say("%s has no rank and used no device, so it is left out as the "
				   "launcher of the ranks",
				   text_name(profile.path, 80));
			continue;
		}
		profiles[i] = profiles[left];
		profiles[left++] = profile;
	}
	return left;
}

static void say_missing(const struct profile *profiles, size_t count)
{
	int64_t ranks = profiles[0].process.ranks;

	if (ranks > (int64_t)count && profiles[0].process.rank != NULL)
		hotpin_say(
			"%s of the run's %s ranks are missing, so the sums are of the others; name "
			"all files of the run",
			text_count(ranks - (int64_t)count), text_count(ranks));
}

int ranks_check(const struct profile *profiles, size_t count, const char *advice)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++) {
			const char *why = apart(&profiles[i], &profiles[j]);

			if (why == NULL)
				continue;
			hotpin_say("%s and %s are not ranks of one run: %s%s",
				   text_name(profiles[i].path, 80), text_name(profiles[j].path, 80),
				   why, advice != NULL ? advice : "");
			return advice != NULL ? -EINVAL : 0;
		}
	say_missing(profiles, count);
	return 0;
}
