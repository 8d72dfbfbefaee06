/*
 * annotate.c - `hotpin annotate`: shows source lines with the time that they took.
 *
 * This file chooses the sources, and reports the time that has no source line.
 */
#include "show/annotate_file.h"
#include "analyze/host_code.h"
#include "cmd/commands.h"
#include "system/messages.h"
#include "names/names_find.h"
#include "names/paths.h"
#include "profile/texts.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FILES_MOST  5
#define WIDTH_LEAST 24

/* Returns the width of the terminal, or COLUMNS.  Output to a file or pipe is not cut. */
static size_t output_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	unsigned long width = columns != NULL ? strtoul(columns, NULL, 10) : 0;

	if (width == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	if (width == 0 || width > ANNOTATE_WIDTH_MOST)
		return ANNOTATE_WIDTH_MOST;
	return width > WIDTH_LEAST ? width : WIDTH_LEAST;
}

/* Explains the columns of launches and kernels. */
static void say_launches(const struct annotate_request *request, const struct line_table *table)
{
	const struct profile *profile = request->profile;
	const struct line_sum *none = &table->placeless;
	bool with_kernels = annotate_has(profile, ANNOTATE_KERNELS);

	if (profile->launches == NULL)
		annotate_say(request->width,
			     "launches: the profile does not say which lines launch kernels");
	else if (!with_kernels)
		annotate_say(request->width,
			     "launches: calls that launch kernels or graphs; the profile does not "
			     "say which of the kernels' time is theirs");
	else
		annotate_say(request->width,
			     "launches: calls that launch kernels or graphs; kernels: their time "
			     "on the GPU, with ~ if a part of it is an estimate");
	if (none->launches != 0)
		annotate_say(request->width, "without a source line: %s%s%s",
			     text_several(none->launches, "launch", "launches"),
			     with_kernels ? ", kernels took " : "",
			     with_kernels ? annotate_figure(profile, none, ANNOTATE_KERNELS) : "");
	if (profile->launches_rest.kernels > 0)
		annotate_say(request->width, "launched from no known place: %s, %s",
			     text_several(profile->launches_rest.kernels, "kernel", "kernels"),
			     text_time(profile->launches_rest.device_ns));
}

/* Explains the columns, and reports the time that no line shows. */
static void show_foot(const struct annotate_request *request, const struct line_table *table)
{
	const struct profile *profile = request->profile;
	const struct line_sum *none = &table->placeless;

	putchar('\n');
	annotate_say(request->width, "%s",
		     profile->sites != NULL ? "at call: host time inside calls that copy"
					    : "copies: the profile has no call sites");
	if (lines_has_host(profile))
		annotate_say(request->width,
			     "host: CPU time in user space outside CUDA, by samples");
	else
		annotate_say(request->width, "host code was not sampled: %s",
			     profile->sampling.why != NULL ? text_name(profile->sampling.why, 200)
							   : "the profile has no samples");
	if (profile->python_count > 0)
		annotate_say(request->width,
			     "lines of Python: CPU time with all that they call, CUDA included");
	say_launches(request, table);
	if (none->copies != 0)
		annotate_say(request->width, "without a source line: %s, %s",
			     text_several(none->copies, "copy", "copies"),
			     text_time(none->call_ns));
	if (none->samples != 0)
		annotate_say(request->width, "without a source line: %s of host code",
			     text_time(host_code_ns(profile, none->samples)));
	if (table->cuda_samples > 0)
		annotate_say(request->width, "inside CUDA's libraries, in no line: %s of CPU time",
			     text_time(host_code_ns(profile, table->cuda_samples)));
}

static void show_title(const struct annotate_request *request)
{
	const struct profile *profile = request->profile;

	if (profile->stage == NULL)
		annotate_say(request->width, "%s: %s", text_name(profile->path, 200),
			     text_name(profile->process.program, 32));
	else
		annotate_say(request->width, "%s: %s, stage \"%s\"", text_name(profile->path, 200),
			     text_name(profile->process.program, 32),
			     text_name(profile->stage, 80));
	if (profile->other_build != NULL)
		annotate_say(request->width,
			     "  note: %s differs from the file that was profiled, so its lines are "
			     "unknown",
			     text_name(profile->other_build, 200));
}

/* Returns the files that share the longest end of their path with `name` or its real path. */
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

static int annotate_one(const struct annotate_request *request, const struct line_table *table)
{
	const struct line_file **found =
		profile_allocate(request->profile, table->count, sizeof(*found));
	size_t count = files_named(table, request->where.file, found);

	if (count == 1) {
		show_title(request);
		bool there = annotate_file(request, found[0]);
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

static int annotate_most(const struct annotate_request *request, const struct line_table *table)
{
	const struct profile *profile = request->profile;
	size_t shown = 0;

	show_title(request);
	for (; shown < table->count && shown < FILES_MOST; shown++) {
		/* Stops at files below a hundredth of the first one's time. */
		if (lines_ns(profile, &table->files[shown].sum) <
		    lines_ns(profile, &table->files[0].sum) / 100)
			break;
		annotate_file(request, &table->files[shown]);
	}
	if (shown < table->count)
		printf("\nless time in %s:\n",
		       text_several((int64_t)(table->count - shown), "more file", "more files"));
	for (size_t i = shown; i < table->count && i < shown + FILES_MOST; i++)
		printf("  %9s  %s\n", text_time(lines_ns(profile, &table->files[i].sum)),
		       annotate_path_end(table->files[i].path, request->width - 13));
	show_foot(request, table);
	return 0;
}

static int annotate(const struct annotate_request *request)
{
	struct profile *profile = request->profile;
	struct line_table table;

	names_resolve(profile, 1, true);
	lines_sum(profile, &table);
	if (table.count > 0)
		return (request->where.file != NULL ? annotate_one : annotate_most)(request,
										    &table);
	if (profile_used_no_device(profile))
		hotpin_say("%s has neither copy sites nor samples of host code, because the "
			   "program used no device; use a CPU profiler",
			   text_name(profile->path, 80));
	else if (profile->site_count == 0 && profile->launch_count == 0 && !lines_has_host(profile))
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

int hotpin_annotate(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "source", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct profile profile;
	struct annotate_request request = { .profile = &profile, .width = output_width() };
	int option, status = EXIT_FAILURE;

	request.where.folders = calloc((size_t)argc, sizeof(*request.where.folders));
	if (request.where.folders == NULL)
		return EXIT_FAILURE;
	while ((option = getopt_long(argc, argv, "hs:", longs, NULL)) != -1) {
		if (option == 's') {
			annotate_add_folder(&request.where, optarg);
			continue;
		}
		free(request.where.folders);
		return option == 'h' ? hotpin_help("annotate") : hotpin_misused("annotate");
	}
	if (optind == argc || optind + 2 < argc) {
		hotpin_say(optind == argc
				   ? "no profile to read; name a file of `hotpin run -o FILE`"
				   : "one profile and one source file at a time");
		free(request.where.folders);
		return hotpin_misused("annotate");
	}
	request.where.file = argv[optind + 1];
	if (profile_open(argv[optind], &profile) == 0) {
		status = annotate(&request);
		profile_close(&profile);
	}
	free(request.where.folders);
	return status;
}
