/*
 * annotate_file.c - prints one source file with figures next to its lines.
 *
 * The source is read in its present state.  A note is printed if it changed after the build.
 */
#include "show/annotate_file.h"
#include "show/annotated_source.h"
#include "analyze/host_code.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SOURCE_LEAST 30
#define FIGURE_WIDTH 9

struct layout {
	bool shown[ANNOTATE_COLUMNS];
	int number_width, figures_width; /* figures_width: width up to the line number's end */
	size_t source_width;
};

void annotate_say(size_t width, const char *format, ...)
{
	char text[TEXT_BYTES(800)], *rest = text, *word;
	size_t column = 0;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	while ((word = strsep(&rest, " ")) != NULL) {
		if (column > 0 && column + 1 + strlen(word) > width)
			column = (size_t)printf("\n    %s", word) - 1;
		else
			column += (size_t)printf(word == text ? "%s" : " %s", word);
	}
	putchar('\n');
}

/* Drops columns of figures if the source would have too little room; times are dropped last. */
static struct layout layout_of(const struct annotate_request *request, int number_width)
{
	static const enum annotate_column order[] = { ANNOTATE_COPIES, ANNOTATE_BYTES,
						      ANNOTATE_LAUNCHES, ANNOTATE_KERNELS,
						      ANNOTATE_HOST };
	struct layout layout = { .number_width = number_width };
	size_t used = (size_t)number_width + 3, given = 0;

	for (int column = 0; column < ANNOTATE_COLUMNS; column++) {
		layout.shown[column] = annotate_has(request->profile, (enum annotate_column)column);
		used += layout.shown[column] ? FIGURE_WIDTH + 1 : 0;
	}
	for (; used + SOURCE_LEAST > request->width && given < HP_LEN(order); given++) {
		/* At least one column of time stays. */
		if (order[given] == ANNOTATE_HOST && !layout.shown[ANNOTATE_AT_CALL])
			break;
		used -= layout.shown[order[given]] ? FIGURE_WIDTH + 1 : 0;
		layout.shown[order[given]] = false;
	}
	layout.figures_width = (int)used - 2;
	layout.source_width = used + 2 < request->width ? request->width - used : 2;
	return layout;
}

const char *annotate_path_end(const char *path, size_t columns)
{
	char shorter[ANNOTATE_WIDTH_MOST + 8];
	size_t length = strlen(path);

	if (length <= columns)
		return text_name(path, columns);
	const char *end = path + length - (columns - 2);
	while (((unsigned char)*end & 0xc0) == 0x80)
		end++;
	snprintf(shorter, sizeof(shorter), "..%s", end);
	return text_name(shorter, columns);
}

static void show_row(const struct profile *profile, const struct layout *layout,
		     const struct line_row *row, int64_t number, const char *text)
{
	static const struct line_sum none = { 0 };

	for (enum annotate_column column = 0; column < ANNOTATE_COLUMNS; column++)
		if (layout->shown[column])
			printf(" %*s", FIGURE_WIDTH,
			       annotate_figure(profile, row != NULL ? &row->sum : &none, column));
	printf(" %*lld", layout->number_width, (long long)number);
	if (text[0] != '\0')
		printf("  %s", text_name(text, layout->source_width));
	putchar('\n');
}

static void show_headings(const struct layout *layout)
{
	for (int column = 0; column < ANNOTATE_COLUMNS; column++)
		if (layout->shown[column])
			printf(" %*s", FIGURE_WIDTH, annotate_headings[column]);
	printf(" %*s\n", layout->number_width, "line");
}

static int digits(int64_t number)
{
	return snprintf(NULL, 0, "%lld", (long long)number);
}

static void show_head(const struct annotate_request *request, const struct line_file *file,
		      const struct annotate_lines *lines)
{
	const struct profile *profile = request->profile;
	size_t columns = request->width < 200 ? request->width : 200;

	printf("\n%s\n", annotate_path_end(file->path, columns));
	if (lines->why == NULL && strcmp(lines->path, file->path) != 0)
		printf("  read from %s\n", annotate_path_end(lines->path, columns - 12));
	if (profile->sites != NULL)
		annotate_say(request->width, "  copies took %s", text_time(file->sum.call_ns));
	if (file->sum.launches > 0 && annotate_has(profile, ANNOTATE_KERNELS))
		annotate_say(request->width, "  kernels launched there took %s",
			     annotate_figure(profile, &file->sum, ANNOTATE_KERNELS));
	if (lines_has_host(profile))
		annotate_say(request->width, "  host code took %s",
			     text_time(host_code_ns(profile, file->sum.samples)));
	if (lines->older != NULL)
		annotate_say(
			request->width,
			"  note: the source was changed after %s was built; other lines may have run",
			text_name(lines->older, 60));
	if (lines->why != NULL && file->path[0] == '<')
		annotate_say(request->width, "  note: this code was in no file");
	else if (lines->why != NULL)
		annotate_say(request->width,
			     "  note: the source is not shown: %s; --source DIR looks in DIR, too",
			     lines->why);
}

bool annotate_file(const struct annotate_request *request, const struct line_file *file)
{
	struct annotate_lines lines;
	int64_t before = 0;
	char place[512];

	annotate_lines_read(request->profile, file, &request->where, &lines);
	int width = digits(lines.last + 3);
	struct layout layout = layout_of(request, width > 4 ? width : 4);
	show_head(request, file, &lines);
	show_headings(&layout);
	for (size_t i = 0; i < lines.count; i++) {
		const struct annotate_line *line = &lines.items[i];

		if (line->text != NULL && before + 1 != line->number)
			printf("%*s\n", layout.figures_width, "..");
		if (line->text == NULL && lines.is_cut && (i == 0 || line[-1].text != NULL))
			annotate_say(request->width, "  note: the source ends before these lines; "
						     "it is not the one that ran");
		if (line->text == NULL)
			snprintf(place, sizeof(place), "in %s",
				 line->row->frame->function != NULL ? line->row->frame->function
								    : "?");
		show_row(request->profile, &layout, line->row, line->number,
			 line->text != NULL ? line->text : place);
		before = line->number;
	}
	return lines.why == NULL;
}
