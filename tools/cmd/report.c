/*
 * report.c - `hotpin report`: prints everything in a profile as text.
 *
 * An unknown figure is n/a and never 0.  Estimates, bounds and guesses are marked as such.
 */
#include "cmd/report.h"
#include "show/table_report.h"
#include "cmd/commands.h"
#include "system/messages.h"
#include "show/layout.h"
#include "names/names_find.h"
#include "analyze/places.h"
#include "analyze/ranks.h"
#include "analyze/run_notes.h"
#include "show/report_advice.h"
#include "profile/profile_open.h"
#include "profile/texts.h"
#include "tables/tables.h"
#include "base/parse.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool all_rows;   /* --all */
static bool first_only; /* report_first() */

/* Returns "  rank 2 of 3", or "". */
static const char *rank_of(const struct profile *profile, char *ret, size_t room)
{
	ret[0] = '\0';
	if (profile->process.rank != NULL)
		snprintf(ret, room, "  rank %s", text_name(profile->process.rank, 16));
	if (profile->process.rank != NULL && profile->process.ranks >= 0)
		snprintf(ret + strlen(ret), room - strlen(ret), " of %s",
			 text_count(profile->process.ranks));
	return ret;
}

static void head(const struct profile *profile)
{
	char rank[128], stage[TEXT_BYTES(80) + 8] = "", device[TEXT_BYTES(64) + 40] = "";
	bool device_times = strcmp(profile_view(profile), "cupti") == 0;

	if (profile->stage != NULL)
		snprintf(stage, sizeof(stage), "  \"%s\"", text_name(profile->stage, 80));
	if (profile_used_no_device(profile))
		snprintf(device, sizeof(device), "  no device was used");
	else
		snprintf(device, sizeof(device), "%s%s%s%s",
			 profile->environment.device != NULL ? "  " : "",
			 profile->environment.device != NULL
				 ? text_name(profile->environment.device, 64)
				 : "",
			 profile->environment.driver_version >= 0 ? "  CUDA " : "",
			 profile->environment.driver_version >= 0
				 ? text_cuda_version(profile->environment.driver_version)
				 : "");
	layout_say(4, "%s%s%s  %s%s", text_name(profile->process.program, 32), stage,
		   rank_of(profile, rank, sizeof(rank)), text_time(profile->wall_ns), device);
	if (first_only)
		return;
	layout_say(4, "%s: pid %lld on %s, ended %s; %s%s; hotpin %s",
		   text_name(profile->path, 200), (long long)profile->process.pid,
		   text_name(profile->process.host, 64), text_when(profile->process.ended_utc),
		   profile_used_no_device(profile) ? "no CUPTI"
		   : device_times                  ? "CUPTI "
						   : "times at the call",
		   device_times && !profile_used_no_device(profile)
			   ? text_cupti_version(profile->environment.cupti_version)
			   : "",
		   text_name(profile->hotpin_version, 16));
}

static void note(void *arg, const char *text)
{
	(void)arg;
	layout_say(4, "note: %s", text);
}

/* Prints the notes that a reader needs before any figure. */
static void notes(const struct profile *profile)
{
	run_notes(profile, note, NULL);
	/* The stages of a port are often built over one another. */
	if (profile->other_build != NULL)
		layout_say(4,
			   "note: %s differs from the file that was profiled, so its symbols are "
			   "unavailable",
			   text_name(profile->other_build, 200));
	else if (profile->missing != NULL)
		layout_say(
			4,
			"note: %s is not on this machine, so its symbols are unavailable; `hotpin "
			"resolve` stores them where the program ran",
			text_name(profile->missing, 200));
}

/* Says in sentences which state takes most time, and how copies affect the host. */
static void sentence(const struct profile *profile, const char *on_host_code)
{
	const char *verdict = text_verdict(profile, on_host_code);
	int64_t copies_ns = profile->host.copy_calls_ns, kernels_ns = profile->kernel_runs.busy_ns;

	if (verdict != NULL)
		layout_say(0, "%s", verdict);
	if (profile_used_no_device(profile) || copies_ns <= 0)
		return;
	if (kernels_ns > 0 && copies_ns / kernels_ns >= 2)
		layout_say(0, "Copies block the host for %s to feed %s of kernels (%lld:1).",
			   text_time(copies_ns), text_time(kernels_ns),
			   (long long)((copies_ns + kernels_ns / 2) / kernels_ns));
	else
		layout_say(0, "Copies block the host for %s.", text_time(copies_ns));
}

