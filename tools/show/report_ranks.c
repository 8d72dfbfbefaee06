/*
 * report_ranks.c - prints the ranks of a run as rows of one table.
 */
#include "show/report_ranks.h"
#include "profile/texts.h"
#include "show/layout.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t bus_bytes(const struct profile *profile)
{
	return profile_add(profile_moved(profile, "h2d").bytes,
			   profile_moved(profile, "d2h").bytes);
}

/* The figures that are compared between ranks, in this order. */
enum { WALL, PARTS, BYTES = PARTS + TEXT_PARTS, COLUMNS };

static void columns_of(const struct profile *profile, int64_t ret[COLUMNS])
{
	ret[WALL] = profile->wall_ns;
	for (int part = 0; part < TEXT_PARTS; part++)
		ret[PARTS + part] = text_part_ns(&profile->split, part);
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
			    : column == BYTES    ? text_bytes(columns[column])
						 : text_time(columns[column]));
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

void report_rank_table(const struct profile *profiles, size_t count)
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
			 sorted[i]->process.rank != NULL ? text_name(sorted[i]->process.rank, 8)
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
			    mean[column] > 0 ? text_share(most[column] - mean[column], mean[column])
					     : "-");
	layout_row(table);
	layout_print(table, true);
	layout_say(2, "  uneven: how far max is above mean.");
	free(sorted);
}
