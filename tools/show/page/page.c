/*
 * page.c - writes HTML pages that need no other file.
 *
 * The policy in the head of a page forbids every request, and any style or script whose hash it
 * does not list.  So opening a page from an unknown source is safe.
 */
#include "show/page/page.h"
#include "profile/texts.h"
#include "base/parse.h"
#include "base/units.h"

#include <string.h>

const char *const page_part_kinds[TEXT_PARTS] = { "host",      "startup", "calls",
						  "transfers", "kernels", "both" };

/* The sections that a page may have, in the order of the page; those of tables precede "did". */
static struct section {
	const char *id, *title;
	bool is_there;
} sections[] = {
	{ "stages", "Stages", false },
	{ "ranks", "Ranks", false },
	{ "time", "Where the time went", false },
	{ "next", "What to do next", false },
	{ "host", "Host code", false },
	{ "source", "Source", false },
	{ "did", "What hotpin did", false },
	{ "sum", "All ranks", false },
	{ "earlier", "Earlier stages", false },
};

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
		/* XML does not allow U+FFFE and U+FFFF. */
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
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"",
	      to);
	fputs(page_policy, to);
	fputs("\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
	      "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
	      "<meta name=\"referrer\" content=\"no-referrer\"/>\n",
	      to);
	page_element(to, "title", title);
	fprintf(to, "<style>%s</style>\n</head>\n<body>\n<main>\n", page_style);
}

void page_end(FILE *to)
{
	fputs("</main>\n", to);
	for (size_t i = 0; page_scripts[i] != NULL; i++)
		fprintf(to, "<script>%s</script>\n", page_scripts[i]);
	fputs("</body>\n</html>\n", to);
}

#define PARTS_MOST 40
static struct section parts[PARTS_MOST]; /* those of tables that are there */
static size_t part_count;

static struct section *section_of(const char *id)
{
	for (size_t i = 0; i < HP_LEN(sections); i++)
		if (strcmp(sections[i].id, id) == 0)
			return &sections[i];
	for (size_t i = 0; i < part_count; i++)
		if (strcmp(parts[i].id, id) == 0)
			return &parts[i];
	return NULL;
}

const char *page_section_title(const char *id)
{
	return section_of(id)->title;
}

static void begin(FILE *to, const struct section *section, const char *of)
{
	fprintf(to, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n", section->id, section->id);
	fprintf(to, "<h2 id=\"%s-title\">%s%s", section->id, section->title,
		of != NULL ? ": " : "");
	page_text(to, of != NULL ? of : "");
	fputs("</h2>\n", to);
}

void page_section(FILE *to, const char *id, const char *of)
{
	section_of(id)->is_there = true;
	begin(to, section_of(id), of);
}

bool page_has_section(const char *id)
{
	const struct section *section = section_of(id);

	return section != NULL && section->is_there;
}

void page_section_end(FILE *to)
{
	fputs("</section>\n", to);
}

void page_part(FILE *to, bool opened, const char *id, const char *title)
{
	if (!opened) {
		page_element(to, "h3", title);
		return;
	}
	struct section section = { id, title, true };
	if (part_count < PARTS_MOST)
		parts[part_count++] = section;
	begin(to, &section, NULL);
}

void page_part_end(FILE *to, bool opened)
{
	if (opened)
		page_section_end(to);
}

static void links(FILE *to, const struct section *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].is_there)
			fprintf(to, "<li><a href=\"#%s\">%s</a></li>\n", list[i].id, list[i].title);
}

void page_nav(FILE *to)
{
	size_t above = (size_t)(section_of("did") - sections);

	fputs("<nav aria-label=\"Sections\"><ul>\n", to);
	links(to, sections, above);
	links(to, parts, part_count);
	links(to, sections + above, HP_LEN(sections) - above);
	fputs("</ul></nav>\n", to);
}

long page_share(int64_t part, int64_t whole)
{
	if (part <= 0 || whole <= 0)
		return 0;
	return part < whole ? (long)((__int128_t)part * 10000 / whole) : 10000;
}

