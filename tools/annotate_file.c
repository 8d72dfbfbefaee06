/*
 * annotate_file.c - one source with figures next to its lines.
 *
 * Sources are shown as they are now.  If one was changed after its program was built, that is said.
 */
#include "annotate_file.h"
#include "host_code.h"
#include "names.h"
#include "show.h"
#include "source.h"
#include "base/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CONTEXT      3 /* lines before and after each line that matters */
#define SOURCE_LEAST 30
#define FIGURE_WIDTH 9

enum column { COPIES, BYTES, AT_CALL, HOST, COLUMN_COUNT };

static const char *const headings[COLUMN_COUNT] = { "copies", "bytes", "at call", "host" };

struct layout {
	bool shown[COLUMN_COUNT];
	int number_width, figures_width; /* figures_width: up to the number's end */
	size_t source_width;
};

void annotate_say(size_t width, const char *format, ...)
{
	char text[SHOW_BYTES(800)], *rest = text, *word;
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

/* Figures give way where the source would have too little room, times last. */
static struct layout layout_of(const struct annotate_request *request, int number_width)
{
	static const enum column order[] = { COPIES, BYTES, HOST };
	struct layout layout = { .number_width = number_width };
	size_t used = (size_t)number_width + 3, given = 0;

	for (int column = 0; column < COLUMN_COUNT; column++) {
		layout.shown[column] = column == HOST ? request->profile->sample_count > 0
						      : request->profile->site_count > 0;
		used += layout.shown[column] ? FIGURE_WIDTH + 1 : 0;
	}
	for (; used + SOURCE_LEAST > request->width && given < HP_LEN(order); given++) {
		/* The last column of time stays. */
		if (order[given] == HOST && !layout.shown[AT_CALL])
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
	static char shorter[ANNOTATE_WIDTH_MOST + 8];
	size_t length = strlen(path);

	if (length <= columns)
		return show_text(path, columns);
	const char *end = path + length - (columns - 2);
	while (((unsigned char)*end & 0xc0) == 0x80)
		end++;
	snprintf(shorter, sizeof(shorter), "..%s", end);
	return show_text(shorter, columns);
}

/* A line as text without tabs, cut at `room`. */
static const char *expanded(const char *line, size_t bytes, char *ret, size_t room)
{
	size_t used = 0, column = 0;

	if (bytes > 0 && line[bytes - 1] == '\r')
		bytes--;
	for (size_t i = 0; i < bytes && used + 9 < room; i++) {
		if (line[i] == '\t') {
			do
				ret[used++] = ' ';
			while (++column % 8 != 0);
		} else if (line[i] == '\0') {
			memcpy(ret + used, "\\x00", 4);
			used += 4;
			column += 4;
		} else {
			ret[used++] = line[i];
			column += ((unsigned char)line[i] & 0xc0) != 0x80;
		}
	}
	while (used > 0 && ret[used - 1] == ' ')
		used--;
	ret[used] = '\0';
	return ret;
}

static const char *figure(const struct profile *profile, const struct line_sum *sum,
			  enum column column)
{
	switch (column) {
	case COPIES:
		return sum->copies == 0 ? "" : show_count(sum->copies);
	case BYTES:
		return sum->copies == 0 ? "" : show_bytes(sum->bytes);
	case AT_CALL:
		return sum->copies == 0 ? "" : show_time(sum->call_ns);
	default:
		return sum->samples == 0 ? "" : show_time(host_code_ns(profile, sum->samples));
	}
}

static void show_row(const struct profile *profile, const struct layout *layout,
		     const struct line_row *row, int64_t number, const char *text)
{
	static const struct line_sum none = { 0 };

	for (enum column column = 0; column < COLUMN_COUNT; column++)
		if (layout->shown[column])
			printf(" %*s", FIGURE_WIDTH,
			       figure(profile, row != NULL ? &row->sum : &none, column));
	printf(" %*lld", layout->number_width, (long long)number);
	if (text[0] != '\0')
		printf("  %s", show_text(text, layout->source_width));
	putchar('\n');
}

static void show_headings(const struct layout *layout)
{
	for (int column = 0; column < COLUMN_COUNT; column++)
		if (layout->shown[column])
			printf(" %*s", FIGURE_WIDTH, headings[column]);
	printf(" %*s\n", layout->number_width, "line");
}

/* A hundredth of its file's time, a twentieth of its samples, or the most time of any line. */
static bool matters(const struct profile *profile, const struct line_file *file,
		    const struct line_row *row, int64_t most_ns)
{
	int64_t ns = lines_ns(profile, &row->sum);

	return ns == most_ns || ns > lines_ns(profile, &file->sum) / 100 ||
	       row->sum.samples > file->sum.samples / 20;
}

/* The rows to show a source by: all of them, or those that matter. */
static const struct line_row **rows_of(struct profile *profile, const struct line_file *file,
				       bool all, size_t *ret_count)
{
	const struct line_row **rows = profile_allocate(profile, file->count, sizeof(*rows));

	int64_t most_ns = 0;

	*ret_count = 0;
	for (size_t i = 0; i < file->count; i++) {
		int64_t ns = lines_ns(profile, &file->rows[i].sum);

		most_ns = ns > most_ns ? ns : most_ns;
	}
	for (size_t i = 0; i < file->count; i++)
		if (all || matters(profile, file, &file->rows[i], most_ns))
			rows[(*ret_count)++] = &file->rows[i];
	return rows;
}

static int digits(int64_t number)
{
	return snprintf(NULL, 0, "%lld", (long long)number);
}

/* Lines of the source, whole or around the rows; returns the number of the last one. */
static int64_t show_source(const struct annotate_request *request, const struct source *source,
			   const struct layout *layout, const struct line_row *const *rows,
			   size_t count)
{
	int64_t number = 0, last = 0;
	size_t at = 0, next = 0, bytes;
	const char *line;
	char text[4 * ANNOTATE_WIDTH_MOST];

	while (source_next_line(source, &at, &line, &bytes)) {
		number++;
		while (next < count && rows[next]->number + CONTEXT < number)
			next++;
		bool near = next < count && rows[next]->number - CONTEXT <= number;
		if (request->file == NULL && !near)
			continue;
		if (last + 1 != number)
			printf("%*s\n", layout->figures_width, "..");
		last = number;
		const struct line_row *row = NULL;
		for (size_t i = next; i < count && rows[i]->number <= number; i++)
			if (rows[i]->number == number)
				row = rows[i];
		show_row(request->profile, layout, row, number,
			 expanded(line, bytes, text, sizeof(text)));
	}
	return number;
}

/* The program or library that is older than its source; NULL: none is. */
static const char *older_module(const struct profile *profile, const struct line_file *file,
				const struct source *source)
{
	struct stat status;

	for (size_t i = 0; i < file->count; i++) {
		int64_t module = file->rows[i].frame->module;

		if (module >= 0 && profile->modules[module].path != NULL &&
		    (i == 0 || module != file->rows[i - 1].frame->module) &&
		    stat(profile->modules[module].path, &status) == 0 &&
		    status.st_mtime < source->modified)
			return names_module(profile, file->rows[i].frame);
	}
	return NULL;
}

static void show_head(const struct annotate_request *request, const struct line_file *file,
		      const struct source *source, int error)
{
	const struct profile *profile = request->profile;
	size_t columns = request->width < 200 ? request->width : 200;
	const char *older = error == 0 ? older_module(profile, file, source) : NULL;

	printf("\n%s\n", annotate_path_end(file->path, columns));
	if (error == 0 && strcmp(source->path, file->path) != 0)
		printf("  read from %s\n", annotate_path_end(source->path, columns - 12));
	if (profile->sites != NULL)
		annotate_say(request->width, "  copies took %s", show_time(file->sum.call_ns));
	if (profile->sample_count > 0)
		annotate_say(request->width, "  host code took %s",
			     show_time(host_code_ns(profile, file->sum.samples)));
	if (older != NULL)
		annotate_say(
			request->width,
			"  note: the source was changed after %s was built; other lines may have run",
			show_text(older, 60));
	if (error != 0)
		annotate_say(
			request->width,
			"  note: the source cannot be read: %s; --source DIR looks in DIR, too",
			strerror(-error));
}

bool annotate_file(const struct annotate_request *request, const struct line_file *file)
{
	struct source source;
	struct profile *profile = request->profile;
	size_t count, next = 0;
	const struct line_row **rows = rows_of(profile, file, request->file != NULL, &count);
	int error = source_open(file->path, request->folders, request->folder_count, request->file,
				&source);
	int64_t last = rows[count - 1]->number, end = 0;
	int width = digits(last + CONTEXT);
	struct layout layout = layout_of(request, width > 4 ? width : 4);
	char place[512];

	show_head(request, file, &source, error);
	show_headings(&layout);
	if (error == 0)
		end = show_source(request, &source, &layout, rows, count);
	while (next < count && rows[next]->number <= end)
		next++;
	if (error == 0 && next < count)
		annotate_say(
			request->width,
			"  note: the source ends before these lines; it is not the one that ran");
	for (; next < count; next++) {
		snprintf(place, sizeof(place), "in %s",
			 rows[next]->frame->function != NULL ? rows[next]->frame->function : "?");
		show_row(profile, &layout, rows[next], rows[next]->number, place);
	}
	source_close(&source);
	return error == 0;
}
