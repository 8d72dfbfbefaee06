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
#include <stdio.h>
#include <stdlib.h>

#define REST_MOST 5 /* files whose time alone is printed */

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

/* Prints the lines with most time of the main files, and the time of others. */
static void show_files(struct profile *profile, const struct source_lines *table,
		       const struct source_where *where)
{
	size_t shown = table->main_count;

	show_title(profile);
	for (size_t i = 0; i < shown; i++) {
		source_lines_read(profile, &table->files[i], where);
		table_print(&table_lines, profile, &(struct source_view){ &table->files[i], 0 },
			    TABLE_ALL);
	}
	if (shown < table->count)
		layout_say(
			4, "\nless time in %s:",
			text_several((int64_t)(table->count - shown), "more file", "more files"));
	for (size_t i = shown; i < table->count && i < shown + REST_MOST; i++)
		layout_say(4, "  %9s  %s",
			   text_time(source_lines_ns(profile, &table->files[i].sum)),
			   text_name(table->files[i].path, 200));
	show_foot(profile, table);
}

static int annotate(struct output *output, struct profile *profile, size_t count, void *arg)
{
	struct source_lines table;

	(void)output;
	names_resolve(profile, count);
	source_lines_sum(profile, &table);
	if (table.count > 0) {
		show_files(profile, &table, arg);
		return 0;
	}
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
	struct source_where where = { 0 };
	const struct flag flags[] = { { "source", 's', .folders = &where }, { NULL } };
	int status = flags_read(argc, argv, flags, FLAGS_PROFILES);

	if (status < 0 && optind + 1 < argc)
		status = hotpin_misused("annotate", "one profile at a time");
	if (status < 0) {
		layout_start();
		status = flags_write(NULL, argv + optind, 1, annotate, &where);
	}
	free(where.folders);
	return status;
}
