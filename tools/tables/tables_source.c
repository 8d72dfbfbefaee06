/*
 * tables_source.c - the lines of a program's sources with the time that they took.
 */
#include "tables/tables.h"
#include "analyze/host_code.h"
#include "analyze/source_lines.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <string.h>

static const struct table_column line_columns[] = {
	{ "source", NULL, TABLE_TEXT },
	{ "copies", "copies", TABLE_COUNT, 5, TABLE_AT(source_line, sum.copies) },
	{ "bytes", "bytes", TABLE_BYTES, 4, TABLE_AT(source_line, sum.bytes) },
	{ "call_ns", "at call", TABLE_TIME, TABLE_AT(source_line, sum.call_ns) },
	{ "launches", "launches", TABLE_COUNT, 3, TABLE_AT(source_line, sum.launches) },
	{ "device_ns", "kernels", TABLE_TIME, 2 },
	{ "host_ns", "host", TABLE_TIME, 1 },
	{ "line", "line", TABLE_NUMBER, TABLE_AT(source_line, number) },
	{ NULL, "source", TABLE_TEXT },
};

/* An estimate is a sum of which more than a hundredth is one. */
static struct table_cell kernels(const struct line_sum *sum)
{
	return table_about(sum->estimated_ns > sum->device_ns / 100 ? "~" : "",
			   sum->launches != 0 ? sum->device_ns : 0);
}

static struct table_row *add_line(struct table_rows *rows, const struct profile *profile,
				  const struct source_file *file, const struct source_line *line)
{
	struct table_cell text = table_text(line->text);

	if (line->text == NULL)
		text = table_text(text_made(
			"in %s", line->frame->function != NULL ? line->frame->function : "?"));
	struct table_row *row = TABLE_ROW(
		rows, line, table_text(file->path), kernels(&line->sum),
		table_number(line->sum.samples != 0 ? host_code_ns(profile, line->sum.samples) : 0),
		text);
	row->is_hot = line->frame != NULL;
	return row;
}

/* Says how long the file took, and what a reader must know of its source. */
static void say_file(struct table_rows *rows, const struct profile *profile,
		     const struct source_file *file)
{
	const struct line_sum *sum = &file->sum;
	const char *text = text_made(
		"%s%s%s", text_if(sum->copies != 0, ", copies took %s", text_time(sum->call_ns)),
		text_if(sum->launches > 0 && sum->device_ns >= 0,
			", kernels launched there took %s%s", kernels(sum).text,
			text_time(sum->device_ns)),
		text_if(sum->samples > 0, ", host code took %s",
			text_time(host_code_ns(profile, sum->samples))));

	rows->title = text_made("%s%s", text_name(file->path, 200),
				text_if(text[0] != '\0', ":%s", text + 1));
	if (file->why != NULL && file->path[0] == '<')
		table_say(rows, "note: this code was in no file");
	else if (file->why != NULL)
		table_say(rows, "note: the source is not shown: %s; --source DIR looks in DIR, too",
			  file->why);
	if (file->found != NULL && strcmp(file->found, file->path) != 0)
		table_say(rows, "read from %s", text_name(file->found, 200));
	if (file->older != NULL)
		table_say(rows,
			  "note: the source was changed after %s was built; other lines may have "
			  "run",
			  text_name(file->older, 60));
	if (file->is_cut)
		table_say(rows, "note: the source ends before the last lines; it is not the one "
				"that ran");
}

/* Of all files as CSV, else of the file that the caller has read. */
static void fill_line(struct table_rows *rows, struct profile *profile)
{
	const struct source_view *view = rows->with;
	struct source_lines all = { 0 };

	if (view == NULL)
		source_lines_sum(profile, &all);
	for (size_t i = 0; i < all.count; i++)
		for (size_t j = 0; j < all.files[i].count; j++)
			add_line(rows, profile, &all.files[i], &all.files[i].lines[j]);
	for (size_t i = 0; view != NULL && i < view->file->count; i++) {
		const struct source_line *line = &view->file->lines[i];
		struct table_row *row = add_line(rows, profile, view->file, line);

		row->is_apart =
			line->text != NULL && (i > 0 ? line[-1].number : 0) + 1 != line->number;
		if (rows->form == TABLE_PAGE)
			row->anchor =
				text_made("line-%zu-%lld", view->number, (long long)line->number);
	}
	if (view != NULL)
		say_file(rows, profile, view->file);
}

/* clang-format off */
const struct table table_lines = { "lines", NULL, "lines of sources, as `hotpin annotate` shows "
"them", TABLE_FILL(line), .in_order = true, .is_source = true };
/* clang-format on */
