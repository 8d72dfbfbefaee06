/*
 * report_samples.c - the tables of samples of host code.
 */
#include "report_samples.h"
#include "host_code.h"
#include "layout.h"
#include "names.h"
#include "python_lines.h"
#include "report_places.h"
#include "show.h"
#include "base/parse.h"

#include <stdio.h>

#define ROWS 8

static void show_row(struct layout_table *table, const struct profile *profile,
		     const struct host_function *function, int64_t all)
{
	const struct profile_frame *frame =
		function->line != NULL ? function->line : function->frame;
	char name[512];

	layout_cell(table, "  %s", show_share(function->self, all));
	layout_cell(table, "%s", show_time(host_code_ns(profile, function->self)));
	layout_cell(table, "%s", show_time(host_code_ns(profile, function->total)));
	layout_cell(table, "%s", show_count(function->self));
	layout_cell(table, "%s",
		    show_text(host_code_name(profile, frame, name, sizeof(name), 200), 1000));
	name[0] = '\0';
	if (function->caller != NULL)
		host_code_name(profile, function->caller, name, sizeof(name), 200);
	layout_cell(table, "%s", show_text(name, 1000));
	layout_row(table);
}

static void notes(const struct profile *profile)
{
	if (profile->sampling.in_turn)
		layout_say(4,
			   "  %s were sampled in turns, %s at a time, so their times are too low",
			   show_several(profile->sampling.threads_most, "thread", "threads"),
			   show_count(profile->sampling.threads_at_once));
	if (profile->sampling.lost > 0 || profile->sampling.dropped > 0)
		layout_say(
			4, "  %s missing from this table",
			show_several(profile_add(profile->sampling.lost, profile->sampling.dropped),
				     "sample is", "samples are"));
	if (profile->sampling.threads_refused > 0)
		layout_say(4, "  %s a thread could not be sampled",
			   show_several(profile->sampling.threads_refused, "time", "times"));
	if (profile->sampling.why != NULL)
		layout_say(4, "  sampling ended: %s", show_text(profile->sampling.why, 200));
}

static void show_python(struct profile *profile, bool all)
{
	static const struct layout_column columns[] = {
		{ "  Share" },
		{ "CPU time" },
		{ "Samples", .drop = 1 },
		{ "Python line", .left = true, .flexible = true },
	};
	struct python_line *lines;
	int64_t all_ns;
	size_t count = python_lines(profile, &lines, &all_ns);
	size_t shown = all || count < ROWS ? count : ROWS;

	if (count == 0)
		return;
	layout_say(
		4,
		"\nPYTHON LINES (CPU time of threads that use CUDA; with the calls of each line)");
	struct layout_table *table = layout_table(columns, HP_LEN(columns));
	for (size_t i = 0; i < shown; i++) {
		layout_cell(table, "  %s", show_share(lines[i].cpu_ns, all_ns));
		layout_cell(table, "%s", show_time(lines[i].cpu_ns));
		layout_cell(table, "%s", show_count(lines[i].samples));
		layout_cell(table, "%s", python_line_name(profile, &lines[i], 200));
		layout_row(table);
	}
	layout_print(table, all);
	report_rest(count, shown, "lines");
}

void report_samples(struct profile *profile, bool all)
{
	static const struct layout_column columns[] = {
		{ "  Share" },
		{ "Self" },
		{ "Total" },
		{ "Samples", .drop = 2 },
		{ "Function", .left = true, .flexible = true },
		{ "Likely caller", .left = true, .flexible = true, .drop = 1 },
	};
	struct host_code code;

	show_python(profile, all);
	if (profile->samples == NULL && profile->sampling.why != NULL &&
	    !profile_used_no_device(profile))
		layout_say(4, "\nHost code was not sampled: %s",
			   show_text(profile->sampling.why, 200));
	if (profile->sample_count == 0)
		return;
	host_code_sum(profile, &code);
	layout_say(4, "\nHOST CODE (CPU time in user space, %s; totals are lower bounds)",
		   show_several(code.all, "sample", "samples"));
	struct layout_table *table = layout_table(columns, HP_LEN(columns));
	size_t shown = all ? code.function_count : code.own_count < ROWS ? code.own_count : ROWS;
	for (size_t i = 0; i < shown; i++) {
		host_code_look_closer(&code, code.order[i]);
		show_row(table, profile, code.order[i], code.all);
	}
	layout_print(table, all);
	report_rest(code.function_count, shown, "functions");
	notes(profile);
}
