/*
 * annotate.c - `hotpin annotate`: prints source lines with the time that they took, and the time
 * that has no source line.
 *
 * A source is read in its present state.  A note is printed if it changed after the build.
 */
#include "analyze/host_code.h"
#include "analyze/source_lines.h"
#include "cmd/commands.h"
#include "names/names_find.h"
#include "profile/profile_open.h"
#include "profile/texts.h"
#include "system/messages.h"
#include "base/parse.h"

#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REST_MOST    5 /* files whose time alone is printed */
#define WIDTH_LEAST  24
#define WIDTH_MOST   1000
#define SOURCE_LEAST 30
#define FIGURE_WIDTH 9

struct request {
	struct profile *profile;
	struct source_where where; /* no file: those with most time */
	size_t width;
};

struct layout {
	bool shown[LINE_COLUMNS];
	int number_width, figures_width; /* figures_width: width up to the line number's end */
	size_t source_width;
};

/* Returns the width of the terminal, or COLUMNS.  Output to a file or pipe is not cut. */
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
__attribute__((format(printf, 2, 3))) static void say(size_t width, const char *format, ...)
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
static struct layout layout_of(const struct request *request, int number_width)
{
	static const enum line_column order[] = { LINE_COPIES, LINE_BYTES, LINE_LAUNCHES,
						  LINE_KERNELS, LINE_HOST };
	struct layout layout = { .number_width = number_width };
	size_t used = (size_t)number_width + 3, given = 0;

	for (int column = 0; column < LINE_COLUMNS; column++) {
		layout.shown[column] = line_has(request->profile, (enum line_column)column);
		used += layout.shown[column] ? FIGURE_WIDTH + 1 : 0;
	}
	for (; used + SOURCE_LEAST > request->width && given < HP_LEN(order); given++) {
		/* At least one column of time stays. */
		if (order[given] == LINE_HOST && !layout.shown[LINE_AT_CALL])
			break;
		used -= layout.shown[order[given]] ? FIGURE_WIDTH + 1 : 0;
		layout.shown[order[given]] = false;
	}
	layout.figures_width = (int)used - 2;
	layout.source_width = used + 2 < request->width ? request->width - used : 2;
	return layout;
}

/* Returns text_name() of the path, or of its end if the path is too long. */
static const char *path_end(const char *path, size_t columns)
{
	char shorter[WIDTH_MOST + 8];
	size_t length = strlen(path);

	if (length <= columns)
		return text_name(path, columns);
	const char *end = path + length - (columns - 2);
	while (((unsigned char)*end & 0xc0) == 0x80)
		end++;
	snprintf(shorter, sizeof(shorter), "..%s", end);
	return text_name(shorter, columns);
}

static void show_line(const struct profile *profile, const struct layout *layout,
		      const struct source_line *line)
{
	const char *text = line->text;
	char place[512];

	if (text == NULL) {
		const char *function = line->frame->function;

		snprintf(place, sizeof(place), "in %s", function != NULL ? function : "?");
		text = place;
	}
	for (enum line_column column = 0; column < LINE_COLUMNS; column++)
		if (layout->shown[column])
			printf(" %*s", FIGURE_WIDTH, line_figure(profile, &line->sum, column));
	printf(" %*lld", layout->number_width, (long long)line->number);
	if (text[0] != '\0')
		printf("  %s", text_name(text, layout->source_width));
	putchar('\n');
}

static void show_headings(const struct layout *layout)
{
	for (int column = 0; column < LINE_COLUMNS; column++)
		if (layout->shown[column])
			printf(" %*s", FIGURE_WIDTH, line_headings[column]);
	printf(" %*s\n", layout->number_width, "line");
}

