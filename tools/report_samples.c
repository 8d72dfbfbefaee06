/*
 * report_samples.c - the table of host code.
 */
#include "report_samples.h"
#include "host_code.h"
#include "show.h"

#include <stdio.h>

#define ROWS         8
#define PLACE_WIDTH  40
#define CALLER_WIDTH 24

static void show_row(const struct profile *profile, const struct host_function *function,
		     int64_t all, bool all_columns)
{
	const struct profile_frame *frame =
		function->line != NULL ? function->line : function->frame;
	char name[512];

	printf("  %-15s %11s %10s %10s %8s", "", show_count(function->self),
	       show_time(host_code_ns(profile, function->self)),
	       show_time(host_code_ns(profile, function->total)), show_share(function->self, all));
	host_code_name(profile, frame, name, sizeof(name), all_columns ? 1000 : PLACE_WIDTH);
	printf("  %s", show_text(name, 1000));
	if (function->caller != NULL) {
		host_code_name(profile, function->caller, name, sizeof(name),
			       all_columns ? 1000 : CALLER_WIDTH);
		printf(" < %s (likely)", show_text(name, 1000));
	}
	putchar('\n');
}

static void notes(const struct profile *profile)
{
	if (profile->sampling.in_turn)
		printf("  %s took turns, %s at a time: their times are too low\n",
		       show_several(profile->sampling.threads_most, "thread", "threads"),
		       show_count(profile->sampling.threads_at_once));
	if (profile->sampling.lost > 0 || profile->sampling.dropped > 0)
		printf("  %s lost, %s in no row\n",
		       show_several(profile->sampling.lost, "sample", "samples"),
		       show_count(profile->sampling.dropped));
	if (profile->sampling.threads_refused > 0)
		printf("  %s times a thread could not be sampled\n",
		       show_count(profile->sampling.threads_refused));
	if (profile->sampling.why != NULL)
		printf("  sampling ended: %s\n", show_text(profile->sampling.why, 200));
}

void report_samples(struct profile *profile, bool all)
{
	struct host_code code;

	if (profile->samples == NULL && profile->sampling.why != NULL &&
	    !profile_used_no_device(profile))
		printf("\nhost code was not sampled: %s\n", show_text(profile->sampling.why, 200));
	if (profile->sample_count == 0)
		return;
	host_code_sum(profile, &code);
	printf("\n%-17s %11s %10s %10s %8s\n", "host code", "samples", "self", "total", "share");
	size_t shown = all || code.function_count < ROWS ? code.function_count : ROWS;
	for (size_t i = 0; i < shown; i++) {
		host_code_look_closer(&code, code.order[i]);
		show_row(profile, code.order[i], code.all, all);
	}
	if (code.function_count > shown)
		printf("  and %zu more functions (--all)\n", code.function_count - shown);
	printf("  CPU time in user space, by %s samples; totals are lower bounds\n",
	       show_count(code.all));
	notes(profile);
}
