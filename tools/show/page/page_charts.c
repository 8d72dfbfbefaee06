/*
 * page_charts.c - sizes and rates of copies as charts.
 *
 * There is no chart of a single size: it would tell less than the table of copies.
 */
#include "show/page/page.h"
#include "profile/texts.h"
#include "tables/table.h"

#include <stdlib.h>
#include <string.h>

/* Room of the charts in pixels; they must be readable on a screen that is 390 pixels wide. */
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
	int64_t busy_ns[2][BINS];
	int64_t most_ns;
};

static bool fill_bins(const struct profile *profile, struct bins *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->first = BINS;
	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];
		bool back = strcmp(row->direction, "d2h") == 0;

		if (strcmp(row->view, profile_view(profile)) != 0 ||
		    (!back && strcmp(row->direction, "h2d") != 0))
			continue;
		for (size_t j = 0; j < row->size_count; j++) {
			int bin = bin_of(row->sizes[j].from_bytes);
			int64_t *ns = &ret->busy_ns[back][bin];

			if (row->sizes[j].busy_ns < 0)
				continue;
			*ns = profile_add(*ns, row->sizes[j].busy_ns);
			ret->most_ns = *ns > ret->most_ns ? *ns : ret->most_ns;
			ret->first = bin < ret->first ? bin : ret->first;
			ret->last = bin > ret->last ? bin : ret->last;
		}
	}
	return ret->most_ns > 0 && ret->first < ret->last;
}

/* role: "img", or "group" if the chart contains links. */
static void chart_begin(FILE *to, const char *caption, const char *role)
{
	fputs("<figure>", to);
	page_element(to, "figcaption", caption);
	fprintf(to,
		"<svg class=\"chart%s\" role=\"%s\" viewBox=\"0 0 %d %d\" aria-label=\"%s\">\n"
		"<path class=\"axis\" fill=\"none\" d=\"M%d %dV%dH%d\"/>\n",
		strcmp(role, "group") == 0 ? " brushed" : "", role, WIDTH, HEIGHT, caption, LEFT,
		TOP, BOTTOM, RIGHT);
}

static void chart_end(FILE *to)
{
	fputs("</svg>\n<ul class=\"legend\">\n", to);
	page_swatch(to, "h2d", "H2D");
	page_swatch(to, "d2h", "D2H");
	fputs("</ul></figure>\n", to);
}

static void label(FILE *to, int x, int y, const char *anchor, const char *text)
{
	fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">", x, y, anchor);
	page_text(to, text);
	fputs("</text>\n", to);
}

/* Writes at most five labels, so that they do not overlap, `halves` of a bin from its begin. */
static void size_labels(FILE *to, const struct bins *bins, int halves)
{
	int count = bins->last - bins->first + 1, each = (count + 4) / 5;

	for (int i = 0; i < count; i += each)
		label(to, LEFT + (2 * i + halves) * (RIGHT - LEFT) / (2 * count), BOTTOM + 15,
		      "middle", text_power((int64_t)1 << (bins->first + i)));
}

