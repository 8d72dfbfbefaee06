/*
 * page.c - HTML that needs nothing but itself.
 *
 * The policy in its head forbids every request and every script, so that a page may be opened
 * wherever it came from.  Colours are variables, for light and dark; widths are those of what is
 * read on, from 390 pixels up.
 */
#include "page.h"
#include "show.h"
#include "base/units.h"

#include <string.h>

static const char style[] =
	":root{color-scheme:light dark;--back:#fff;--card:#f6f7f9;--line:#d5d9e0;--text:#1b1f24;"
	"--soft:#59626e;--host:#7f8a99;--transfers:#d9621e;--kernels:#2471c8;--both:#8650c4;"
	"--startup:#c3c9d2;--calls:#b8952f;--h2d:#d9621e;--d2h:#138a7c}\n"
	"@media (prefers-color-scheme:dark){:root{--back:#14171c;--card:#1d2128;--line:#363d48;"
	"--text:#e6e9ee;--soft:#a0a9b6;--host:#8b97a8;--transfers:#f08a4b;--kernels:#5aa2f0;"
	"--both:#b088e8;--startup:#49525f;--calls:#d0b04e;--h2d:#f08a4b;--d2h:#3cc0ae}}\n"
	"@media print{:root{--back:#fff;--card:#fff;--line:#bbb;--text:#000;--soft:#444}}\n"
	"*{box-sizing:border-box}\n"
	"body{overflow-wrap:anywhere;margin:0;background:var(--back);color:var(--text);"
	"font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\n"
	"main{max-width:1120px;margin:0 auto;padding:16px}\n"
	"h1{font-size:22px;line-height:1.25;margin:8px 0 4px}\n"
	"h2{font-size:19px;margin:36px 0 4px;padding-top:12px;border-top:2px solid var(--line)}\n"
	"h3{font-size:16px;margin:24px 0 6px}\n"
	"p{margin:4px 0 8px}.soft,footer{color:var(--soft)}\n"
	".note{border-left:4px solid var(--transfers);padding:4px 10px;background:var(--card)}\n"
	".verdict{font-weight:600}\n"
	"a{color:var(--kernels)}\n"
	".scroll{overflow-x:auto;max-width:100%}\n"
	"table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:4px 0}\n"
	"th,td{padding:3px 14px 3px 0;text-align:right;white-space:nowrap;vertical-align:top}\n"
	"th{font-weight:600;color:var(--soft);border-bottom:1px solid var(--line)}\n"
	"td{border-bottom:1px solid var(--line)}\n"
	"th.text,td.text{text-align:left;white-space:normal;min-width:150px}\n"
	".bar{display:block;width:100%;height:22px;background:var(--card);margin:6px 0}\n"
	".thin{height:10px}\n"
	".strip{display:block;width:100%;height:64px;background:var(--card)}\n"
	".legend{display:flex;flex-wrap:wrap;gap:2px 18px;padding:0;margin:4px 0 10px;"
	"list-style:none}\n"
	".legend svg{width:12px;height:12px;margin-right:6px}\n"
	".charts{display:flex;flex-wrap:wrap;gap:24px}\n"
	"figure{margin:0;flex:1 1 340px;max-width:540px}\n"
	"figcaption{font-weight:600;margin-bottom:4px}\n"
	".chart{display:block;width:100%;height:auto}\n"
	".chart text{font-size:11px;fill:var(--soft)}\n"
	".chart .axis{stroke:var(--line)}.chart .peak{stroke:var(--soft);stroke-dasharray:4 3}\n"
	".host{fill:var(--host)}.transfers{fill:var(--transfers)}.kernels{fill:var(--kernels)}\n"
	".both{fill:var(--both)}.startup{fill:var(--startup)}.calls{fill:var(--calls)}.h2d{fill:var(--h2d)}.d2h{fill:var(--d2h)}\n"
	".open{fill-opacity:0;stroke-width:1.5}.open.h2d{stroke:var(--h2d)}.open.d2h{stroke:var(--d2h)"
	"}\n"
	"@media (max-width:480px){main{padding:12px}th,td{padding-right:7px;font-size:13px}"
	"th.text,td.text{min-width:80px}}\n"
	"details{margin:16px 0}summary{cursor:pointer;color:var(--soft)}\n";

static const char *const part_kinds[SHOW_PARTS] = { "host",      "startup", "calls",
						    "transfers", "kernels", "both" };

void page_text(FILE *to, const char *text)
{
	size_t length = strlen(text);

	for (size_t at = 0; at < length;) {
		size_t bytes = units_printable(text + at, length - at);

		if (bytes == 0)
			fprintf(to, "\\x%02x", (unsigned char)text[at]);
		else if (text[at] == '&')
			fputs("&amp;", to);
		else if (text[at] == '<')
			fputs("&lt;", to);
		else if (text[at] == '>')
			fputs("&gt;", to);
		else if (text[at] == '"')
			fputs("&quot;", to);
		else if (text[at] == '\'')
			fputs("&#39;", to);
		/* Two code points that XML has no room for. */
		else if (bytes == 3 && memcmp(text + at, "\xef\xbf", 2) == 0 &&
			 (unsigned char)text[at + 2] >= 0xbe)
			fputs("?", to);
		else
			fwrite(text + at, 1, bytes, to);
		at += bytes > 0 ? bytes : 1;
	}
}

void page_element(FILE *to, const char *tag, const char *text)
{
	/* <p class="note"> ends as </p>. */
	fprintf(to, "<%s>", tag);
	page_text(to, text);
	fprintf(to, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

void page_begin(FILE *to, const char *title)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
	      "<meta charset=\"utf-8\"/>\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
	      "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
	      "<meta name=\"referrer\" content=\"no-referrer\"/>\n",
	      to);
	page_element(to, "title", title);
	fprintf(to, "<style>\n%s</style>\n</head>\n<body>\n<main>\n", style);
	page_element(to, "h1", title);
}

