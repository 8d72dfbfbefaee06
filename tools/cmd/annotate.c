/*
 * annotate.c - `hotpin annotate`: prints source lines with the time that they took, and the time
 * that has no source line.
 *
 * A source is read in its present state.  A note is printed if it changed after the build.
 */
#include "analyze/host_code.h"
#include "analyze/source_lines.h"
#include "cmd/commands.h"
#include "cmd/flags.h"
#include "names/names_find.h"
#include "profile/texts.h"
#include "show/layout.h"
#include "show/table_report.h"
#include "system/messages.h"
#include "tables/tables.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REST_MOST 5 /* files whose time alone is printed */

struct request {
	struct profile *profile;
	struct source_where where; /* no file: those with most time */
};

/*
 * Prints the whole file if the user named it, otherwise the lines with most time.  False if its
 * source cannot be read; its figures are printed nevertheless.
 */
static bool show_file(const struct request *request, struct source_file *file)
{
	source_lines_read(request->profile, file, &request->where);
	table_print(&table_lines, request->profile, &(struct source_view){ file, 0 }, TABLE_ALL);
	return file->why == NULL;
}

/* Explains the columns of launches and kernels. */
static void say_launches(const struct profile *profile, const struct line_sum *none)
{
	bool with_kernels = false;

	for (size_t i = 0; i < profile->launch_count; i++)
		with_kernels |= profile->launches[i].device_ns >= 0;
	layout_say(4, "launches: %s",
		   profile->launches == NULL ? "the profile does not say which lines launch kernels"
		   : with_kernels
			   ? "calls that launch kernels or graphs; kernels: their time on the GPU, "
			     "with ~ if a part of it is an estimate"
			   : "calls that launch kernels or graphs; the profile has no kernel "
			     "times of lines");
	if (none->launches != 0)
		layout_say(4, "without a source line: %s%s",
			   text_several(none->launches, "launch", "launches"),
			   text_if(with_kernels, ", kernels took %s%s",
				   none->estimated_ns > none->device_ns / 100 ? "~" : "",
				   text_time(none->device_ns)));
	if (profile->launches_rest.kernels > 0)
		layout_say(4, "launched from no known place: %s, %s",
			   text_several(profile->launches_rest.kernels, "kernel", "kernels"),
			   text_time(profile->launches_rest.device_ns));
}

/* Explains the columns, and reports the time that no line shows. */
static void show_foot(const struct profile *profile, const struct source_lines *table)
{
	const struct line_sum *none = &table->placeless;

	layout_say(4, "\n%s",
		   profile->sites != NULL ? "at call: host time inside calls that copy"
					  : "copies: the profile has no call sites");
	if (source_lines_have_host(profile))
		layout_say(4, "host: CPU time in user space outside CUDA, by samples");
	else
		layout_say(4, "host code was not sampled: %s",
			   profile->sampling.why != NULL ? text_name(profile->sampling.why, 200)
							 : "the profile has no samples");
	if (profile->python_count > 0)
		layout_say(4, "lines of Python: CPU time with all that they call, CUDA included");
	say_launches(profile, none);
	if (none->copies != 0)
		layout_say(4, "without a source line: %s, %s",
			   text_several(none->copies, "copy", "copies"), text_time(none->call_ns));
	if (none->samples != 0)
		layout_say(4, "without a source line: %s of host code",
			   text_time(host_code_ns(profile, none->samples)));
	if (table->cuda_samples > 0)
		layout_say(4, "inside CUDA's libraries, in no line: %s of CPU time",
			   text_time(host_code_ns(profile, table->cuda_samples)));
}

static void show_title(const struct profile *profile)
{
	layout_say(
		4, "%s: %s%s", text_name(profile->path, 200),
		text_name(profile->process.program, 32),
		text_if(profile->stage != NULL, ", stage \"%s\"", text_name(profile->stage, 80)));
	if (profile->other_build != NULL)
		layout_say(4,
			   "  note: %s differs from the file that was profiled, so its lines are "
			   "unknown",
			   text_name(profile->other_build, 200));
}

/* Returns the files that share the longest end of their path with `name` or its real path. */
static size_t files_named(const struct source_lines *table, const char *name,
			  struct source_file **ret)
{
	const char *wanted = paths_normal(name);
	char real[PATH_MAX] = "";
	size_t most = 0, found = 0, parts = 1;

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
		show_title(request->profile);
		bool there = show_file(request, found[0]);
		show_foot(request->profile, table);
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

	show_title(profile);
	for (size_t i = 0; i < shown; i++)
		show_file(request, &table->files[i]);
	if (shown < table->count)
		layout_say(
			4, "\nless time in %s:",
			text_several((int64_t)(table->count - shown), "more file", "more files"));
	for (size_t i = shown; i < table->count && i < shown + REST_MOST; i++)
		layout_say(4, "  %9s  %s",
			   text_time(source_lines_ns(profile, &table->files[i].sum)),
			   text_name(table->files[i].path, 200));
	show_foot(profile, table);
	return 0;
}

static int annotate(struct output *output, struct profile *profile, size_t count, void *arg)
{
	struct request *request = arg;
	struct source_lines table;

	(void)output;
	request->profile = profile;
	names_resolve(profile, count);
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

int hotpin_annotate(int argc, char **argv)
{
	struct request request = { 0 };
	const struct flag flags[] = { { "source", 's', .folders = &request.where }, { NULL } };
	int status = flags_read(argc, argv, flags, FLAGS_PROFILES);

	if (status < 0 && optind + 2 < argc)
		status = hotpin_misused("annotate", "one profile and one source file at a time");
	if (status < 0) {
		layout_start();
		request.where.file = argv[optind + 1];
		status = flags_write(NULL, argv + optind, 1, annotate, &request);
	}
	free(request.where.folders);
	return status;
}
