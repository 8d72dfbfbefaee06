/*
 * tables_host.c - the tables of host code: functions, lines of Python, and gaps between CUDA calls.
 */
#include "tables/tables.h"
#include "analyze/host_code.h"
#include "names/names.h"
#include "profile/sorted_lists.h"
#include "analyze/python_lines.h"
#include "profile/texts.h"
#include "base/parse.h"

static const struct table_column gap_columns[] = {
	{ "after_call", NULL, TABLE_TEXT, TABLE_AT(profile_gap, before.call) },
	{ "after_", "From the call at", TABLE_PLACE },
	{ "before_call", NULL, TABLE_TEXT, TABLE_AT(profile_gap, after.call) },
	{ "before_", "To the call at", TABLE_PLACE },
	{ NULL, "Wall%", TABLE_SHARE },
	{ "total_ns", "Total", TABLE_TIME, TABLE_AT(profile_gap, total_ns) },
	{ "count", "Times", TABLE_COUNT, 2, TABLE_AT(profile_gap, count) },
	{ "longest_ns", "Max", TABLE_TIME, 1, TABLE_AT(profile_gap, longest_ns) },
};

/* Returns "main() at heat.c:43 (cuMemcpyDtoH_v2)", or `none`. */
static struct table_cell gap_end(const struct profile *profile, const struct profile_gap_end *end,
				 const char *none)
{
	return table_place(names_frame(profile, &end->frames, false),
			   end->call != NULL ? end->call : none);
}

static void say_gaps(struct table_rows *rows, const struct profile *profile,
		     const struct profile_gap_sum *sum, const char *which)
{
	if (sum->count > 0)
		table_say(rows, "%s (%s) in %s %s.", text_time(sum->total_ns),
			  text_share(sum->total_ns, profile->wall_ns), text_count(sum->count),
			  which);
}

static void fill_gap(struct table_rows *rows, struct profile *profile)
{
	const struct profile_gap **gaps = sorted_gaps(profile);

	bool is_part = profile_is_part(profile);
	const char *start = is_part ? "start of the capture range" : "start of the process";
	const char *end = is_part ? "end of the capture range" : "end of the process";

	if (profile->gap_count == 0)
		return;
	for (size_t i = 0; i < profile->gap_count; i++)
		TABLE_ROW(rows, gaps[i], gap_end(profile, &gaps[i]->before, start),
			  gap_end(profile, &gaps[i]->after, end),
			  table_share(gaps[i]->total_ns, profile->wall_ns));
	say_gaps(rows, profile, &profile->gaps_short, "gaps of less than 10 us each");
	say_gaps(rows, profile, &profile->gaps_dropped, "gaps between rare pairs of calls");
}

static const struct table_column python_columns[] = {
	{ "", "Python line", TABLE_PLACE },
	{ NULL, "Share", TABLE_SHARE },
	{ "cpu_ns", "CPU time", TABLE_TIME, TABLE_AT(python_line, cpu_ns) },
	{ "samples", "Samples", TABLE_COUNT, 1, TABLE_AT(python_line, samples) },
};

static void fill_python(struct table_rows *rows, struct profile *profile)
{
	struct python_line *lines;
	int64_t all_ns;
	size_t count = python_lines(profile, &lines, &all_ns);

	if (count == 0)
		return;
	rows->title = "CPU time of threads that use CUDA; with the calls of each line";
	for (size_t i = 0; i < count; i++) {
		const struct python_line *line = &lines[i];
		const char *name = line->is_import       ? "imports of modules"
				   : line->frame == NULL ? "unknown"
							 : "";

		TABLE_ROW(rows, line, table_place(line->is_import ? NULL : line->frame, name),
			  table_share(line->cpu_ns, all_ns));
	}
}

static const struct table_column function_columns[] = {
	{ "", "Function", TABLE_PLACE },
	{ "caller_", "Likely caller", TABLE_PLACE, .drop = 1 },
	{ NULL, "Share", TABLE_SHARE },
	{ "self_ns", "Self", TABLE_TIME },
	{ "total_ns", "Total", TABLE_TIME },
	{ "samples", "Samples", TABLE_COUNT, 2, TABLE_AT(host_function, self) },
};

static void say_samples(struct table_rows *rows, const struct profile *profile)
{
	int64_t missing = profile_add(profile->sampling.lost, profile->sampling.dropped);

	if (profile->sampling.in_turn)
		table_say(rows,
			  "%s were sampled in turns, %s at a time, so their times are too low.",
			  text_several(profile->sampling.threads_most, "thread", "threads"),
			  text_count(profile->sampling.threads_at_once));
	if (missing > 0)
		table_say(rows, "%s missing from this table.",
			  text_several(missing, "sample is", "samples are"));
	if (profile->sampling.threads_refused > 0)
		table_say(rows, "%s a thread could not be sampled.",
			  text_several(profile->sampling.threads_refused, "time", "times"));
	if (profile->sampling.why != NULL)
		table_say(rows, "Sampling ended: %s.", text_name(profile->sampling.why, 200));
}

/* Returns the place of a frame, or the name of the file that has the code. */
static struct table_cell code_of(const struct profile *profile, const struct profile_frame *frame)
{
	if (frame == NULL)
		return table_place(NULL, "");
	return table_place_named(frame, host_code_name(profile, frame, 200));
}

static void fill_function(struct table_rows *rows, struct profile *profile)
{
	struct host_code code;

	if (profile->samples == NULL && profile->sampling.why != NULL &&
	    !profile_used_no_device(profile))
		table_say(rows, "Host code was not sampled: %s.",
			  text_name(profile->sampling.why, 200));
	if (profile->sample_count == 0)
		return;
	host_code_sum(profile, NULL, NULL, &code);
	for (size_t i = 0; i < code.function_count; i++) {
		const struct host_function *function = code.order[i];

		if (function->self == 0 && rows->form == TABLE_PAGE)
			continue; /* the chart of call chains has it */
		TABLE_ROW(
			rows, function,
			code_of(profile, function->line != NULL ? function->line : function->frame),
			code_of(profile, function->caller), table_share(function->self, code.all),
			table_number(host_code_ns(profile, function->self)),
			table_number(host_code_ns(profile, function->total)));
	}
	rows->title = text_made("CPU time in user space, %s; totals are lower bounds",
				text_several(code.all, "sample", "samples"));
	say_samples(rows, profile);
}

/* clang-format off */
const struct table table_gaps = { "gaps", "Host code between CUDA calls", "host code between CUDA "
"calls", TABLE_FILL(gap), .of_device = true, .elsewhere = true };
const struct table table_python = { "python", "Python lines", "lines of Python", TABLE_FILL(python), .elsewhere = true };
const struct table table_functions = { "functions", "Host code", "functions of host code", TABLE_FILL(function), .elsewhere = true };
/* clang-format on */
