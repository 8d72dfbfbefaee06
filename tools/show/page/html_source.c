/*
 * html_source.c - the sources that took most time, with the figures of `hotpin annotate`.
 *
 * The text of a source that is found when the page is written becomes part of the page.
 */
#include "show/page/html.h"
#include "analyze/host_code.h"
#include "system/messages.h"
#include "show/page/page.h"
#include "names/paths.h"
#include "profile/texts.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define FILES_MOST   5
#define LINE_COLUMNS 300

static struct {
	const char *path;
	struct annotate_lines lines;
} files[FILES_MOST];
static size_t file_count;

static void headings(FILE *to, const struct profile *profile)
{
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"source lines\">"
	      "<table class=\"code\">\n<thead><tr>",
	      to);
	for (int column = 0; column < ANNOTATE_COLUMNS; column++)
		if (annotate_has(profile, (enum annotate_column)column))
			fprintf(to, "<th scope=\"col\">%s</th>", annotate_headings[column]);
	fputs("<th scope=\"col\">line</th><th scope=\"col\" class=\"text\">source</th></tr></thead>"
	      "\n<tbody>",
	      to);
}

static void line_row(FILE *to, const struct profile *profile, const struct annotate_line *line)
{
	static const struct line_sum none = { 0 };

	fprintf(to, "<tr id=\"line-%zu-%lld\"%s>", file_count, (long long)line->number,
		line->row != NULL ? " class=\"hot\"" : "");
	for (int column = 0; column < ANNOTATE_COLUMNS; column++)
		if (annotate_has(profile, (enum annotate_column)column))
			fprintf(to, "<td>%s</td>",
				annotate_figure(profile,
						line->row != NULL ? &line->row->sum : &none,
						(enum annotate_column)column));
	fprintf(to, "<td>%lld</td><td class=\"text\">", (long long)line->number);
	if (line->text != NULL) {
		page_text(to, line->text[0] != '\0' ? text_name(line->text, LINE_COLUMNS) : "");
	} else {
		fputs("in ", to);
		page_text(to, line->row->frame->function != NULL
				      ? text_name(line->row->frame->function, LINE_COLUMNS)
				      : "?");
	}
	fputs("</td></tr>\n", to);
}

static void note(FILE *to, const char *before, const char *what, const char *after)
{
	fprintf(to, "<p class=\"note\">%s", before);
	page_text(to, what);
	fprintf(to, "%s</p>\n", after);
}

static void notes(FILE *to, const char *path, const struct annotate_lines *lines)
{
	if (lines->why != NULL && path[0] == '<')
		note(to, "This code was in no file", "", ".");
	else if (lines->why != NULL)
		note(to, "The source is not shown: ", lines->why,
		     "; --source DIR looks in DIR, too.");
	if (lines->path != NULL && strcmp(lines->path, path) != 0)
		note(to, "Read from ", text_name(lines->path, 200), ".");
	if (lines->older != NULL)
		note(to, "The source was changed after ", text_name(lines->older, 60),
		     " was built: other lines may have run.");
	if (lines->is_cut)
		note(to, "The source ends before the last lines", "",
		     ": it is not the one that ran.");
}

static void summary(FILE *to, const struct profile *profile, const struct line_file *file)
{
	fprintf(to, "<details%s><summary>", file_count == 0 ? " open=\"\"" : "");
	page_text(to, text_name(file->path, 200));
	if (file->sum.call_ns > 0)
		fprintf(to, ": copies took %s", text_time(file->sum.call_ns));
	if (file->sum.samples > 0)
		fprintf(to, "%s host code took %s", file->sum.call_ns > 0 ? "," : ":",
			text_time(host_code_ns(profile, file->sum.samples)));
	fputs("</summary>\n", to);
}

static void source_file(FILE *to, struct profile *profile, const struct line_file *file,
			const struct source_where *where)
{
	struct annotate_lines *lines = &files[file_count].lines;
	int64_t before = 0;

	annotate_lines_read(profile, file, where, lines);
	summary(to, profile, file);
	notes(to, file->path, lines);
	headings(to, profile);
	for (size_t i = 0; i < lines->count; i++) {
		if (i > 0 && before + 1 != lines->items[i].number)
			fputs("</tbody>\n<tbody>", to);
		line_row(to, profile, &lines->items[i]);
		before = lines->items[i].number;
	}
	fputs("</tbody></table></div></details>\n", to);
	files[file_count++].path = file->path;
}

static void say_rest(FILE *to, const struct profile *profile, const struct line_table *table)
{
	if (table->count > file_count)
		fprintf(to, "<p class=\"soft\">Less time is in %s.</p>\n",
			text_several((int64_t)(table->count - file_count), "more file",
				     "more files"));
	if (profile->launches_rest.kernels > 0)
		fprintf(to, "<p class=\"soft\">Launched from no known place: %s, %s.</p>\n",
			text_several(profile->launches_rest.kernels, "kernel", "kernels"),
			text_time(profile->launches_rest.device_ns));
	if (table->cuda_samples > 0)
		fprintf(to,
			"<p class=\"soft\">%s of CPU time inside CUDA's libraries is in no "
			"line.</p>\n",
			text_time(host_code_ns(profile, table->cuda_samples)));
}

void html_source(FILE *to, struct profile *profile, const struct source_where *where)
{
	struct line_table table;

	file_count = 0;
	lines_sum(profile, &table);
	if (table.count == 0)
		return;
	page_section(to, "source", NULL);
	page_element(to, "p class=\"soft\"",
		     annotate_has(profile, ANNOTATE_KERNELS)
			     ? "The lines that matter. At call: host time inside calls that copy. "
			       "Kernels: time on the GPU of what a line launches, with ~ if a part "
			       "of it is an estimate. Host: CPU time outside CUDA, by samples."
			     : "The lines that matter. At call: host time inside calls that copy. "
			       "Host: CPU time outside CUDA, by samples.");
	for (size_t i = 0; i < table.count && i < FILES_MOST; i++) {
		/* Stops at files below a hundredth of the first one's time. */
		if (lines_ns(profile, &table.files[i].sum) <
		    lines_ns(profile, &table.files[0].sum) / 100)
			break;
		source_file(to, profile, &table.files[i], where);
	}
	say_rest(to, profile, &table);
	page_section_end(to);
}

bool html_source_say(void)
{
	bool any = false;

	for (size_t i = 0; i < file_count; i++) {
		if (files[i].lines.why != NULL)
			continue;
		hotpin_say("the page contains lines of %s", text_name(files[i].lines.path, 200));
		any = true;
	}
	return any;
}

bool html_source_anchor(const struct profile_frame *frame, char *ret, size_t room)
{
	char path[PATH_MAX];

	if (frame == NULL || frame->path == NULL || strlen(frame->path) + 2 > sizeof(path))
		return false;
	strcpy(path, frame->path);
	paths_normalize(path);
	for (size_t file = 0; file < file_count; file++) {
		const struct annotate_lines *lines = &files[file].lines;

		for (size_t i = 0; i < lines->count && strcmp(path, files[file].path) == 0; i++)
			if (lines->items[i].number == frame->number) {
				snprintf(ret, room, "line-%zu-%lld", file,
					 (long long)frame->number);
				return true;
			}
	}
	return false;
}
