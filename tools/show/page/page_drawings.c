/*
 * page_drawings.c - draws stages and ranks from the rows of their tables.
 *
 * A drawing is as wide as the screen allows, so all text but that of the scale is outside of it.
 */
#include "show/page/table_page.h"
#include "profile/texts.h"

#define LABEL_MOST 60
/* A scale from 0 to the longest wall time, with lines at its quarters. */
enum { HEIGHT = 240, TOP = 12 };
enum { WALL = -1 }; /* a part: all of a stage whose states are not known */

struct drawing {
	const struct table_rows *rows;
	FILE *to;
	int64_t most_ns;
};

static int64_t value_of(const struct table_rows *rows, size_t row, const char *column)
{
	return page_cell(rows, row, column)->value;
}

/* Writes the text of a cell. */
static void put(const struct table_rows *rows, size_t row, const char *column)
{
	size_t i = table_column(rows->table, column);

	page_text(rows->to, text_name(table_cell_text(rows, &rows->table->columns[i],
						      page_cell(rows, row, column), LABEL_MOST),
				      LABEL_MOST));
}

static const struct profile_split *split_of(const struct table_rows *rows, size_t row)
{
	return page_cell(rows, row, "Drawing")->split;
}

static int64_t part_ns(const struct table_rows *rows, size_t row, int part)
{
	const struct profile_split *split = split_of(rows, row);
	int64_t ns = part == WALL ? value_of(rows, row, "Wall") : 0;

	if (part != WALL && split != NULL)
		ns = text_state_ns(split, part);
	return ns > 0 ? ns : 0;
}

static int64_t most_of(const struct table_rows *rows, int part)
{
	int64_t most = 0;

	for (size_t i = 0; i < rows->count; i++)
		if (part_ns(rows, i, part) > most)
			most = part_ns(rows, i, part);
	return most;
}

static void legend(const struct table_rows *rows, const char *explained)
{
	fputs("<ul class=\"legend\">\n", rows->to);
	for (int part = 0; part < TEXT_STATES; part++)
		if (most_of(rows, part) > 0)
			page_swatch(rows->to, text_states[part].field, text_states[part].title);
	fputs("</ul>\n", rows->to);
	page_soft(rows->to, explained);
}

static double y_of(const struct drawing *drawing, double ns)
{
	return HEIGHT - ns / (double)drawing->most_ns * (HEIGHT - TOP);
}

static void scale(const struct drawing *drawing)
{
	fprintf(drawing->to, "<div class=\"scale\"><svg aria-hidden=\"true\" height=\"%d\">",
		HEIGHT);
	for (int quarter = 0; quarter <= 4; quarter++) {
		int64_t ns = (int64_t)((__int128_t)drawing->most_ns * quarter / 4);

		fprintf(drawing->to, "<text x=\"46\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
			y_of(drawing, (double)ns) - 2, ns > 0 ? text_time(ns) : "0");
	}
	fputs("</svg></div>\n", drawing->to);
}

static void cell_begin(const struct drawing *drawing, size_t row, const char *what,
		       const char *figure)
{
	fprintf(drawing->to,
		"<div><svg role=\"img\" viewBox=\"0 0 100 %d\" preserveAspectRatio=\"none\" "
		"aria-label=\"%s",
		HEIGHT, what);
	put(drawing->rows, row, "Stage");
	fprintf(drawing->to, ": %s\"><path class=\"axis\" d=\"", figure);
	for (int quarter = 0; quarter <= 4; quarter++)
		fprintf(drawing->to, "M0 %dH100", HEIGHT - quarter * (HEIGHT - TOP) / 4);
	fputs("\"/>", drawing->to);
}

struct block {
	double x, width, from_ns, end_ns;
	bool is_noise;
};

/* Draws a part of a stage, or its change, hatched if that is within the noise. */
static void draw(const struct drawing *drawing, const struct block *block, int part,
		 const char *figure)
{
	double from = y_of(drawing, block->from_ns), end = y_of(drawing, block->end_ns);
	double top = from < end ? from : end, tall = from < end ? end - from : from - end;

	tall = tall > 1 ? tall : 1;
	if (block->is_noise)
		fprintf(drawing->to,
			"<path class=\"hatch\" d=\"M%.1f %.1fh%.1f\" stroke-width=\"%.1f\">",
			block->x, top + tall / 2, block->width, tall);
	else
		fprintf(drawing->to,
			"<rect class=\"%s\" x=\"%.1f\" width=\"%.1f\" y=\"%.1f\" height=\"%.1f\">",
			part == WALL ? "mark" : text_states[part].field, block->x, block->width,
			top, tall);
	fprintf(drawing->to, "<title>%s: %s%s</title></%s>",
		part == WALL ? "wall time" : text_states[part].title, figure,
		block->is_noise ? ", within the noise" : "", block->is_noise ? "path" : "rect");
}

/* Draws the states of a stage, the range of its repeats, and what was predicted. */
static void stage(const struct drawing *drawing, size_t row)
{
	const struct table_rows *rows = drawing->rows;
	int64_t predicted_ns = value_of(rows, row, "Predicted");
	double low = y_of(drawing, (double)value_of(rows, row, "Min")),
	       high = y_of(drawing, (double)value_of(rows, row, "Max")), level = 0;
	int part = split_of(rows, row) != NULL ? 0 : WALL, end = part == WALL ? 0 : TEXT_STATES;

	cell_begin(drawing, row, "", text_time(part_ns(rows, row, WALL)));
	for (; part < end; part++) {
		int64_t ns = part_ns(rows, row, part);

		if (ns > 0)
			draw(drawing, &(struct block){ 12, 76, level, level + (double)ns, false },
			     part, text_time(ns));
		level += (double)ns;
	}
	if (high < low)
		fprintf(drawing->to,
			"<path class=\"mark\" d=\"M90 %.1fH98M94 %.1fV%.1fM90 %.1fH98\"/>", high,
			high, low, low);
	if (predicted_ns > 0)
		fprintf(drawing->to, "<path class=\"mark predicted\" d=\"M2 %.1fH98\"/>",
			y_of(drawing, (double)predicted_ns));
	fprintf(drawing->to, "</svg><p><b>%s</b></p><p>", text_time(part_ns(rows, row, WALL)));
	put(rows, row, "Stage");
	if (predicted_ns > 0) {
		fputs("</p><p class=\"soft\">predicted <span>", drawing->to);
		put(rows, row, "Predicted");
		fputs("</span>", drawing->to);
	}
	fputs("</p></div>\n", drawing->to);
}

