/*
 * page_rates.c - the rates of copies as a chart, from the rows of table_sizes.
 *
 * There is no chart of a single size: it would tell less than the table of copies.
 */
#include "show/page/table_page.h"
#include "profile/texts.h"
#include "tables/tables.h"

#include <string.h>

/* Room of the chart in pixels; it must be readable on a screen that is 390 pixels wide. */
enum { WIDTH = 350, HEIGHT = 210, LEFT = 60, RIGHT = 340, TOP = 14, BOTTOM = 176 };

struct chart {
	const struct table_rows *rows;
	FILE *to;
	int first, last; /* powers of 2 of the sizes */
	int64_t most_ns; /* of a size */
	double most;     /* GB/s */
};

static int power_of(int64_t bytes)
{
	return bytes > 1 ? 63 - __builtin_clzll((unsigned long long)bytes) : 0;
}

/* Returns GB/s of a row; 0: it is not drawn. */
static double rate_of(const struct table_rows *rows, size_t row)
{
	const char *direction = page_cell(rows, row, "direction")->text;
	const struct table_cell *rate = page_cell(rows, row, "GB/s");
	bool is_drawn = strcmp(direction, "h2d") == 0 || strcmp(direction, "d2h") == 0;

	return is_drawn && rate->value > 0 ? (double)rate->value / (double)rate->of : 0;
}

static struct chart chart_of(const struct table_rows *rows)
{
	int64_t up = rows->profile->environment.peak_h2d_bytes_per_s;
	int64_t down = rows->profile->environment.peak_d2h_bytes_per_s;
	struct chart chart = { .rows = rows,
			       .to = rows->to,
			       .first = 64,
			       .most = (double)(up > down ? up : down) / 1e9 };

	for (size_t i = 0; i < rows->count; i++) {
		double rate = rate_of(rows, i);
		int power = power_of(page_cell(rows, i, "from_bytes")->value);
		int64_t ns = page_cell(rows, i, "busy_ns")->value;

		if (rate <= 0)
			continue;
		chart.first = power < chart.first ? power : chart.first;
		chart.last = power > chart.last ? power : chart.last;
		chart.most_ns = ns > chart.most_ns ? ns : chart.most_ns;
		chart.most = rate > chart.most ? rate : chart.most;
	}
	return chart;
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
static void point(const struct chart *chart, size_t row)
{
	const char *direction = page_cell(chart->rows, row, "direction")->text;
	const char *memory = page_cell(chart->rows, row, "memory")->text;
	const struct table_cell *rate = page_cell(chart->rows, row, "GB/s");
	int64_t size = page_cell(chart->rows, row, "from_bytes")->value;

	fprintf(chart->to,
		"<circle class=\"%s%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" "
		"fill-opacity=\"0.8\"><title>",
		strcmp(memory, "pageable") == 0 ? "open " : "", direction,
		x_of(chart, power_of(size)),
		BOTTOM - rate_of(chart->rows, row) / chart->most * (BOTTOM - TOP),
		3 + 4 * (double)rate->of / (double)chart->most_ns);
	page_text(chart->to,
		  text_made("%s %s from %s: %s copies, %s GB/s", text_direction(direction),
			    text_name(memory, 20), text_power(size),
			    text_count(page_cell(chart->rows, row, "count")->value),
			    text_rate(rate->value, rate->of)));
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
	const struct profile *profile = chart->rows->profile;
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

void page_rates(const struct table_rows *rows)
{
	struct chart chart = chart_of(rows);

	/* The time of a call need not be the time of its copy. */
	if (chart.first >= chart.last || strcmp(profile_view(rows->profile), "cupti") != 0)
		return;
	fprintf(rows->to,
		"<figure><figcaption>GB/s by size of copy</figcaption>\n"
		"<svg class=\"chart\" role=\"img\" viewBox=\"0 0 %d %d\" "
		"aria-label=\"GB/s by size of copy\">\n"
		"<path class=\"axis\" fill=\"none\" d=\"M%d %dV%dH%d\"/>\n",
		WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT);
	peak_lines(&chart);
	for (size_t i = 0; i < rows->count; i++)
		if (rate_of(rows, i) > 0)
			point(&chart, i);
	axis_labels(&chart);
	fputs("</svg>\n<ul class=\"legend\">\n", rows->to);
	page_swatch(rows->to, "h2d", "H2D");
	page_swatch(rows->to, "d2h", "D2H");
	fputs("</ul></figure>\n", rows->to);
}
