/*
 * html_source.c - the sources that took most time, with the figures of `hotpin annotate`.
 *
 * The text of a source that is found when the page is written becomes part of the page.
 */
#include "show/page/html.h"
#include "analyze/host_code.h"
#include "analyze/source_lines.h"
#include "profile/texts.h"
#include "show/page/page.h"
#include "system/messages.h"

#include <stdio.h>
#include <string.h>

#define LINE_WIDTH 300

static void headings(FILE *to, const struct profile *profile)
{
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"source lines\">"
	      "<table class=\"code\">\n<thead><tr>",
	      to);
	for (int column = 0; column < LINE_COLUMNS; column++)
		if (line_has(profile, (enum line_column)column))
			fprintf(to, "<th scope=\"col\">%s</th>", line_headings[column]);
	fputs("<th scope=\"col\">line</th><th scope=\"col\" class=\"text\">source</th></tr></thead>"
	      "\n<tbody>",
	      to);
}

static void line_row(FILE *to, const struct profile *profile, size_t file,
		     const struct source_line *line)
{
	fprintf(to, "<tr id=\"line-%zu-%lld\"%s>", file, (long long)line->number,
		line->frame != NULL ? " class=\"hot\"" : "");
	for (enum line_column column = 0; column < LINE_COLUMNS; column++)
		if (line_has(profile, column))
			fprintf(to, "<td>%s</td>", line_figure(profile, &line->sum, column));
	fprintf(to, "<td>%lld</td><td class=\"text\">", (long long)line->number);
	if (line->text != NULL) {
		page_text(to, line->text[0] != '\0' ? text_name(line->text, LINE_WIDTH) : "");
	} else {
		fputs("in ", to);
		page_text(to, line->frame->function != NULL
				      ? text_name(line->frame->function, LINE_WIDTH)
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

static void notes(FILE *to, const struct source_file *file)
{
	if (file->why != NULL && file->path[0] == '<')
		note(to, "This code was in no file", "", ".");
	else if (file->why != NULL)
		note(to, "The source is not shown: ", file->why,
		     "; --source DIR looks in DIR, too.");
	if (file->found != NULL && strcmp(file->found, file->path) != 0)
		note(to, "Read from ", text_name(file->found, 200), ".");
	if (file->older != NULL)
		note(to, "The source was changed after ", text_name(file->older, 60),
		     " was built: other lines may have run.");
	if (file->is_cut)
		note(to, "The source ends before the last lines", "",
		     ": it is not the one that ran.");
}

static void summary(FILE *to, const struct profile *profile, const struct source_file *file,
		    bool is_first)
{
	fprintf(to, "<details%s><summary>", is_first ? " open=\"\"" : "");
	page_text(to, text_name(file->path, 200));
	if (file->sum.call_ns > 0)
		fprintf(to, ": copies took %s", text_time(file->sum.call_ns));
	if (file->sum.samples > 0)
		fprintf(to, "%s host code took %s", file->sum.call_ns > 0 ? "," : ":",
			text_time(host_code_ns(profile, file->sum.samples)));
	fputs("</summary>\n", to);
}

/* `number`: of the file on the page, from 0 on. */
static void source_file(FILE *to, struct profile *profile, const struct source_file *file,
			size_t number)
{
	int64_t before = file->lines[0].number - 1;

	summary(to, profile, file, number == 0);
	notes(to, file);
	headings(to, profile);
	for (size_t i = 0; i < file->count; i++) {
		if (before + 1 != file->lines[i].number)
			fputs("</tbody>\n<tbody>", to);
		line_row(to, profile, number, &file->lines[i]);
		before = file->lines[i].number;
	}
	fputs("</tbody></table></div></details>\n", to);
}

static void say_rest(FILE *to, const struct profile *profile, const struct source_lines *table)
{
	if (table->count > table->main_count)
		fprintf(to, "<p class=\"soft\">Less time is in %s.</p>\n",
			text_several((int64_t)(table->count - table->main_count), "more file",
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

void html_source(FILE *to, struct profile *profile, const struct source_where *where,
		 struct page_links *links)
{
	struct source_lines table;

	source_lines_sum(profile, &table);
	if (table.count == 0)
		return;
	page_section(to, "source", NULL);
	page_element(to, "p class=\"soft\"",
		     line_has(profile, LINE_KERNELS)
			     ? "The lines that matter. At call: host time inside calls that copy. "
			       "Kernels: time on the GPU of what a line launches, with ~ if a part "
			       "of it is an estimate. Host: CPU time outside CUDA, by samples."
			     : "The lines that matter. At call: host time inside calls that copy. "
			       "Host: CPU time outside CUDA, by samples.");
	for (size_t i = 0; i < table.main_count; i++) {
		source_lines_read(profile, &table.files[i], where);
		source_file(to, profile, &table.files[i], i);
	}
	links->files = table.files;
	links->file_count = table.main_count;
	say_rest(to, profile, &table);
	page_section_end(to);
}

bool html_source_say(const struct page_links *links)
{
	bool any = false;

	for (size_t i = 0; i < links->file_count; i++) {
		if (links->files[i].why != NULL)
			continue;
		hotpin_say("the page contains lines of %s", text_name(links->files[i].found, 200));
		any = true;
	}
	return any;
}
