/*
 * page.c - writes HTML pages that need no other file.
 *
 * The policy in the head of a page forbids every request, and any style or script whose hash it
 * does not list.  So opening a page from an unknown source is safe.
 */
#include "show/page/page.h"
#include "profile/texts.h"
#include "names/source.h"

#include <string.h>

static const char *instead(const char *at)
{
	/* XML does not allow U+FFFE and U+FFFF. */
	return *at == '&'                                                        ? "&amp;"
	       : *at == '<'                                                      ? "&lt;"
	       : *at == '>'                                                      ? "&gt;"
	       : *at == '"'                                                      ? "&quot;"
	       : *at == '\''                                                     ? "&#39;"
	       : strncmp(at, "\xef\xbf", 2) == 0 && (unsigned char)at[2] >= 0xbe ? "?"
										 : NULL;
}

void page_text(FILE *to, const char *text)
{
	text_put(to, text, instead);
}

void page_element(FILE *to, const char *tag, const char *text)
{
	/* <p class="note"> ends as </p>. */
	fprintf(to, "<%s>", tag);
	page_text(to, text);
	fprintf(to, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

void page_lines(FILE *to, const char *tag, const char *lines)
{
	for (const char *line; (line = text_take_line(&lines)) != NULL;)
		page_element(to, tag, line);
}

void page_soft(FILE *to, const char *text)
{
	page_element(to, PAGE_SOFT, text);
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
	fprintf(to, "</main>\n<script>%s</script>\n</body>\n</html>\n", page_script);
}

FILE *page_in_memory(char **ret)
{
	static size_t bytes; /* nobody reads it */
	FILE *to = open_memstream(ret, &bytes);

	if (to == NULL)
		profile_end_without_memory();
	return to;
}

void page_section(struct page *page, const char *id, const char *title, const char *of)
{
	fprintf(page->nav, "<li><a href=\"#%s\">%s</a></li>\n", id, title);
	fprintf(page->to,
		"<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s%s", id,
		id, id, title, of != NULL ? ": " : "");
	page_text(page->to, of != NULL ? of : "");
	fputs("</h2>\n", page->to);
}

void page_section_end(struct page *page)
{
	fputs("</section>\n", page->to);
}

const char *page_line(const struct page *page, const struct profile_frame *frame)
{
	if (frame == NULL || frame->path == NULL)
		return NULL;
	const char *path = paths_normal(frame->path);
	for (size_t i = 0; i < page->lines.main_count; i++) {
		const struct source_file *file = &page->lines.files[i];

		for (size_t j = 0; j < file->count && strcmp(path, file->path) == 0; j++)
			if (file->lines[j].number == frame->number)
				return text_made("line-%zu-%lld", i, (long long)frame->number);
	}
	return NULL;
}

long page_share(int64_t part, int64_t whole)
{
	if (part <= 0 || whole <= 0)
		return 0;
	return part < whole ? (long)((__int128_t)part * 10000 / whole) : 10000;
}

void page_swatch(FILE *to, const char *kind, const char *text)
{
	fprintf(to,
		"<li><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"%s\" "
		"width=\"10\" height=\"10\"/></svg>",
		kind);
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
	for (int part = 0; part < TEXT_STATES; part++) {
		fprintf(to, "<path class=\"%s\" d=\"", text_states[part].field);
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

void page_bar(FILE *to, const char *kind, int64_t part, int64_t whole)
{
	fprintf(to,
		"<svg class=\"bar\" viewBox=\"0 0 10000 10\" preserveAspectRatio=\"none\" "
		"aria-hidden=\"true\"><rect class=\"%s\" width=\"%ld\" height=\"10\"/></svg>\n",
		kind, page_share(part, whole));
}