static void show_head(const struct request *request, const struct source_file *file)
{
	const struct profile *profile = request->profile;
	size_t columns = request->width < 200 ? request->width : 200;

	printf("\n%s\n", path_end(file->path, columns));
	if (file->why == NULL && strcmp(file->found, file->path) != 0)
		printf("  read from %s\n", path_end(file->found, columns - 12));
	if (profile->sites != NULL)
		say(request->width, "  copies took %s", text_time(file->sum.call_ns));
	if (file->sum.launches > 0 && line_has(profile, LINE_KERNELS))
		say(request->width, "  kernels launched there took %s",
		    line_figure(profile, &file->sum, LINE_KERNELS));
	if (source_lines_have_host(profile))
		say(request->width, "  host code took %s",
		    text_time(host_code_ns(profile, file->sum.samples)));
	if (file->older != NULL)
		say(request->width,
		    "  note: the source was changed after %s was built; other lines may have run",
		    text_name(file->older, 60));
	if (file->why != NULL && file->path[0] == '<')
		say(request->width, "  note: this code was in no file");
	else if (file->why != NULL)
		say(request->width,
		    "  note: the source is not shown: %s; --source DIR looks in DIR, too",
		    file->why);
}

/*
 * Prints the whole file if the user named it, otherwise the lines with most time.  False if its
 * source cannot be read; its figures are printed nevertheless.
 */
static bool show_file(const struct request *request, struct source_file *file)
{
	source_lines_read(request->profile, file, &request->where);
	long long last = file->lines[file->count - 1].number;
	int width = snprintf(NULL, 0, "%lld", last);
	struct layout layout = layout_of(request, width > 4 ? width : 4);
	show_head(request, file);
	show_headings(&layout);
	for (const struct source_line *line = file->lines; line < file->lines + file->count;
	     line++) {
		bool is_first = line == file->lines;

		if (line->text != NULL && (is_first ? 0 : line[-1].number) + 1 != line->number)
			printf("%*s\n", layout.figures_width, "..");
		if (line->text == NULL && file->is_cut && (is_first || line[-1].text != NULL))
			say(request->width, "  note: the source ends before these lines; "
					    "it is not the one that ran");
		show_line(request->profile, &layout, line);
	}
	return file->why == NULL;
}

/* Explains the columns of launches and kernels. */
static void say_launches(const struct request *request, const struct source_lines *table)
{
	const struct profile *profile = request->profile;
	const struct line_sum *none = &table->placeless;
	bool with_kernels = line_has(profile, LINE_KERNELS);

	if (profile->launches == NULL)
		say(request->width,
		    "launches: the profile does not say which lines launch kernels");
	else if (!with_kernels)
		say(request->width,
		    "launches: calls that launch kernels or graphs; the profile does not "
		    "say which of the kernels' time is theirs");
	else
		say(request->width,
		    "launches: calls that launch kernels or graphs; kernels: their time "
		    "on the GPU, with ~ if a part of it is an estimate");
	if (none->launches != 0)
		say(request->width, "without a source line: %s%s%s",
		    text_several(none->launches, "launch", "launches"),
		    with_kernels ? ", kernels took " : "",
		    with_kernels ? line_figure(profile, none, LINE_KERNELS) : "");
	if (profile->launches_rest.kernels > 0)
		say(request->width, "launched from no known place: %s, %s",
		    text_several(profile->launches_rest.kernels, "kernel", "kernels"),
		    text_time(profile->launches_rest.device_ns));
}

/* Explains the columns, and reports the time that no line shows. */
static void show_foot(const struct request *request, const struct source_lines *table)
{
	const struct profile *profile = request->profile;
	const struct line_sum *none = &table->placeless;

	putchar('\n');
	say(request->width, "%s",
	    profile->sites != NULL ? "at call: host time inside calls that copy"
				   : "copies: the profile has no call sites");
	if (source_lines_have_host(profile))
		say(request->width, "host: CPU time in user space outside CUDA, by samples");
	else
		say(request->width, "host code was not sampled: %s",
		    profile->sampling.why != NULL ? text_name(profile->sampling.why, 200)
						  : "the profile has no samples");
	if (profile->python_count > 0)
		say(request->width,
		    "lines of Python: CPU time with all that they call, CUDA included");
	say_launches(request, table);
	if (none->copies != 0)
		say(request->width, "without a source line: %s, %s",
		    text_several(none->copies, "copy", "copies"), text_time(none->call_ns));
	if (none->samples != 0)
		say(request->width, "without a source line: %s of host code",
		    text_time(host_code_ns(profile, none->samples)));
	if (table->cuda_samples > 0)
		say(request->width, "inside CUDA's libraries, in no line: %s of CPU time",
		    text_time(host_code_ns(profile, table->cuda_samples)));
}

