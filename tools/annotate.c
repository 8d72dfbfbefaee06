/*
 * annotate.c - `hotpin annotate`: source lines with the time that they took.
 *
 * Sources are shown as they are now.  If one was changed after its program was built, that is said.
 */
#include "hotpin.h"
#include "host_code.h"
#include "lines.h"
#include "names.h"
#include "paths.h"
#include "show.h"
#include "source.h"
#include "base/parse.h"
#include "base/units.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MOST   5
#define CONTEXT      3 /* lines before and after each line that matters */
#define SOURCE_LEAST 30
#define WIDTH_LEAST  24
#define WIDTH_MOST   1000
#define FIGURE_WIDTH 9

enum column { COPIES, BYTES, AT_CALL, HOST, COLUMN_COUNT };

static const char *const headings[COLUMN_COUNT] = { "copies", "bytes", "at call", "host" };

struct layout {
	bool shown[COLUMN_COUNT];
	int number_width, figures_width; /* figures_width: up to the number's end */
	size_t source_width;
};

struct request {
	struct profile *profile;
	const char *file; /* NULL: those with most time */
	const char **folders;
	size_t folder_count, width;
};

/* Of the terminal, or of COLUMNS; text for a file or pipe is not cut. */
static size_t output_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	unsigned long width = columns != NULL ? strtoul(columns, NULL, 10) : 0;

	if (width == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	if (width == 0 || width > WIDTH_MOST)
		return WIDTH_MOST;
	return width > WIDTH_LEAST ? width : WIDTH_LEAST;
}

