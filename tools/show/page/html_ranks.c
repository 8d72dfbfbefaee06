/*
 * html_ranks.c - compares the ranks of one run: the most uneven state, and ranks that others wait
 * for.
 */
#include "show/page/html.h"
#include "show/page/page.h"
#include "profile/texts.h"
#include "tables/table.h"
#include "base/parse.h"

#include <stdlib.h>
#include <string.h>

/* The figures that are compared between ranks. */
enum { WALL, PARTS, FIGURES = PARTS + TEXT_PARTS };

struct spread {
	int64_t least, median, most;
	const struct profile *of_least, *of_most;
};

static int64_t figure_of(const struct profile *profile, int figure)
{
	if (figure == WALL)
		return profile->wall_ns;
	return text_part_ns(&profile->split, figure - PARTS);
}

static const char *figure_name(int figure)
{
	return figure == WALL ? "wall time" : text_parts[figure - PARTS].title;
}

static int by_number(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static struct spread spread_of(const struct compare_stage *stage, int figure, int64_t *room)
{
	struct spread spread = { 0 };
	const struct profile *least = stage->runs[0], *most = stage->runs[0];

	for (size_t i = 0; i < stage->run_count; i++) {
		const struct profile *run = stage->runs[i];

		room[i] = figure_of(run, figure);
		if (room[i] < figure_of(least, figure))
			least = run;
		if (room[i] > figure_of(most, figure))
			most = run;
	}
	qsort(room, stage->run_count, sizeof(*room), by_number);
	spread.least = figure_of(least, figure);
	spread.most = figure_of(most, figure);
	spread.median = room[stage->run_count / 2];
	spread.of_least = least;
	spread.of_most = most;
	return spread;
}

const struct profile *html_slowest(const struct compare_stage *stage)
{
	const struct profile *slowest = stage->runs[0];

	for (size_t i = 1; i < stage->run_count; i++)
		if (stage->runs[i]->wall_ns > slowest->wall_ns)
			slowest = stage->runs[i];
	return slowest;
}

/* Ranks are text; numbers among them are sorted as numbers. */
static int by_rank(const void *left, const void *right)
{
	const struct profile *a = *(const struct profile *const *)left,
			     *b = *(const struct profile *const *)right;
	int length = (int)strlen(a->process.rank) - (int)strlen(b->process.rank);

	return length != 0 ? length : strcmp(a->process.rank, b->process.rank);
}

/*
 * Returns tenths of the range from least to most; 0 if all ranks are within 1 % of the wall time.
 */
static int heat(const struct profile *run, const struct spread *spread, int figure)
{
	int64_t apart = spread->most - spread->least;

	if (apart <= 0 || (__int128_t)apart * 100 < run->wall_ns)
		return 0;
	return (int)((__int128_t)(figure_of(run, figure) - spread->least) * 10 / apart);
}

static bool is_shown(const struct spread *spreads, int part)
{
	return spreads[PARTS + part].most > 0;
}

static void tile(FILE *to, const struct profile *run, const struct spread *spreads,
		 const struct profile *slowest)
{
	int rows = 0, row = 0;

	for (int part = 0; part < TEXT_PARTS; part++)
		rows += is_shown(spreads, part);
	fprintf(to,
		"<li%s><svg role=\"img\" viewBox=\"0 0 1 %d\" preserveAspectRatio=\"none\" "
		"aria-label=\"wall time %s",
		run == slowest ? " class=\"slowest\"" : "", rows > 0 ? rows : 1,
		text_time(run->wall_ns));
	for (int part = 0; part < TEXT_PARTS; part++)
		if (is_shown(spreads, part))
			fprintf(to, "; %s %s", text_parts[part].title,
				text_time(text_part_ns(&run->split, part)));
	fputs("\">", to);
	for (int part = 0; part < TEXT_PARTS; part++)
		if (is_shown(spreads, part))
			fprintf(to,
				"<rect class=\"%s\" fill-opacity=\"%.2f\" x=\"0\" y=\"%d\" "
				"width=\"1\" height=\"1\"/>",
				page_part_kinds[part],
				0.1 + 0.09 * heat(run, &spreads[PARTS + part], PARTS + part),
				row++);
	fputs("</svg>", to);
	page_text(to, text_name(run->process.rank, 8));
	fputs("</li>\n", to);
}

static void strip(FILE *to, const struct compare_stage *stage, const struct spread *spreads)
{
	const struct profile *slowest = html_slowest(stage);

	fputs("<ul class=\"ranks\">\n", to);
	for (size_t i = 0; i < stage->run_count; i++)
		tile(to, stage->runs[i], spreads, slowest);
	fputs("</ul>\n<ul class=\"legend\">\n", to);
	for (int part = 0; part < TEXT_PARTS; part++)
		if (is_shown(spreads, part))
			page_swatch(to, page_part_kinds[part], text_parts[part].title);
	fputs("</ul>\n", to);
	page_element(
		to, "p class=\"soft\"",
		"A tile is a rank, with a row for each state: full color where the rank has the "
		"most of it, pale where it has the least or where ranks are less than 1 % of the "
		"wall time apart. The slowest rank is framed.");
}

static const struct table_column columns[] = {
	{ NULL, "State", TABLE_TEXT },   { NULL, "Least", TABLE_TIME },
	{ NULL, "of rank", TABLE_TEXT }, { NULL, "Median", TABLE_TIME },
	{ NULL, "Most", TABLE_TIME },    { NULL, "of rank", TABLE_TEXT },
	{ NULL, "Spread", TABLE_TIME },
};

static void fill_spread(struct table_rows *rows, struct profile *profile)
{
	const struct spread *spreads = table_with(rows);

	(void)profile;
	for (int figure = 0; figure < FIGURES; figure++) {
		const struct spread *spread = &spreads[figure];
		const struct table_cell cells[] = {
			table_text(figure_name(figure)),
			table_number(spread->least),
			table_text(spread->of_least->process.rank),
			table_number(spread->median),
			table_number(spread->most),
			table_text(spread->of_most->process.rank),
			table_number(spread->most - spread->least),
		};

		if (spread->most > 0)
			table_add(rows, NULL, cells, HP_LEN(cells));
	}
}

static const struct table spread_table = {
	.columns = columns,
	.count = HP_LEN(columns),
	.fill = fill_spread,
};

/*
 * Names the most uneven state of work.  A rank with less of that work waits, which appears as host
 * code.
 */
static void say_who_waits(FILE *to, const struct spread *spreads)
{
	const struct spread *work = NULL;
	int figure = 0;

	for (int part = 1; part < TEXT_PARTS; part++) {
		const struct spread *spread = &spreads[PARTS + part];

		if (work == NULL || spread->most - spread->least > work->most - work->least) {
			work = spread;
			figure = PARTS + part;
		}
	}
	if (work->least < 0 || (work->most - work->least) < spreads[WALL].median / 100)
		return;
	int64_t host_ns = work->of_most->split.host_ns;

	fprintf(to, "<p>Most uneven: %s. Rank ", figure_name(figure));
	page_text(to, text_name(work->of_most->process.rank, 8));
	fprintf(to, " has %s, the median is %s.", text_time(work->most), text_time(work->median));
	if (host_ns < spreads[PARTS].median)
		fprintf(to,
			" It has %s less host code than the median, so other ranks may wait for "
			"it.",
			text_time(spreads[PARTS].median - host_ns));
	fputs("</p>\n", to);
}

void html_ranks(FILE *to, const struct compare_stage *stage)
{
	struct spread spreads[FIGURES];
	int64_t *room = calloc(stage->run_count, sizeof(*room));

	if (room == NULL)
		return;
	qsort(stage->runs, stage->run_count, sizeof(*stage->runs), by_rank);
	for (int figure = 0; figure < FIGURES; figure++)
		spreads[figure] = spread_of(stage, figure, room);
	free(room);
	page_section(to, "ranks", NULL);
	fprintf(to, "<p>%zu ranks. The slowest is rank ", stage->run_count);
	page_text(to, text_name(html_slowest(stage)->process.rank, 8));
	fprintf(to, " with %s: its sections follow.</p>\n", text_time(spreads[WALL].most));
	say_who_waits(to, spreads);
	strip(to, stage, spreads);
	table_page(to, &spread_table, html_slowest(stage), spreads, false);
	page_section_end(to);
}
