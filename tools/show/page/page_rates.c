/*
 * page_rates.c - the rates of copies as a chart.
 *
 * There is no chart of a single size: it would tell less than the table of copies.
 */
#include "show/page/page_drawings.h"
#include "show/page/page.h"
#include "profile/texts.h"

#include <string.h>

/* Room of the chart in pixels; it must be readable on a screen that is 390 pixels wide. */
enum { WIDTH = 350, HEIGHT = 210, LEFT = 60, RIGHT = 340, TOP = 14, BOTTOM = 176 };

struct chart {
	const struct profile *profile;
	FILE *to;
	int first, last; /* powers of 2 of the sizes */
	int64_t most_ns; /* of a size */
	double most;     /* GB/s */
};

static int power_of(int64_t bytes)
{
	return bytes > 1 ? 63 - __builtin_clzll((unsigned long long)bytes) : 0;
}

static double rate_of(const struct profile_size *size)
{
	return (double)size->bytes / (double)size->busy_ns;
}

/* Calls `act` for each size of a kind of copy that is drawn. */
static void each_point(struct chart *chart,
		       void (*act)(struct chart *chart, const struct profile_transfer *row,
				   const struct profile_size *size))
{
	for (size_t i = 0; i < chart->profile->transfer_count; i++) {
		const struct profile_transfer *row = &chart->profile->transfers[i];

		if (strcmp(row->view, "cupti") != 0 ||
		    (strcmp(row->direction, "h2d") != 0 && strcmp(row->direction, "d2h") != 0))
			continue;
		for (size_t j = 0; j < row->size_count; j++)
			if (row->sizes[j].bytes > 0 && row->sizes[j].busy_ns > 0)
				act(chart, row, &row->sizes[j]);
	}
}

static void measure(struct chart *chart, const struct profile_transfer *row,
		    const struct profile_size *size)
{
	int power = power_of(size->from_bytes);

	(void)row;
	chart->first = power < chart->first ? power : chart->first;
	chart->last = power > chart->last ? power : chart->last;
	chart->most_ns = size->busy_ns > chart->most_ns ? size->busy_ns : chart->most_ns;
	chart->most = rate_of(size) > chart->most ? rate_of(size) : chart->most;
}

static void label(FILE *to, int x, int y, const char *anchor, const char *text)
{
	fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">", x, y, anchor);
	page_text(to, text);
	fputs("</text>\n", to);
}

/* Returns where the middle of a size is. */
static double x_of(const struct chart *chart, int power)
{
	return LEFT +
	       (power - chart->first + 0.5) * (RIGHT - LEFT) / (chart->last - chart->first + 1);
}

/* Draws the point of a size of a kind of copy; more time makes it larger. */
static void point(struct chart *chart, const struct profile_transfer *row,
		  const struct profile_size *size)
{
	fprintf(chart->to,
		"<circle class=\"%s%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" "
		"fill-opacity=\"0.8\"><title>",
		strcmp(row->memory, "pageable") == 0 ? "open " : "", row->direction,
		x_of(chart, power_of(size->from_bytes)),
		BOTTOM - rate_of(size) / chart->most * (BOTTOM - TOP),
		3 + 4 * (double)size->busy_ns / (double)chart->most_ns);
	page_text(chart->to,
		  text_made("%s %s from %s: %s copies, %s GB/s", text_direction(row->direction),
			    text_name(row->memory, 20), text_power(size->from_bytes),
			    text_count(size->count), text_rate(size->bytes, size->busy_ns)));
	fputs("</title></circle>\n", chart->to);
}

static void peak_line(const struct chart *chart, const char *name, int64_t peak)
{
	int y = BOTTOM - (int)((double)peak / 1e9 / chart->most * (BOTTOM - TOP));

	if (peak <= 0)
		return;
	fprintf(chart->to, "<path class=\"peak\" fill=\"none\" d=\"M%d %dH%d\"/>\n", LEFT, y,
		RIGHT);
	/* The left end has room for the label: small copies are slow, so their points are lower. */
	label(chart->to, LEFT + 4, y - 4, "start", name);
}

static void peak_lines(const struct chart *chart)
{
	const struct profile *profile = chart->profile;
	int64_t up = profile->environment.peak_h2d_bytes_per_s;
	int64_t down = profile->environment.peak_d2h_bytes_per_s;
	bool alike = up > 0 && down > 0 && text_is_same(up, down, 50);
	const char *name = text_peak_is_best(profile) ? "best rate of the run" : "peak of the link";

	peak_line(chart, alike ? name : text_made("%s, H2D", name), up);
	if (!alike)
		peak_line(chart, text_made("%s, D2H", name), down);
}

/* The axis of sizes has at most five labels, so that they do not overlap. */
static void axis_labels(const struct chart *chart)
{
	int each = (chart->last - chart->first + 5) / 5;

	label(chart->to, LEFT - 4, TOP + 4, "end",
	      text_made("%.*f", chart->most < 10 ? 1 : 0, chart->most));
	label(chart->to, LEFT - 4, BOTTOM, "end", "0");
	for (int power = chart->first; power <= chart->last; power += each)
		label(chart->to, (int)x_of(chart, power), BOTTOM + 15, "middle",
		      text_power((int64_t)1 << power));
	label(chart->to, (LEFT + RIGHT) / 2, BOTTOM + 31, "middle",
	      "larger: more time; open: pageable");
}

void page_rates(FILE *to, const struct profile *profile)
{
	int64_t up = profile->environment.peak_h2d_bytes_per_s,
		down = profile->environment.peak_d2h_bytes_per_s;
	struct chart chart = { profile, to, .first = 64,
			       .most = (double)(up > down ? up : down) / 1e9 };

	/* The time of a call need not be the time of its copy. */
	if (strcmp(profile_view(profile), "cupti") == 0)
		each_point(&chart, measure);
	if (chart.first >= chart.last)
		return;
	fprintf(to,
		"<figure><figcaption>GB/s by size of copy</figcaption>\n"
		"<svg class=\"chart\" role=\"img\" viewBox=\"0 0 %d %d\" "
		"aria-label=\"GB/s by size of copy\">\n"
		"<path class=\"axis\" fill=\"none\" d=\"M%d %dV%dH%d\"/>\n",
		WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT);
	peak_lines(&chart);
	each_point(&chart, point);
	axis_labels(&chart);
	fputs("</svg>\n<ul class=\"legend\">\n", to);
	page_swatch(to, "h2d", "H2D");
	page_swatch(to, "d2h", "D2H");
	fputs("</ul></figure>\n", to);
}
