/*
 * ranks.c - profiles of ranks side by side.
 *
 * Nothing but names and fields shows that files belong to one run, so these are compared first.
 */
#include "analyze/ranks.h"
#include "cmd/hotpin.h"
#include "show/layout.h"
#include "profile/show.h"
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
				   show_text(profile.path, 80));
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
			show_count(ranks - (int64_t)count), show_count(ranks));
}

int ranks_check(const struct profile *profiles, size_t count, const char *advice)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++) {
			const char *why = apart(&profiles[i], &profiles[j]);

			if (why == NULL)
				continue;
			hotpin_say("%s and %s are not ranks of one run: %s%s",
				   show_text(profiles[i].path, 80), show_text(profiles[j].path, 80),
				   why, advice != NULL ? advice : "");
			return advice != NULL ? -EINVAL : 0;
		}
	say_missing(profiles, count);
	return 0;
}

static int64_t bus_bytes(const struct profile *profile)
{
	return profile_add(profile_moved(profile, "h2d").bytes,
			   profile_moved(profile, "d2h").bytes);
}

/* The figures that are compared between ranks, in this order. */
enum { WALL, PARTS, BYTES = PARTS + SHOW_PARTS, COLUMNS };

static void columns_of(const struct profile *profile, int64_t ret[COLUMNS])
{
	ret[WALL] = profile->wall_ns;
	for (int part = 0; part < SHOW_PARTS; part++)
		ret[PARTS + part] = show_part_ns(&profile->split, part);
	ret[BYTES] = bus_bytes(profile);
}

static const struct layout_column layout[] = {
	{ "  Rank", .left = true },
	{ "Wall" },
#define STATE(field, title, heading, dropped) { heading, .drop = dropped },
#include "base/states.def"
	{ "Copied" },
};
_Static_assert(HP_LEN(layout) == COLUMNS + 1, "a column each, and the rank's");

static void show_row(struct layout_table *table, const char *name, const int64_t columns[COLUMNS])
{
	layout_cell(table, "  %s", name);
	for (int column = 0; column < COLUMNS; column++)
		layout_cell(table, "%s",
			    columns[column] == 0 ? "-"
			    : column == BYTES    ? show_bytes(columns[column])
						 : show_time(columns[column]));
	layout_row(table);
}

static int by_rank(const void *left, const void *right)
{
	const struct profile *a = *(const struct profile *const *)left,
			     *b = *(const struct profile *const *)right;
	const char *one = a->process.rank != NULL ? a->process.rank : "",
		   *other = b->process.rank != NULL ? b->process.rank : "";
	int length = (int)strlen(one) - (int)strlen(other);

	return length != 0 ? length : strcmp(one, other);
}

void ranks_show(const struct profile *profiles, size_t count)
{
	int64_t sum[COLUMNS] = { 0 }, most[COLUMNS] = { 0 }, least[COLUMNS], mean[COLUMNS];
	const struct profile **sorted = calloc(count, sizeof(*sorted));

	if (sorted == NULL)
		return;
	for (size_t i = 0; i < count; i++)
		sorted[i] = &profiles[i];
	qsort(sorted, count, sizeof(*sorted), by_rank);
	putchar('\n');
	struct layout_table *table = layout_table(layout, HP_LEN(layout));
	for (size_t i = 0; i < count; i++) {
		int64_t columns[COLUMNS];

		columns_of(sorted[i], columns);
		show_row(table,
			 sorted[i]->process.rank != NULL ? show_text(sorted[i]->process.rank, 8)
							 : "-",
			 columns);
		for (int column = 0; column < COLUMNS; column++) {
			sum[column] = profile_add(sum[column], columns[column]);
			if (i == 0 || columns[column] < least[column])
				least[column] = columns[column];
			if (columns[column] > most[column])
				most[column] = columns[column];
		}
	}
	for (int column = 0; column < COLUMNS; column++) {
		mean[column] = sum[column] < 0 ? UNKNOWN : sum[column] / (int64_t)count;
		if (sum[column] < 0)
			least[column] = most[column] = UNKNOWN;
	}
	show_row(table, "min", least);
	show_row(table, "mean", mean);
	show_row(table, "max", most);
	/* The excess of the slowest rank over the mean. */
	layout_cell(table, "  uneven");
	for (int column = 0; column < COLUMNS; column++)
		layout_cell(table, "%s",
			    mean[column] > 0 ? show_share(most[column] - mean[column], mean[column])
					     : "-");
	layout_row(table);
	layout_print(table, true);
	layout_say(2, "  uneven: how far max is above mean.");
	free(sorted);
}