void page_sizes_chart(FILE *to, const struct profile *profile)
{
	struct bins bins;

	if (!fill_bins(profile, &bins))
		return;
	int count = bins.last - bins.first + 1;
	double slot = (double)(RIGHT - LEFT) / count, width = slot * 0.4;

	chart_begin(to, "Time by size of copy", "img");
	for (int back = 0; back < 2; back++)
		for (int i = 0; i < count; i++) {
			int64_t ns = bins.busy_ns[back][bins.first + i];
			double height = (double)ns / (double)bins.most_ns * (BOTTOM - TOP);

			if (ns > 0)
				fprintf(to,
					"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
					"height=\"%.1f\"/>\n",
					back ? "d2h" : "h2d",
					LEFT + slot * i + slot * 0.08 +
						back * (width + slot * 0.04),
					BOTTOM - height, width, height);
		}
	label(to, LEFT - 4, TOP + 4, "end", text_time(bins.most_ns));
	label(to, LEFT - 4, BOTTOM, "end", "0");
	size_labels(to, &bins, 1);
	label(to, (LEFT + RIGHT) / 2, BOTTOM + 31, "middle", "size of a copy, from");
	chart_end(to);
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

		if (strcmp(row->view, "cupti") != 0 ||
		    (strcmp(row->direction, "h2d") != 0 && strcmp(row->direction, "d2h") != 0))
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

static void axis_labels(FILE *to, const struct bins *bins, int halves, double most,
			const char *below)
{
	char top[32];

	snprintf(top, sizeof(top), "%.*f", most < 10 ? 1 : 0, most);
	label(to, LEFT - 4, TOP + 4, "end", top);
	label(to, LEFT - 4, BOTTOM, "end", "0");
	size_labels(to, bins, halves);
	label(to, (LEFT + RIGHT) / 2, BOTTOM + 31, "middle", below);
}

void page_rates_chart(FILE *to, const struct profile *profile)
{
	double most = most_rate(profile);
	struct bins bins;

	/* The time of a call need not be the time of its copy. */
	if (strcmp(profile_view(profile), "cupti") != 0 || !fill_bins(profile, &bins) || most <= 0)
		return;
	chart_begin(to, "GB/s by size of copy", "img");
	peak_lines(to, profile, most);
	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		if (strcmp(row->view, "cupti") == 0 &&
		    (strcmp(row->direction, "h2d") == 0 || strcmp(row->direction, "d2h") == 0))
			rate_points(to, row, &bins, most);
	}
	axis_labels(to, &bins, 1, most, "larger: more time; open: pageable");
	chart_end(to);
}

#define MARKS_MOST 40
#define MARK_REACH 14 /* makes marks 24 pixels wide on a screen of 360 */

/* Copies of one kind at a site, by their mean size. */
struct mark {
	int64_t site, bytes, ns;
	const struct profile_row *row;
};

static int by_mark_time(const void *left, const void *right)
{
	const struct mark *a = left, *b = right;

	return a->ns > b->ns ? -1 : a->ns < b->ns;
}

/* The rate is known only if the host waited for all of these copies. */
static bool has_rate(const struct profile_row *row)
{
	return (strcmp(row->direction, "h2d") == 0 || strcmp(row->direction, "d2h") == 0) &&
	       row->count > 0 && row->bytes >= row->count && row->sync_count == row->count &&
	       row->sync_ns > 0;
}

/* Returns the marks that took most time; the caller frees them. */
static struct mark *find_marks(const struct profile *profile, size_t *ret_count)
{
	struct mark *marks = NULL;
	size_t count = 0, rows = 1;

	for (size_t i = 0; i < profile->site_count; i++)
		rows += profile->sites[i].row_count;
	marks = calloc(rows, sizeof(*marks));
	for (size_t i = 0; i < profile->site_count && marks != NULL; i++)
		for (size_t j = 0; j < profile->sites[i].row_count; j++) {
			const struct profile_row *row = &profile->sites[i].rows[j];

			if (table_has_anchor((int64_t)i) && has_rate(row))
				marks[count++] = (struct mark){ (int64_t)i, row->bytes / row->count,
								row->sync_ns, row };
		}
	if (count > 0)
		qsort(marks, count, sizeof(*marks), by_mark_time);
	*ret_count = count < MARKS_MOST ? count : MARKS_MOST;
	return marks;
}

/* Returns where a size is on the axis.  Bins are by powers of 2. */
static double place_of(const struct bins *bins, int64_t bytes)
{
	int bin = bin_of(bytes), count = bins->last - bins->first + 1;
	double part = (double)bytes / (double)((int64_t)1 << bin) - 1;

	return LEFT + (bin - bins->first + (part < 1 ? part : 1)) * (RIGHT - LEFT) / count;
}

static void widen(struct bins *bins, int64_t bytes)
{
	int bin = bin_of(bytes);

	bins->first = bin < bins->first ? bin : bins->first;
	bins->last = bin > bins->last ? bin : bins->last;
}