static const struct layout_column time_columns[] = {
	{ "TIME", .left = true },
	{ "Wall" },
	{ "Share" },
	{ "", .left = true, .drop = 1 },
};

static void time_row(struct layout_table *table, const char *name, int64_t ns, const char *share,
		     unsigned tenths)
{
	layout_cell(table, "  %s", name);
	layout_cell(table, "%s", text_time(ns));
	layout_cell(table, "%s", share);
	layout_cell(table, "%s", layout_bar(tenths, 20));
	layout_row(table);
}

static void unsplit(const struct profile *profile, struct layout_table *table)
{
	time_row(table, "In copy calls", profile->host.copy_calls_ns,
		 text_share(profile->host.copy_calls_ns, profile->wall_ns), 0);
	if (profile->host.waits_ns != 0)
		time_row(table, "In waits", profile->host.waits_ns,
			 text_share(profile->host.waits_ns, profile->wall_ns), 0);
	layout_print(table, all_rows);
	layout_say(4, "  %s", text_no_split(profile));
}

static void wall(const struct profile *profile)
{
	struct layout_table *table = layout_table(time_columns, HP_LEN(time_columns));
	unsigned tenths[TEXT_PARTS];

	putchar('\n');
	time_row(table, "Wall time", profile->wall_ns, "", 0);
	if (!profile_has_split(profile)) {
		unsplit(profile, table);
		return;
	}
	text_split_tenths(&profile->split, tenths);
	for (int part = 0; part < TEXT_PARTS; part++) {
		int64_t ns = text_part_ns(&profile->split, part);
		char share[16];

		if (ns == 0)
			continue;
		snprintf(share, sizeof(share), "%u.%u %%", tenths[part] / 10, tenths[part] % 10);
		time_row(table, text_parts[part].title, ns, ns < 0 ? "" : share, tenths[part]);
	}
	layout_print(table, all_rows);

	int64_t moving = profile_add(profile->split.transfer_ns, profile->split.overlap_ns);
	char overlap[80] = "no kernel overlaps a copy";

	if (profile->split.overlap_ns > 0)
		snprintf(overlap, sizeof(overlap), "kernels overlap %s of the copy time",
			 text_share(profile->split.overlap_ns, moving));
	if (moving > 0)
		layout_say(
			2, "  The device works %s of the time; %s.",
			text_share(profile_add(moving, profile->split.kernel_ns), profile->wall_ns),
			overlap);
}

static void sentence_below(void *arg, const char *text)
{
	(void)arg;
	layout_say(4, "  %s", text);
}

static void records(const struct profile *profile)
{
	const int64_t counts[] = { profile->records.dropped, profile->records.incomplete,
				   profile->records.untimed };
	static const char *const what[] = { "dropped by CUPTI", "incomplete", "untimed" };
	char text[200] = "";

	for (size_t i = 0; i < HP_LEN(counts); i++)
		if (counts[i] > 0)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), ", %s %s",
				 text_count(counts[i]), what[i]);
	layout_say(2, "Records: %s read%s.", text_count(profile->records.read), text);
}

static void tail(const struct profile *profile)
{
	int64_t cost = profile_cost_ns(profile), exit_ns = profile->overhead.exit_ns;
	const char *at_exit =
		exit_ns > 0 ? text_made(", %s of it at exit", text_time(exit_ns)) : "";

	putchar('\n');
	if (profile->coverage.cupti_copies >= 0)
		layout_say(2, "Copies: %s seen by CUPTI, %s by hotpin.",
			   text_count(profile->coverage.cupti_copies),
			   text_count(profile->coverage.hotpin_copies));
	if (all_rows && profile->records.read >= 0)
		records(profile);
	if (cost >= 0 && profile_is_part(profile))
		layout_say(2, "Profiling the whole run cost about %s%s, without CUPTI's own work.",
			   text_time(cost), at_exit);
	else if (cost >= 0)
		layout_say(2, "Profiling cost about %s (%s)%s, without CUPTI's own work.",
			   text_time(cost), text_share(cost, profile->wall_ns), at_exit);
	if (!all_rows)
		layout_say(2, "--all shows more rows, sizes, bounds, counters and options.");
}