static void show_title(const struct request *request)
{
	const struct profile *profile = request->profile;

	if (profile->stage == NULL)
		say(request->width, "%s: %s", text_name(profile->path, 200),
		    text_name(profile->process.program, 32));
	else
		say(request->width, "%s: %s, stage \"%s\"", text_name(profile->path, 200),
		    text_name(profile->process.program, 32), text_name(profile->stage, 80));
	if (profile->other_build != NULL)
		say(request->width,
		    "  note: %s differs from the file that was profiled, so its lines are "
		    "unknown",
		    text_name(profile->other_build, 200));
}

/* Returns the files that share the longest end of their path with `name` or its real path. */
static size_t files_named(const struct source_lines *table, const char *name,
			  struct source_file **ret)
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

static int annotate_one(const struct request *request, const struct source_lines *table)
{
	struct source_file **found =
		profile_allocate(request->profile, table->count, sizeof(*found));
	size_t count = files_named(table, request->where.file, found);

	if (count == 1) {
		show_title(request);
		bool there = show_file(request, found[0]);
		show_foot(request, table);
		return there ? 0 : EXIT_FAILURE;
	}
	hotpin_say(count == 0 ? "the profile has no figures for %s; it has figures for"
			      : "%s could be any of",
		   text_name(request->where.file, 200));
	for (size_t i = 0; i < (count == 0 ? table->count : count) && i < 20; i++)
		fprintf(stderr, "  %s\n",
			text_name(count == 0 ? table->files[i].path : found[i]->path, 200));
	return EXIT_FAILURE;
}

static int annotate_most(const struct request *request, const struct source_lines *table)
{
	const struct profile *profile = request->profile;
	size_t shown = table->main_count;

	show_title(request);
	for (size_t i = 0; i < shown; i++)
		show_file(request, &table->files[i]);
	if (shown < table->count)
		printf("\nless time in %s:\n",
		       text_several((int64_t)(table->count - shown), "more file", "more files"));
	for (size_t i = shown; i < table->count && i < shown + REST_MOST; i++)
		printf("  %9s  %s\n", text_time(source_lines_ns(profile, &table->files[i].sum)),
		       path_end(table->files[i].path, request->width - 13));
	show_foot(request, table);
	return 0;
}

static int annotate(const struct request *request)
{
	struct profile *profile = request->profile;
	struct source_lines table;

	names_resolve(profile, 1, true);
	source_lines_sum(profile, &table);
	if (table.count > 0)
		return (request->where.file != NULL ? annotate_one : annotate_most)(request,
										    &table);
	if (profile->site_count == 0 && profile->launch_count == 0 &&
	    !source_lines_have_host(profile))
		hotpin_say("%s has neither copy sites nor samples of host code; record it with "
			   "`hotpin run -o FILE`",
			   text_name(profile->path, 200));
	else
		hotpin_say("no source line is known; compile the program with -g");
	if (profile->other_build != NULL)
		hotpin_say("%s differs from the file that was profiled",
			   text_name(profile->other_build, 200));
	return EXIT_FAILURE;
}

static int run(struct request *request, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "source", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "hs:", longs, NULL)) != -1) {
		if (option != 's')
			return option == 'h' ? hotpin_help("annotate") : hotpin_misused("annotate");
		source_add_folder(&request->where, optarg);
	}
	if (optind == argc || optind + 2 < argc) {
		hotpin_say(optind == argc
				   ? "no profile to read; name a file of `hotpin run -o FILE`"
				   : "one profile and one source file at a time");
		return hotpin_misused("annotate");
	}
	request->where.file = argv[optind + 1];
	if (profile_open(argv[optind], request->profile) < 0)
		return EXIT_FAILURE;
	int status = annotate(request);
	profile_close(request->profile);
	return status;
}

int hotpin_annotate(int argc, char **argv)
{
	struct profile profile;
	struct request request = { .profile = &profile, .width = output_width() };

	request.where.folders = calloc((size_t)argc, sizeof(*request.where.folders));
	int status = request.where.folders != NULL ? run(&request, argc, argv) : EXIT_FAILURE;
	free(request.where.folders);
	return status;
}