void page_split_bar(FILE *to, const struct profile_split *split, int64_t ns, int64_t longest_ns)
{
	long at = 0, all = page_share(ns, longest_ns);
	unsigned tenths[TEXT_PARTS];

	text_split_tenths(split, tenths);
	fputs("<svg class=\"bar\" role=\"img\" viewBox=\"0 0 10000 10\" preserveAspectRatio=\"none\" "
	      "aria-label=\"",
	      to);
	for (int part = 0; part < TEXT_PARTS; part++)
		fprintf(to, "%s%s %u.%u %%", part > 0 ? "; " : "", text_parts[part].title,
			tenths[part] / 10, tenths[part] % 10);
	fputs("\">", to);
	for (int part = 0; part < TEXT_PARTS; part++) {
		long width = all * (long)tenths[part] / 1000;

		if (width > 0)
			fprintf(to,
				"<rect class=\"%s\" x=\"%ld\" y=\"0\" width=\"%ld\" height=\"10\"/>",
				page_part_kinds[part], at, width);
		at += width;
	}
	fputs("</svg>\n", to);
}

static void swatch_begin(FILE *to, const char *kind)
{
	fprintf(to,
		"<li><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"%s\" width=\"10\" "
		"height=\"10\"/></svg>",
		kind);
}

void page_swatch(FILE *to, const char *kind, const char *text)
{
	swatch_begin(to, kind);
	page_text(to, text);
	fputs("</li>\n", to);
}

/* Returns where `part` begins and ends in the stack of a bin's parts, in thousandths. */
static void stack(const struct profile_bin *bin, int64_t bin_ns, int part, long *ret_from,
		  long *ret_to)
{
	int64_t below = 0;

	for (int i = 0; i < part; i++)
		below += bin->column[i] > 0 ? bin->column[i] : 0;
	int64_t with = below + (bin->column[part] > 0 ? bin->column[part] : 0);
	*ret_from = page_share(below, bin_ns) / 10;
	*ret_to = page_share(with, bin_ns) / 10;
}

/* Writes the times at the quarters of an axis. */
static void ticks(FILE *to, int64_t end_ns)
{
	fputs("<p class=\"ticks\">", to);
	for (int quarter = 0; quarter <= 4; quarter++)
		fprintf(to, "<small>%s</small>",
			quarter > 0 ? text_time((int64_t)((__int128_t)end_ns * quarter / 4)) : "0");
	fputs("</p>\n", to);
}

void page_strip(FILE *to, const struct profile *profile)
{
	size_t count = profile->activity.bin_count;

	if (count < 2 || profile->activity.bin_ns <= 0)
		return;
	fprintf(to,
		"<svg class=\"strip\" role=\"img\" viewBox=\"0 0 %zu 1000\" "
		"preserveAspectRatio=\"none\" aria-label=\"the states over time, %s a column\">",
		count, text_time(profile->activity.bin_ns));
	for (int part = 0; part < TEXT_PARTS; part++) {
		fprintf(to, "<path class=\"%s\" d=\"", page_part_kinds[part]);
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
	__int128_t end_ns = (__int128_t)profile->activity.bin_ns * count;
	ticks(to, end_ns < INT64_MAX ? (int64_t)end_ns : INT64_MAX);
}

void page_split_legend(FILE *to, const struct profile_split *split, int64_t wall_ns)
{
	unsigned tenths[TEXT_PARTS];

	text_split_tenths(split, tenths);
	fputs("<ul class=\"legend\">\n", to);
	for (int part = 0; part < TEXT_PARTS; part++) {
		int64_t ns = text_part_ns(split, part);

		if (ns <= 0)
			continue;
		swatch_begin(to, page_part_kinds[part]);
		fprintf(to, "%s <b>%s</b> %u.%u %%", text_parts[part].title, text_time(ns),
			tenths[part] / 10, tenths[part] % 10);
		fputs("</li>\n", to);
	}
	fprintf(to, "<li>wall time <b>%s</b></li></ul>\n", text_time(wall_ns));
}

void page_bar(FILE *to, const char *kind, int64_t part, int64_t whole)
{
	fprintf(to,
		"<svg class=\"bar thin\" viewBox=\"0 0 10000 10\" preserveAspectRatio=\"none\" "
		"aria-hidden=\"true\"><rect class=\"%s\" width=\"%ld\" height=\"10\"/></svg>\n",
		kind, page_share(part, whole));
}
