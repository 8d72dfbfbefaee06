/*
 * ranks.c - tells whether profiles are the ranks of one run, and compares them.
 *
 * Nothing but names and fields shows that files belong to one run, so these are compared first.
 */
#include "analyze/ranks.h"
#include "system/messages.h"
#include "profile/sorted_lists.h"
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

static int64_t figure_of(const struct profile *profile, int figure)
{
	return figure == RANKS_WALL ? profile->wall_ns
				    : text_state_ns(&profile->split, figure - RANKS_STATES);
}

const char *ranks_figure_name(int figure)
{
	return figure == RANKS_WALL ? "Wall time" : text_states[figure - RANKS_STATES].title;
}

/* Ranks are text; numbers among them are sorted as numbers. */
static int by_rank(const void *left, const void *right)
{
	const struct profile *a = *(const struct profile *const *)left,
			     *b = *(const struct profile *const *)right;
	const char *one = a->process.rank != NULL ? a->process.rank : "",
		   *other = b->process.rank != NULL ? b->process.rank : "";

	return (int)strlen(one) - (int)strlen(other) ?: strcmp(one, other);
}

static int by_number(const void *left, const void *right)
{
	return sorted_numbers(*(const int64_t *)left, *(const int64_t *)right);
}

static void compare_figure(struct ranks *ranks, int figure)
{
	int64_t *all = profile_allocate(ranks->runs[0], ranks->count, sizeof(*all));
	struct ranks_spread *spread = &ranks->spreads[figure];
	int64_t sum = 0;

	spread->of_least = spread->of_most = ranks->runs[0];
	for (size_t i = 0; i < ranks->count; i++) {
		const struct profile *run = ranks->runs[i];

		all[i] = figure_of(run, figure);
		sum = profile_add(sum, all[i]);
		if (all[i] < figure_of(spread->of_least, figure))
			spread->of_least = run;
		if (all[i] > figure_of(spread->of_most, figure))
			spread->of_most = run;
	}
	qsort(all, ranks->count, sizeof(*all), by_number);
	spread->least = all[0];
	spread->median = all[ranks->count / 2];
	spread->most = all[ranks->count - 1];
	spread->mean = sum < 0 ? UNKNOWN : sum / (int64_t)ranks->count;
}

void ranks_compare(const struct profile **runs, size_t count, struct ranks *ret)
{
	*ret = (struct ranks){ runs, count, .slowest = ranks_slowest(runs, count) };
	qsort(runs, count, sizeof(*runs), by_rank);
	for (int figure = 0; figure < RANKS_FIGURES; figure++)
		compare_figure(ret, figure);
}

const struct profile *ranks_slowest(const struct profile *const *runs, size_t count)
{
	const struct profile *slowest = runs[0];

	for (size_t i = 1; i < count; i++)
		if (runs[i]->wall_ns > slowest->wall_ns)
			slowest = runs[i];
	return slowest;
}
