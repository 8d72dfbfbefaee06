/*
 * ranks_compare.c - the least, the median and the most of each state among ranks.
 */
#include "analyze/ranks.h"

#include <stdlib.h>
#include <string.h>

int64_t ranks_figure(const struct profile *profile, int figure)
{
	return figure == RANKS_WALL ? profile->wall_ns
				    : text_part_ns(&profile->split, figure - RANKS_PARTS);
}

const char *ranks_figure_name(int figure)
{
	return figure == RANKS_WALL ? "Wall time" : text_parts[figure - RANKS_PARTS].title;
}

/* Ranks are text; numbers among them are sorted as numbers. */
static int by_rank(const void *left, const void *right)
{
	const struct profile *a = *(const struct profile *const *)left,
			     *b = *(const struct profile *const *)right;
	const char *one = a->process.rank != NULL ? a->process.rank : "",
		   *other = b->process.rank != NULL ? b->process.rank : "";
	int length = (int)strlen(one) - (int)strlen(other);

	return length != 0 ? length : strcmp(one, other);
}

static int by_number(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static void compare_figure(struct ranks *ranks, int figure, int64_t *room)
{
	struct ranks_spread *spread = &ranks->spreads[figure];
	int64_t sum = 0;

	spread->of_least = spread->of_most = ranks->runs[0];
	for (size_t i = 0; i < ranks->count; i++) {
		const struct profile *run = ranks->runs[i];

		room[i] = ranks_figure(run, figure);
		sum = profile_add(sum, room[i]);
		if (room[i] < ranks_figure(spread->of_least, figure))
			spread->of_least = run;
		if (room[i] > ranks_figure(spread->of_most, figure))
			spread->of_most = run;
	}
	qsort(room, ranks->count, sizeof(*room), by_number);
	spread->least = ranks_figure(spread->of_least, figure);
	spread->median = room[ranks->count / 2];
	spread->most = ranks_figure(spread->of_most, figure);
	spread->mean = sum < 0 ? UNKNOWN : sum / (int64_t)ranks->count;
}

bool ranks_compare(const struct profile **runs, size_t count, struct ranks *ret)
{
	int64_t *room = calloc(count, sizeof(*room));

	if (room == NULL)
		return false;
	*ret = (struct ranks){ runs, count, .slowest = ranks_slowest(runs, count) };
	qsort(runs, count, sizeof(*runs), by_rank);
	for (int figure = 0; figure < RANKS_FIGURES; figure++)
		compare_figure(ret, figure, room);
	free(room);
	return true;
}

const struct profile *ranks_slowest(const struct profile *const *runs, size_t count)
{
	const struct profile *slowest = runs[0];

	for (size_t i = 1; i < count; i++)
		if (runs[i]->wall_ns > slowest->wall_ns)
			slowest = runs[i];
	return slowest;
}
