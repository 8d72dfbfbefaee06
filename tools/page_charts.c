/*
 * page_charts.c - sizes and rates of copies as charts.
 *
 * A chart of one size says less than the table of copies, so there is none.
 */
#include "page.h"
#include "show.h"

#include <string.h>

/* The charts' room, in pixels of the 390 wide screen that they must be readable on. */
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
	int first, last; /* that hold something */
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

static void chart_begin(FILE *to, const char *caption)
{
	fputs("<figure>", to);
	page_element(to, "figcaption", caption);
	fprintf(to,
		"<svg class=\"chart\" role=\"img\" viewBox=\"0 0 %d %d\" aria-label=\"%s\">\n"
		"<path class=\"axis\" fill=\"none\" d=\"M%d %dV%dH%d\"/>\n",
		WIDTH, HEIGHT, caption, LEFT, TOP, BOTTOM, RIGHT);
}

static void chart_end(FILE *to)
{
	fputs("</svg>\n<ul class=\"legend\">\n", to);
	page_swatch(to, "h2d", "to the device");
	page_swatch(to, "d2h", "back");
	fputs("</ul></figure>\n", to);
}

static void label(FILE *to, int x, int y, const char *anchor, const char *text)
{
	fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">", x, y, anchor);
	page_text(to, text);
	fputs("</text>\n", to);
}

/* Five at most, so that they do not run into one another. */
static void size_labels(FILE *to, const struct bins *bins)
{
	int count = bins->last - bins->first + 1, each = (count + 4) / 5;

	for (int i = 0; i < count; i += each)
		label(to, LEFT + (2 * i + 1) * (RIGHT - LEFT) / (2 * count), BOTTOM + 15, "middle",
		      show_power((int64_t)1 << (bins->first + i)));
}

void page_sizes_chart(FILE *to, const struct profile *profile)
{
	struct bins bins;

	if (!fill_bins(profile, &bins))
		return;
	int count = bins.last - bins.first + 1;
	double slot = (double)(RIGHT - LEFT) / count, width = slot * 0.4;

	chart_begin(to, "Time by size of copy");
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
	label(to, LEFT - 4, TOP + 4, "end", show_time(bins.most_ns));
	label(to, LEFT - 4, BOTTOM, "end", "0");
	size_labels(to, &bins);
	label(to, (LEFT + RIGHT) / 2, BOTTOM + 31, "middle", "from this size, each");
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

/* Each size of each kind of copy as a point, larger where it took more of the time. */
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
		page_text(to, show_direction(row->direction));
		fputc(' ', to);
		page_text(to, show_text(row->memory, 20));
		fprintf(to, " from %s: %s copies, %s GB/s</title></circle>\n",
			show_power(size->from_bytes), show_count(size->count),
			show_rate(size->bytes, size->busy_ns));
	}
}

static void peak_line(FILE *to, const char *name, int64_t peak, double most)
{
	int y = BOTTOM - (int)((double)peak / 1e9 / most * (BOTTOM - TOP));

	if (peak <= 0)
		return;
	fprintf(to, "<path class=\"peak\" fill=\"none\" d=\"M%d %dH%d\"/>\n", LEFT, y, RIGHT);
	/* Small copies are slow: no points there. */
	label(to, LEFT + 4, y - 4, "start", name);
}

void page_rates_chart(FILE *to, const struct profile *profile)
{
	double most = most_rate(profile);
	struct bins bins;
	char top[32];

	/* At the call a copy's time may not be its own. */
	if (strcmp(profile_view(profile), "cupti") != 0 || !fill_bins(profile, &bins) || most <= 0)
		return;
	chart_begin(to, "GB/s by size of copy");
	int64_t up = profile->environment.peak_h2d_bytes_per_s;
	int64_t down = profile->environment.peak_d2h_bytes_per_s;
	bool alike = up > 0 && down > 0 && show_is_same(up, down, 50);

	peak_line(to, alike ? "peak of the link" : "peak of the link, to the device", up, most);
	if (!alike)
		peak_line(to, "peak of the link, back", down, most);
	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		if (strcmp(row->view, "cupti") == 0 &&
		    (strcmp(row->direction, "h2d") == 0 || strcmp(row->direction, "d2h") == 0))
			rate_points(to, row, &bins, most);
	}
	snprintf(top, sizeof(top), "%.*f", most < 10 ? 1 : 0, most);
	label(to, LEFT - 4, TOP + 4, "end", top);
	label(to, LEFT - 4, BOTTOM, "end", "0");
	size_labels(to, &bins);
	label(to, (LEFT + RIGHT) / 2, BOTTOM + 31, "middle", "larger: more time; open: pageable");
	chart_end(to);
}
