/*
 * page_drawings.c - draws stages and ranks.
 *
 * A drawing is as wide as the screen allows, so all text but that of the scale is outside of it.
 */
#include "show/page/page_drawings.h"
#include "show/page/page.h"
#include "profile/texts.h"

#define LABEL_MOST 60
/* A scale from 0 to the longest wall time, with lines at its quarters. */
enum { HEIGHT = 240, TOP = 12 };
enum { WALL = -1 }; /* a part: all of a stage whose states are not known */

struct drawing {
	FILE *to;
	int64_t most_ns;
};

static int64_t part_ns(const struct profile *run, int part)
{
	int64_t ns = part == WALL ? run->wall_ns : text_state_ns(&run->split, part);

	return ns > 0 ? ns : 0;
}

static void put(FILE *to, const char *text)
{
	page_text(to, text_name(text, LABEL_MOST));
}

/* Explains the colors of the states that are in the drawing. */
static void legend(FILE *to, const int64_t *most_ns, const char *explained)
{
	fputs("<ul class=\"legend\">\n", to);
	for (int part = 0; part < TEXT_STATES; part++)
		if (most_ns[part] > 0)
			page_swatch(to, text_states[part].field, text_states[part].title);
	fputs("</ul>\n", to);
	page_soft(to, explained);
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

static void cell_begin(const struct drawing *drawing, const char *what, const char *stage,
		       const char *figure)
{
	fprintf(drawing->to,
		"<div><svg role=\"img\" viewBox=\"0 0 100 %d\" preserveAspectRatio=\"none\" "
		"aria-label=\"%s",
		HEIGHT, what);
	put(drawing->to, stage);
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
static void stage(const struct drawing *drawing, const struct comparison *comparison, size_t at)
{
	const struct compare_stage *of = &comparison->stages[at];
	const struct profile *run = of->profile;
	struct table_cell predicted = compare_predicted(comparison, at);
	double low = y_of(drawing, (double)of->walls.least),
	       high = y_of(drawing, (double)of->walls.most), level = 0;
	int part = profile_has_split(run) ? 0 : WALL, end = part == WALL ? 0 : TEXT_STATES;

	cell_begin(drawing, "", run->stage, text_time(run->wall_ns));
	for (; part < end; part++) {
		int64_t ns = part_ns(run, part);

		if (ns > 0)
			draw(drawing, &(struct block){ 12, 76, level, level + (double)ns, false },
			     part, text_time(ns));
		level += (double)ns;
	}
	if (high < low)
		fprintf(drawing->to,
			"<path class=\"mark\" d=\"M90 %.1fH98M94 %.1fV%.1fM90 %.1fH98\"/>", high,
			high, low, low);
	if (predicted.value > 0)
		fprintf(drawing->to, "<path class=\"mark predicted\" d=\"M2 %.1fH98\"/>",
			y_of(drawing, (double)predicted.value));
	fprintf(drawing->to, "</svg><p><b>%s</b></p><p>", text_time(run->wall_ns));
	put(drawing->to, run->stage);
	if (predicted.value > 0) {
		fputs("</p><p class=\"soft\">predicted <span>", drawing->to);
		put(drawing->to, text_made("%s%s", predicted.text, text_time(predicted.value)));
		fputs("</span>", drawing->to);
	}
	fputs("</p></div>\n", drawing->to);
}

/* Draws the change of each state from the previous stage to this one. */
static void bridge(const struct drawing *drawing, const struct compare_step *step)
{
	const struct profile *before = step->before->profile, *after = step->after->profile;
	const char *change = text_change(before->wall_ns, after->wall_ns);
	double level = (double)before->wall_ns, noise_ns = level * step->noise_tenths / 1000;
	bool has_parts = profile_has_split(before) && profile_has_split(after);
	int from = has_parts ? 0 : WALL, end = has_parts ? TEXT_STATES : 0, count = 0, at = 0;

	cell_begin(drawing, "change to ", after->stage, change);
	for (int part = from; part < end; part++)
		count += part_ns(before, part) != part_ns(after, part);
	for (int part = from; part < end; part++) {
		int64_t was_ns = part_ns(before, part), is_ns = part_ns(after, part);
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
	put(drawing->to, compare_change(before->wall_ns, after->wall_ns, step->noise_tenths));
	fputs("</p></div>\n", drawing->to);
}

void page_stages(FILE *to, const struct comparison *comparison)
{
	struct drawing drawing = { .to = to, .most_ns = 1 };
	int64_t most_ns[TEXT_STATES] = { 0 };

	for (size_t i = 0; i < comparison->count; i++) {
		const struct compare_stage *of = &comparison->stages[i];
		int64_t longest_ns = of->walls.most > of->profile->wall_ns ? of->walls.most
									   : of->profile->wall_ns;

		drawing.most_ns = longest_ns > drawing.most_ns ? longest_ns : drawing.most_ns;
		for (int part = 0; part < TEXT_STATES && profile_has_split(of->profile); part++)
			most_ns[part] |= part_ns(of->profile, part);
	}
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"wall time by "
	      "stage\"><div class=\"stages\">\n",
	      to);
	scale(&drawing);
	for (size_t i = 0; i < comparison->count; i++) {
		if (i > 0) {
			struct compare_step step = compare_step(comparison, i - 1, i);

			bridge(&drawing, &step);
		}
		stage(&drawing, comparison, i);
	}
	fputs("</div></div>\n", to);
	legend(to, most_ns,
	       "Between two columns: the change by state, hatched if it is within the noise. "
	       "Line with caps: the shortest and the longest repeat. Dashed line: what the "
	       "previous stage predicted.");
}

/* Draws a rank: a row for each state that any rank has. */
static void tile(FILE *to, const struct profile *run, const struct ranks_spread *states,
		 bool is_slowest)
{
	int height = 0, y = 0;

	for (int part = 0; part < TEXT_STATES; part++)
		height += states[part].most > 0;
	fprintf(to,
		"<li%s><svg role=\"img\" viewBox=\"0 0 1 %d\" preserveAspectRatio=\"none\" "
		"aria-label=\"wall time %s",
		is_slowest ? " class=\"slowest\"" : "", height > 0 ? height : 1,
		text_time(run->wall_ns));
	for (int part = 0; part < TEXT_STATES; part++)
		if (states[part].most > 0)
			fprintf(to, "; %s %s", text_states[part].title,
				text_time(part_ns(run, part)));
	fputs("\">", to);
	for (int part = 0; part < TEXT_STATES; part++) {
		int64_t least_ns = states[part].least > 0 ? states[part].least : 0;
		double apart = (double)(states[part].most - least_ns);
		bool is_even = apart * 100 < (double)run->wall_ns || apart == 0;
		double heat = (double)(part_ns(run, part) - least_ns);

		if (states[part].most > 0)
			fprintf(to,
				"<rect class=\"%s\" fill-opacity=\"%.2f\" y=\"%d\" width=\"1\" "
				"height=\"1\"/>",
				text_states[part].field, 0.1 + (is_even ? 0 : 0.9 * heat / apart),
				y++);
	}
	fputs("</svg>", to);
	put(to, run->process.rank);
	fputs("</li>\n", to);
}

void page_ranks(FILE *to, const struct ranks *ranks)
{
	const struct ranks_spread *states = &ranks->spreads[RANKS_STATES];
	int64_t most_ns[TEXT_STATES];

	for (int part = 0; part < TEXT_STATES; part++)
		most_ns[part] = states[part].most;
	fputs("<ul class=\"ranks\">\n", to);
	for (size_t i = 0; i < ranks->count; i++)
		tile(to, ranks->runs[i], states,
		     ranks->runs[i]->wall_ns == ranks->spreads[RANKS_WALL].most);
	fputs("</ul>\n", to);
	legend(to, most_ns,
	       "A tile is a rank, with a row for each state: full color where the rank has the "
	       "most of it, pale where it has the least or where ranks are less than 1 % of the "
	       "wall time apart. The slowest rank is framed.");
}
