/*
 * html_ranks.c - compares the ranks of one run: the most uneven state, and ranks that others wait
 * for.
 */
#include "show/page/html.h"
#include "show/page/table_page.h"
#include "show/page/page.h"
#include "profile/texts.h"
#include "analyze/ranks.h"
#include "tables/tables.h"

/*
 * Returns tenths of the range from least to most; 0 if all ranks are within 1 % of the wall time.
 */
static int heat(const struct profile *run, const struct ranks_spread *spread, int figure)
{
	int64_t apart = spread->most - spread->least;

	if (apart <= 0 || (__int128_t)apart * 100 < run->wall_ns)
		return 0;
	return (int)((__int128_t)(ranks_figure(run, figure) - spread->least) * 10 / apart);
}

static bool is_shown(const struct ranks_spread *spreads, int part)
{
	return spreads[RANKS_PARTS + part].most > 0;
}

static void tile(FILE *to, const struct profile *run, const struct ranks_spread *spreads,
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
				0.1 + 0.09 * heat(run, &spreads[RANKS_PARTS + part],
						  RANKS_PARTS + part),
				row++);
	fputs("</svg>", to);
	page_text(to, text_name(run->process.rank, 8));
	fputs("</li>\n", to);
}

static void strip(FILE *to, const struct ranks *ranks)
{
	fputs("<ul class=\"ranks\">\n", to);
	for (size_t i = 0; i < ranks->count; i++)
		tile(to, ranks->runs[i], ranks->spreads, ranks->slowest);
	fputs("</ul>\n<ul class=\"legend\">\n", to);
	for (int part = 0; part < TEXT_PARTS; part++)
		if (is_shown(ranks->spreads, part))
			page_swatch(to, page_part_kinds[part], text_parts[part].title);
	fputs("</ul>\n", to);
	page_element(
		to, "p class=\"soft\"",
		"A tile is a rank, with a row for each state: full color where the rank has the "
		"most of it, pale where it has the least or where ranks are less than 1 % of the "
		"wall time apart. The slowest rank is framed.");
}

/*
 * Names the most uneven state of work.  A rank with less of that work waits, which appears as host
 * code.
 */
static void say_who_waits(FILE *to, const struct ranks_spread *spreads)
{
	const struct ranks_spread *work = NULL;
	int figure = 0;

	for (int part = 1; part < TEXT_PARTS; part++) {
		const struct ranks_spread *spread = &spreads[RANKS_PARTS + part];

		if (work == NULL || spread->most - spread->least > work->most - work->least) {
			work = spread;
			figure = RANKS_PARTS + part;
		}
	}
	if (work->least < 0 || (work->most - work->least) < spreads[RANKS_WALL].median / 100)
		return;
	int64_t host_ns = work->of_most->split.host_ns;

	fprintf(to, "<p>Most uneven: %s. Rank ", ranks_figure_name(figure));
	page_text(to, text_name(work->of_most->process.rank, 8));
	fprintf(to, " has %s, the median is %s.", text_time(work->most), text_time(work->median));
	if (host_ns < spreads[RANKS_PARTS].median)
		fprintf(to,
			" It has %s less host code than the median, so other ranks may wait for "
			"it.",
			text_time(spreads[RANKS_PARTS].median - host_ns));
	fputs("</p>\n", to);
}

void html_ranks(FILE *to, const struct compare_stage *stage)
{
	struct ranks ranks;

	if (!ranks_compare(stage->runs, stage->run_count, &ranks))
		return;
	page_section(to, "ranks", NULL);
	fprintf(to, "<p>%zu ranks. The slowest is rank ", ranks.count);
	page_text(to, text_name(ranks.slowest->process.rank, 8));
	fprintf(to, " with %s: its sections follow.</p>\n", text_time(ranks.slowest->wall_ns));
	say_who_waits(to, ranks.spreads);
	strip(to, &ranks);
	table_page(to, &table_rank_spread, ranks.slowest, &ranks, NULL);
	page_section_end(to);
}