/* Draws the change of each state from the previous stage to this one. */
static void bridge(const struct drawing *drawing, size_t row)
{
	const struct table_rows *rows = drawing->rows;
	const char *change = text_change(part_ns(rows, row - 1, WALL), part_ns(rows, row, WALL));
	double level = (double)part_ns(rows, row - 1, WALL);
	double noise_ns = level * (double)value_of(rows, row, "noise_tenths_of_a_percent") / 1000;
	bool has_parts = split_of(rows, row - 1) != NULL && split_of(rows, row) != NULL;
	int from = has_parts ? 0 : WALL, end = has_parts ? TEXT_STATES : 0, count = 0, at = 0;

	cell_begin(drawing, row, "change to ", change);
	for (int part = from; part < end; part++)
		count += part_ns(rows, row - 1, part) != part_ns(rows, row, part);
	for (int part = from; part < end; part++) {
		int64_t was_ns = part_ns(rows, row - 1, part), is_ns = part_ns(rows, row, part);
		double next = level + (double)is_ns - (double)was_ns;

		if (was_ns == is_ns)
			continue;
		draw(drawing,
		     &(struct block){ 100.0 * at++ / count, 100.0 / count, level, next,
				      next - level <= noise_ns && level - next <= noise_ns },
		     part, text_change(was_ns, is_ns));
		level = next;
	}
	fprintf(drawing->to, "</svg><p><span>%s</span></p><p class=\"soft\">", change);
	put(rows, row, "Change");
	fputs("</p></div>\n", drawing->to);
}

void page_stages(const struct table_rows *rows)
{
	struct drawing drawing = { rows, rows->to, most_of(rows, WALL) };

	for (size_t i = 0; i < rows->count; i++)
		if (value_of(rows, i, "Max") > drawing.most_ns)
			drawing.most_ns = value_of(rows, i, "Max");
	drawing.most_ns += drawing.most_ns == 0;
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"wall time by "
	      "stage\"><div class=\"stages\">\n",
	      rows->to);
	scale(&drawing);
	for (size_t i = 0; i < rows->count; i++) {
		if (i > 0)
			bridge(&drawing, i);
		stage(&drawing, i);
	}
	fputs("</div></div>\n", rows->to);
	legend(rows, "Between two columns: the change by state, hatched if it is within the noise. "
		     "Line with caps: the shortest and the longest repeat. Dashed line: what the "
		     "previous stage predicted.");
}

/* Draws a rank: a row for each state that any rank has. */
static void tile(const struct table_rows *rows, size_t row, const int64_t *least,
		 const int64_t *most, bool is_slowest)
{
	int height = 0, y = 0;

	for (int part = 0; part < TEXT_STATES; part++)
		height += most[part] > 0;
	fprintf(rows->to,
		"<li%s><svg role=\"img\" viewBox=\"0 0 1 %d\" preserveAspectRatio=\"none\" "
		"aria-label=\"wall time %s",
		is_slowest ? " class=\"slowest\"" : "", height > 0 ? height : 1,
		text_time(part_ns(rows, row, WALL)));
	for (int part = 0; part < TEXT_STATES; part++)
		if (most[part] > 0)
			fprintf(rows->to, "; %s %s", text_states[part].title,
				text_time(part_ns(rows, row, part)));
	fputs("\">", rows->to);
	for (int part = 0; part < TEXT_STATES; part++) {
		double apart = (double)(most[part] - least[part]);
		bool is_even = apart * 100 < (double)part_ns(rows, row, WALL) || apart == 0;
		double heat = (double)(part_ns(rows, row, part) - least[part]);

		if (most[part] > 0)
			fprintf(rows->to,
				"<rect class=\"%s\" fill-opacity=\"%.2f\" y=\"%d\" width=\"1\" "
				"height=\"1\"/>",
				text_states[part].field, 0.1 + (is_even ? 0 : 0.9 * heat / apart),
				y++);
	}
	fputs("</svg>", rows->to);
	put(rows, row, "Rank");
	fputs("</li>\n", rows->to);
}

void page_ranks(const struct table_rows *rows)
{
	int64_t least[TEXT_STATES], most[TEXT_STATES], longest_ns = most_of(rows, WALL);

	for (int part = 0; part < TEXT_STATES; part++) {
		least[part] = most[part] = most_of(rows, part);
		for (size_t i = 0; i < rows->count; i++)
			if (part_ns(rows, i, part) < least[part])
				least[part] = part_ns(rows, i, part);
	}
	fputs("<ul class=\"ranks\">\n", rows->to);
	for (size_t i = 0; i < rows->count; i++)
		tile(rows, i, least, most, part_ns(rows, i, WALL) == longest_ns);
	fputs("</ul>\n", rows->to);
	legend(rows, "A tile is a rank, with a row for each state: full color where the rank has "
		     "the most of it, pale where it has the least or where ranks are less than 1 % "
		     "of the wall time apart. The slowest rank is framed.");
}
