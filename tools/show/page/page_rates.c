/*
 * page_rates.c - the rates of copies as a chart.
 *
 * There is no chart of a single size: it would tell less than the table of copies.
 */
#include "show/page/page.h"
#include "profile/texts.h"

#include <string.h>

/* Room of the chart in pixels; it must be readable on a screen that is 390 pixels wide. */
enum { WIDTH = 350, HEIGHT = 210, LEFT = 60, RIGHT = 340, TOP = 14, BOTTOM = 176 };

#define BINS 48 /* by powers of 2, up to 128 TiB */

static int bin_of(int64_t bytes)
{
	int bin = 0;

	while (bytes > 1 && bin < BINS - 1) {
		bytes >>= 1;
		bin++;
	}
	return bin;
}

struct bins {
	int first, last; /* the first and last bin that are not empty */
	int64_t most_ns; /* of a size */
};

/* The time of a call need not be the time of its copy. */
static bool is_timed(const struct profile_transfer *row)
{
	return strcmp(row->view, "cupti") == 0 &&
	       (strcmp(row->direction, "h2d") == 0 || strcmp(row->direction, "d2h") == 0);
}

static bool fill_bins(const struct profile *profile, struct bins *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->first = BINS;
	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		if (!is_timed(row))
			continue;
		for (size_t j = 0; j < row->size_count; j++) {
			int bin = bin_of(row->sizes[j].from_bytes);
			int64_t ns = row->sizes[j].busy_ns;

			if (ns < 0)
				continue;
			ret->most_ns = ns > ret->most_ns ? ns : ret->most_ns;
			ret->first = bin < ret->first ? bin : ret->first;
			ret->last = bin > ret->last ? bin : ret->last;
		}
	}
	return ret->most_ns > 0 && ret->first < ret->last;
}

static void label(FILE *to, int x, int y, const char *anchor, const char *text)
{
	fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">", x, y, anchor);
	page_text(to, text);
	fputs("</text>\n", to);
}

static double rate(int64_t bytes, int64_t ns)
{
	return bytes > 0 && ns > 0 ? (double)bytes / (double)ns : 0;
}

static double most_rate(const struct profile *profile)
{
	double most = (double)profile->environment.peak_h2d_bytes_per_s / 1e9;

	if ((double)profile->environment.peak_d2h_bytes_per_s / 1e9 > most)
		most = (double)profile->environment.peak_d2h_bytes_per_s / 1e9;
	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		if (!is_timed(row))
			continue;
		for (size_t j = 0; j < row->size_count; j++)
			if (rate(row->sizes[j].bytes, row->sizes[j].busy_ns) > most)
				most = rate(row->sizes[j].bytes, row->sizes[j].busy_ns);
	}
	return most;
}

/* Draws a point for each size of each kind of copy; more time makes it larger. */
static void rate_points(FILE *to, const struct profile_transfer *row, const struct bins *bins,
			double most)
{
	int count = bins->last - bins->first + 1;

	for (size_t i = 0; i < row->size_count; i++) {
		const struct profile_size *size = &row->sizes[i];
		double height = rate(size->bytes, size->busy_ns) / most * (BOTTOM - TOP);
		double area = (double)size->busy_ns / (double)bins->most_ns;

		if (height <= 0)
			continue;
		fprintf(to,
			"<circle class=\"%s%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" "
			"fill-opacity=\"0.8\"><title>",
			strcmp(row->memory, "pageable") == 0 ? "open " : "",
			strcmp(row->direction, "d2h") == 0 ? "d2h" : "h2d",
			LEFT + (bin_of(size->from_bytes) - bins->first + 0.5) * (RIGHT - LEFT) /
					count,
			BOTTOM - height, 3 + 4 * (area < 1 ? area : 1));
		page_text(to, text_direction(row->direction));
		fputc(' ', to);
		page_text(to, text_name(row->memory, 20));
		fprintf(to, " from %s: %s copies, %s GB/s</title></circle>\n",
			text_power(size->from_bytes), text_count(size->count),
			text_rate(size->bytes, size->busy_ns));
	}
}

static void peak_line(FILE *to, const char *name, int64_t peak, double most)
{
	int y = BOTTOM - (int)((double)peak / 1e9 / most * (BOTTOM - TOP));

	if (peak <= 0)
		return;
	fprintf(to, "<path class=\"peak\" fill=\"none\" d=\"M%d %dH%d\"/>\n", LEFT, y, RIGHT);
	/* The left end has room for the label: small copies are slow, so their points are lower. */
	label(to, LEFT + 4, y - 4, "start", name);
}

static void peak_lines(FILE *to, const struct profile *profile, double most)
{
	int64_t up = profile->environment.peak_h2d_bytes_per_s;
	int64_t down = profile->environment.peak_d2h_bytes_per_s;
	bool alike = up > 0 && down > 0 && text_is_same(up, down, 50);
	const char *name = text_peak_is_best(profile) ? "best rate of the run" : "peak of the link";
	char both[2][32];

	snprintf(both[0], sizeof(both[0]), "%s%s", name, alike ? "" : ", H2D");
	snprintf(both[1], sizeof(both[1]), "%s, D2H", name);
	peak_line(to, both[0], up, most);
	if (!alike)
		peak_line(to, both[1], down, most);
}

/* The axis of sizes has at most five labels, so that they do not overlap. */
static void axis_labels(FILE *to, const struct bins *bins, double most)
{
	int count = bins->last - bins->first + 1, each = (count + 4) / 5;
	char top[32];

	snprintf(top, sizeof(top), "%.*f", most < 10 ? 1 : 0, most);
	label(to, LEFT - 4, TOP + 4, "end", top);
	label(to, LEFT - 4, BOTTOM, "end", "0");
	for (int i = 0; i < count; i += each)
		label(to, LEFT + (2 * i + 1) * (RIGHT - LEFT) / (2 * count), BOTTOM + 15, "middle",
		      text_power((int64_t)1 << (bins->first + i)));
	label(to, (LEFT + RIGHT) / 2, BOTTOM + 31, "middle", "larger: more time; open: pageable");
}

void page_rates_chart(FILE *to, const struct profile *profile)
{
	double most = most_rate(profile);
	struct bins bins;

	if (!fill_bins(profile, &bins) || most <= 0)
		return;
	fprintf(to,
		"<figure><figcaption>GB/s by size of copy</figcaption>\n"
		"<svg class=\"chart\" role=\"img\" viewBox=\"0 0 %d %d\" "
		"aria-label=\"GB/s by size of copy\">\n"
		"<path class=\"axis\" fill=\"none\" d=\"M%d %dV%dH%d\"/>\n",
		WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT);
	peak_lines(to, profile, most);
	for (size_t i = 0; i < profile->transfer_count; i++)
		if (is_timed(&profile->transfers[i]))
			rate_points(to, &profile->transfers[i], &bins, most);
	axis_labels(to, &bins, most);
	fputs("</svg>\n<ul class=\"legend\">\n", to);
	page_swatch(to, "h2d", "H2D");
	page_swatch(to, "d2h", "D2H");
	fputs("</ul></figure>\n", to);
}