void page_end(FILE *to)
{
	fputs("</main>\n</body>\n</html>\n", to);
}

static bool is_text(const char *column)
{
	return column[0] == '<';
}

void page_table_begin(FILE *to, const char *const *columns, size_t count)
{
	fputs("<div class=\"scroll\"><table>\n<thead><tr>", to);
	for (size_t i = 0; i < count; i++) {
		fprintf(to, "<th scope=\"col\"%s>", is_text(columns[i]) ? " class=\"text\"" : "");
		page_text(to, columns[i] + is_text(columns[i]));
		fputs("</th>", to);
	}
	fputs("</tr></thead>\n<tbody>\n", to);
}

void page_row(FILE *to, const char *const *columns, size_t count, const char *const *cells)
{
	fputs("<tr>", to);
	for (size_t i = 0; i < count; i++) {
		fputs(is_text(columns[i]) ? "<td class=\"text\">" : "<td>", to);
		page_text(to, cells[i]);
		fputs("</td>", to);
	}
	fputs("</tr>\n", to);
}

void page_table_end(FILE *to)
{
	fputs("</tbody>\n</table></div>\n", to);
}

/* Hundredths of a percent of `whole`, never more than all of it. */
static long share(int64_t part, int64_t whole)
{
	if (part <= 0 || whole <= 0)
		return 0;
	return part < whole ? (long)((__int128_t)part * 10000 / whole) : 10000;
}

void page_split_bar(FILE *to, const struct profile_split *split, int64_t ns, int64_t longest_ns)
{
	long at = 0, all = share(ns, longest_ns);
	unsigned tenths[SHOW_PARTS];

	show_split_tenths(split, tenths);
	fputs("<svg class=\"bar\" role=\"img\" viewBox=\"0 0 10000 10\" preserveAspectRatio=\"none\" "
	      "aria-label=\"",
	      to);
	for (int part = 0; part < SHOW_PARTS; part++)
		fprintf(to, "%s%s %u.%u %%", part > 0 ? ", " : "", show_parts[part].name,
			tenths[part] / 10, tenths[part] % 10);
	fputs("\">", to);
	for (int part = 0; part < SHOW_PARTS; part++) {
		long width = all * (long)tenths[part] / 1000;

		if (width > 0)
			fprintf(to,
				"<rect class=\"%s\" x=\"%ld\" y=\"0\" width=\"%ld\" height=\"10\"/>",
				part_kinds[part], at, width);
		at += width;
	}
	fputs("</svg>\n", to);
}

static void swatch(FILE *to, const char *kind, const char *text)
{
	fprintf(to,
		"<li><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"%s\" width=\"10\" "
		"height=\"10\"/></svg>",
		kind);
	page_text(to, text);
	fputs("</li>\n", to);
}

/* Of what a bin holds: where the parts before `part` end, and where it does, in thousandths. */
static void stack(const struct profile_bin *bin, int64_t bin_ns, int part, long *ret_from,
		  long *ret_to)
{
	int64_t below = 0;

	for (int i = 0; i < part; i++)
		below += bin->column[i] > 0 ? bin->column[i] : 0;
	int64_t with = below + (bin->column[part] > 0 ? bin->column[part] : 0);
	*ret_from = share(below, bin_ns) / 10;
	*ret_to = share(with, bin_ns) / 10;
}

void page_strip(FILE *to, const struct profile *profile)
{
	size_t count = profile->activity.bin_count;

	if (count < 2 || profile->activity.bin_ns <= 0)
		return;
	fprintf(to,
		"<svg class=\"strip\" role=\"img\" viewBox=\"0 0 %zu 1000\" "
		"preserveAspectRatio=\"none\" aria-label=\"the states over time, %s a column\">",
		count, show_time(profile->activity.bin_ns));
	for (int part = 0; part < SHOW_PARTS; part++) {
		fprintf(to, "<path class=\"%s\" d=\"", part_kinds[part]);
		for (size_t i = 0; i < count; i++) {
			long from, end;

			stack(&profile->activity.bins[i], profile->activity.bin_ns, part, &from,
			      &end);
			if (end > from)
				fprintf(to, "M%zu %ldh1v%ldh-1z", i, 1000 - end, end - from);
		}
		fputs("\"/>", to);
	}
	fputs("</svg>\n", to);
	fprintf(to, "<p class=\"soft\">From the start to the end, %s a column.</p>\n",
		show_time(profile->activity.bin_ns));
}

void page_split_legend(FILE *to)
{
	fputs("<ul class=\"legend\">\n", to);
	for (int part = 0; part < SHOW_PARTS; part++) {
		char text[96];

		snprintf(text, sizeof(text), "%s%s%s", show_parts[part].name,
			 show_parts[part].note[0] != '\0' ? ": " : "", show_parts[part].note);
		swatch(to, part_kinds[part], text);
	}
	fputs("</ul>\n", to);
}

void page_bar(FILE *to, const char *kind, int64_t part, int64_t whole)
{
	fprintf(to,
		"<svg class=\"bar thin\" viewBox=\"0 0 10000 10\" preserveAspectRatio=\"none\" "
		"aria-hidden=\"true\"><rect class=\"%s\" width=\"%ld\" height=\"10\"/></svg>\n",
		kind, share(part, whole));
}

/* The charts' room, in pixels of the 390 wide screen that they must be readable on. */
enum { WIDTH = 350, HEIGHT = 210, LEFT = 46, RIGHT = 340, TOP = 14, BOTTOM = 176 };

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
	return ret->most_ns > 0;
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
	swatch(to, "h2d", "to the device");
	swatch(to, "d2h", "back");
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