/* Prints a paragraph in lines of `width`; those after the first are indented. */
static void say(size_t width, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(size_t width, const char *format, ...)
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
static struct layout layout_of(const struct request *request, int number_width)
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

/* The end of a path that is too long says most. */
static const char *path_end(const char *path, size_t columns)
{
	static char shorter[WIDTH_MOST + 8];
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
static int64_t show_source(const struct request *request, const struct source *source,
			   const struct layout *layout, const struct line_row *const *rows,
			   size_t count)
{
	int64_t number = 0, last = 0;
	size_t at = 0, next = 0, bytes;
	const char *line;
	char text[4 * WIDTH_MOST];

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

static void show_head(const struct request *request, const struct line_file *file,
		      const struct source *source, int error)
{
	const struct profile *profile = request->profile;
	size_t columns = request->width < 200 ? request->width : 200;
	const char *older = error == 0 ? older_module(profile, file, source) : NULL;

	printf("\n%s\n", path_end(file->path, columns));
	if (error == 0 && strcmp(source->path, file->path) != 0)
		printf("  read from %s\n", path_end(source->path, columns - 12));
	if (profile->sites != NULL)
		say(request->width, "  copies took %s", show_time(file->sum.call_ns));
	if (profile->sample_count > 0)
		say(request->width, "  host code took %s",
		    show_time(host_code_ns(profile, file->sum.samples)));
	if (older != NULL)
		say(request->width,
		    "  note: the source was changed after %s was built; other lines may have run",
		    show_text(older, 60));
	if (error != 0)
		say(request->width,
		    "  note: the source cannot be read: %s; --source DIR looks in DIR, too",
		    strerror(-error));
}

/* False where the source was not found. */
static bool show_file(const struct request *request, const struct line_file *file)
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
		say(request->width,
		    "  note: the source ends before these lines; it is not the one that ran");
	for (; next < count; next++) {
		snprintf(place, sizeof(place), "in %s",
			 rows[next]->frame->function != NULL ? rows[next]->frame->function : "?");
		show_row(profile, &layout, rows[next], rows[next]->number, place);
	}
	source_close(&source);
	return error == 0;
}

/* Says what the columns are, what they lack, and what no line shows. */
static void show_foot(const struct request *request, const struct line_table *table)
{
	const struct profile *profile = request->profile;
	const struct line_sum *none = &table->placeless;

	putchar('\n');
	say(request->width, "%s",
	    profile->sites != NULL ? "at call: host time inside calls that copy"
				   : "copies: the profile has no call sites");
	if (profile->sample_count > 0)
		say(request->width, "host: CPU time in user space outside CUDA, by samples");
	else
		say(request->width, "host code was not sampled: %s",
		    profile->sampling.why != NULL ? show_text(profile->sampling.why, 200)
						  : "the profile has no samples");
	say(request->width, "launches: the profile does not say which lines launch kernels");
	if (none->copies != 0)
		say(request->width, "without a source line: %s, %s",
		    show_several(none->copies, "copy", "copies"), show_time(none->call_ns));
	if (none->samples != 0)
		say(request->width, "without a source line: %s of host code",
		    show_time(host_code_ns(profile, none->samples)));
	if (table->cuda_samples > 0)
		say(request->width, "inside CUDA's libraries, in no line: %s of CPU time",
		    show_time(host_code_ns(profile, table->cuda_samples)));
}

static void show_title(const struct request *request)
{
	const struct profile *profile = request->profile;

	if (profile->stage == NULL)
		say(request->width, "%s: %s", show_text(profile->path, 200),
		    show_text(profile->process.program, 32));
	else
		say(request->width, "%s: %s, stage \"%s\"", show_text(profile->path, 200),
		    show_text(profile->process.program, 32), show_text(profile->stage, 80));
	if (profile->other_build != NULL)
		say(request->width,
		    "  note: %s differs from the file that was profiled; its lines are not known",
		    show_text(profile->other_build, 200));
}

/* The files of which most of the last parts agree with `name`, as it is and as its real path. */
static size_t files_named(const struct line_table *table, const char *name,
			  const struct line_file **ret)
{
	char wanted[PATH_MAX], real[PATH_MAX] = "";
	size_t most = 0, found = 0, parts = 1;

	if (strlen(name) + 2 > sizeof(wanted))
		return 0;
	strcpy(wanted, name);
	paths_normalize(wanted);
	bool there = realpath(name, real) != NULL;
	for (const char *at = wanted + 1; wanted[0] != '\0' && *at != '\0'; at++)
		parts += *at == '/';
	for (size_t i = 0; i < table->count; i++) {
		size_t common = paths_common_parts(table->files[i].path, wanted);

		if (!there && common < parts)
			continue;
		if (there && paths_common_parts(table->files[i].path, real) > common)
			common = paths_common_parts(table->files[i].path, real);
		if (common > most)
			found = 0;
		if (common > most || (common == most && most > 0)) {
			most = common;
			ret[found++] = &table->files[i];
		}
	}
	return found;
}

static int annotate_one(const struct request *request, const struct line_table *table)
{
	const struct line_file **found =
		profile_allocate(request->profile, table->count, sizeof(*found));
	size_t count = files_named(table, request->file, found);

	if (count == 1) {
		show_title(request);
		bool there = show_file(request, found[0]);
		show_foot(request, table);
		return there ? 0 : EXIT_FAILURE;
	}
	hotpin_say(count == 0 ? "the profile has nothing at %s; it has lines of"
			      : "%s may be any of",
		   show_text(request->file, 200));
	for (size_t i = 0; i < (count == 0 ? table->count : count) && i < 20; i++)
		fprintf(stderr, "  %s\n",
			show_text(count == 0 ? table->files[i].path : found[i]->path, 200));
	return EXIT_FAILURE;
}

static int annotate_most(const struct request *request, const struct line_table *table)
{
	const struct profile *profile = request->profile;
	size_t shown = 0;

	show_title(request);
	for (; shown < table->count && shown < FILES_MOST; shown++) {
		/* Below a hundredth of the first one's. */
		if (lines_ns(profile, &table->files[shown].sum) <
		    lines_ns(profile, &table->files[0].sum) / 100)
			break;
		show_file(request, &table->files[shown]);
	}
	if (shown < table->count)
		printf("\nless time in %s:\n",
		       show_several((int64_t)(table->count - shown), "more file", "more files"));
	for (size_t i = shown; i < table->count && i < shown + FILES_MOST; i++)
		printf("  %9s  %s\n", show_time(lines_ns(profile, &table->files[i].sum)),
		       path_end(table->files[i].path, request->width - 13));
	show_foot(request, table);
	return 0;
}

static int annotate(const struct request *request)
{
	struct profile *profile = request->profile;
	struct line_table table;

	names_resolve(profile, 1, true);
	lines_sum(profile, &table);
	if (table.count > 0)
		return (request->file != NULL ? annotate_one : annotate_most)(request, &table);
	if (profile->site_count == 0 && profile->sample_count == 0)
		hotpin_say("%s has neither call sites of copies nor samples of host code",
			   show_text(profile->path, 200));
	else
		hotpin_say(
			"no source line is known: this takes addr2line, and the program that was "
			"profiled, compiled with -g");
	if (profile->other_build != NULL)
		hotpin_say("%s differs from the file that was profiled",
			   show_text(profile->other_build, 200));
	return EXIT_FAILURE;
}

int hotpin_annotate(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "source", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct profile profile;
	struct request request = { .profile = &profile, .width = output_width() };
	int option, status = EXIT_FAILURE;

	request.folders = calloc((size_t)argc, sizeof(*request.folders));
	if (request.folders == NULL)
		return EXIT_FAILURE;
	while ((option = getopt_long(argc, argv, "hs:", longs, NULL)) != -1) {
		if (option == 's') {
			request.folders[request.folder_count++] = optarg;
			continue;
		}
		free(request.folders);
		return option == 'h' ? hotpin_help("annotate") : hotpin_misused("annotate");
	}
	if (optind == argc || optind + 2 < argc) {
		hotpin_say(optind == argc ? "no profile to read"
					  : "one profile and one source file at a time");
		free(request.folders);
		return hotpin_misused("annotate");
	}
	request.file = argv[optind + 1];
	if (profile_open(argv[optind], &profile) == 0) {
		status = annotate(&request);
		profile_close(&profile);
	}
	free(request.folders);
	return status;
}