static void details(struct profile *profile)
{
	wall(profile);
	if (first_only)
		return;
	if (!profile_used_no_device(profile) && profile_has_split(profile))
		run_blocked(profile, sentence_below, NULL);
	tables_print(profile, all_rows);
	tail(profile);
}

static void report_one(struct profile *profile)
{
	struct advice_list advice;

	advice_make(profile, &advice);
	sentence(profile, advice_on_host_code(profile, &advice));
	report_advice(profile, &advice, all_rows);
	details(profile);
}

/* Prints advice for the slowest rank: all wait for it.  Returns advice_on_host_code(). */
static const char *report_slowest(const struct profile *slowest)
{
	struct advice_list advice;

	advice_make(slowest, &advice);
	layout_say(4, "\nTHE SLOWEST RANK: %s", text_name(slowest->path, 200));
	report_advice(slowest, &advice, all_rows);
	return advice_on_host_code(slowest, &advice);
}

/* Prints the tables of ranks; returns the slowest. */
static const struct profile *side_by_side(const struct profile *profiles, size_t count)
{
	const struct profile **runs = calloc(count, sizeof(*runs));
	struct ranks ranks;

	for (size_t i = 0; i < count && runs != NULL; i++)
		runs[i] = &profiles[i];
	if (runs == NULL || !ranks_compare(runs, count, &ranks))
		exit(EXIT_FAILURE);
	table_print(&table_ranks, ranks.slowest, &ranks, all_rows);
	table_print(&table_rank_spread, ranks.slowest, &ranks, all_rows);
	free(runs);
	return ranks.slowest;
}

static int report_ranks(struct profile *profiles, size_t count, bool force)
{
	struct profile merged;

	if (ranks_check(profiles, count,
			force ? NULL
			      : "; use `hotpin compare` for stages, or add them up with --force") <
	    0)
		return EXIT_APART;
	head(&profiles[0]);
	notes(&profiles[0]);
	/* A run may have a thousand ranks; only those with notes are listed. */
	for (size_t i = 1; i < count; i++) {
		if (!run_has_notes(&profiles[i]))
			continue;
		head(&profiles[i]);
		notes(&profiles[i]);
	}
	const struct profile *slowest = side_by_side(profiles, count);
	ranks_merge(profiles, count, &merged);
	const char *on_host_code = report_slowest(slowest);
	layout_say(4, "\nALL RANKS TOGETHER (times are added up)");
	for (size_t i = 0; i < merged.warning_count; i++)
		layout_say(4, "note: %s", merged.warnings[i]);
	sentence(&merged, on_host_code);
	details(&merged);
	profile_close(&merged);
	return 0;
}

static int report_files(char *const *paths, size_t count, bool force)
{
	int status = 0;
	struct profile *profiles = profile_open_all(paths, count);

	if (profiles == NULL)
		return EXIT_FAILURE;
	names_resolve(profiles, count, true);
	size_t ranks = ranks_only(profiles, count);
	places_merge_sites(profiles, count);
	if (ranks == 1) {
		head(&profiles[0]);
		notes(&profiles[0]);
		/* A note says that the capture range never began. */
		if (!profile_is_empty(&profiles[0]))
			report_one(&profiles[0]);
	} else {
		status = report_ranks(profiles, ranks, force);
	}
	profile_close_all(profiles, count);
	return status;
}

int report_first(char *path)
{
	first_only = true;
	return report_files(&path, 1, false);
}

int hotpin_report(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "color", required_argument, NULL, 'c' },
		{ "force", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	bool force = false;
	const char *color = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "ah", longs, NULL)) != -1) {
		if (option == 'h')
			return hotpin_help("report");
		if (option == '?')
			return hotpin_misused("report");
		all_rows |= option == 'a';
		force |= option == 'f';
		color = option == 'c' ? optarg : color;
	}
	if (layout_start(color) < 0)
		return hotpin_misused("report");
	if (optind == argc) {
		hotpin_say("no profile to read; name a file of `hotpin run -o FILE`");
		return hotpin_misused("report");
	}

	return report_files(argv + optind, (size_t)(argc - optind), force);
}