/* True for a size with timed copies of pinned memory. */
static bool is_pinned(const struct profile_transfer *row, const struct profile_size *size)
{
	return strcmp(row->view, "cupti") == 0 && strcmp(row->memory, "pinned") == 0 &&
	       (strcmp(row->direction, "h2d") == 0 || strcmp(row->direction, "d2h") == 0) &&
	       row->size_count > 1 && size->count > 0 && size->bytes >= size->count;
}

/* Draws the rates of pinned copies in this run, by size. */
static void pinned_curves(FILE *to, const struct profile *profile, const struct bins *bins,
			  double most)
{
	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];
		bool any = false;

		for (size_t j = 0; j < row->size_count; j++) {
			const struct profile_size *size = &row->sizes[j];

			if (!is_pinned(row, size))
				continue;
			if (!any)
				fprintf(to, "<path class=\"curve %s\" d=\"",
					strcmp(row->direction, "d2h") == 0 ? "d2h" : "h2d");
			fprintf(to, "%c%.1f %.1f", any ? 'L' : 'M',
				place_of(bins, size->bytes / size->count),
				BOTTOM - rate(size->bytes, size->busy_ns) / most * (BOTTOM - TOP));
			any = true;
		}
		if (any)
			fputs("\"/>\n", to);
	}
}

static void widen_for_pinned(struct bins *bins, const struct profile *profile)
{
	for (size_t i = 0; i < profile->transfer_count; i++)
		for (size_t j = 0; j < profile->transfers[i].size_count; j++) {
			const struct profile_size *size = &profile->transfers[i].sizes[j];

			if (is_pinned(&profile->transfers[i], size))
				widen(bins, size->bytes / size->count);
		}
}

static void draw_mark(FILE *to, const struct mark *mark, const struct bins *bins, double most,
		      int64_t most_ns)
{
	double x = place_of(bins, mark->bytes);
	double y = BOTTOM - rate(mark->row->bytes, mark->ns) / most * (BOTTOM - TOP);
	double area = (double)mark->ns / (double)most_ns;

	fprintf(to, "<a href=\"#site-%lld\" aria-label=\"%s ", (long long)mark->site,
		text_direction(mark->row->direction));
	page_text(to, text_name(mark->row->memory, 20));
	fprintf(to,
		", %s each: %s copies, %s GB/s, %s\"><circle class=\"%s%s\" cx=\"%.1f\" "
		"cy=\"%.1f\" r=\"%.1f\" fill-opacity=\"0.8\"/><circle fill-opacity=\"0\" "
		"cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"/></a>\n",
		text_bytes(mark->bytes), text_count(mark->row->count),
		text_rate(mark->row->bytes, mark->ns), text_time(mark->ns),
		strcmp(mark->row->memory, "pageable") == 0 ? "open " : "",
		strcmp(mark->row->direction, "d2h") == 0 ? "d2h" : "h2d", x, y,
		3 + 5 * (area < 1 ? area : 1), x, y, MARK_REACH);
}

static void draw_marks(FILE *to, const struct profile *profile, const struct mark *marks,
		       size_t count)
{
	double most = most_rate(profile);
	struct bins bins = { .first = BINS };

	for (size_t i = 0; i < count; i++) {
		double its = rate(marks[i].row->bytes, marks[i].ns);

		most = its > most ? its : most;
		widen(&bins, marks[i].bytes);
	}
	widen_for_pinned(&bins, profile);
	chart_begin(to, "GB/s by call site, at the call", "group");
	peak_lines(to, profile, most);
	pinned_curves(to, profile, &bins, most);
	for (size_t i = 0; i < count; i++)
		draw_mark(to, &marks[i], &bins, most, marks[0].ns);
	axis_labels(to, &bins, 0, most, "size of a copy; open: pageable; line: pinned");
	chart_end(to);
}

void page_sites_chart(FILE *to, const struct profile *profile)
{
	size_t count;
	struct mark *marks = find_marks(profile, &count);

	if (count > 1)
		draw_marks(to, profile, marks, count);
	free(marks);
}
