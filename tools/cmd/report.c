/*
 * report.c - `hotpin report`: prints a profile as text, or one of its tables as CSV.
 *
 * The first screen is at most 24 lines.  An unknown figure is n/a and never 0.  Estimates, bounds
 * and guesses are marked as such.
 */
#include "cmd/report.h"
#include "show/folded.h"
#include "show/table_csv.h"
#include "show/table_report.h"
#include "cmd/commands.h"
#include "system/messages.h"
#include "system/output.h"
#include "show/layout.h"
#include "names/names_find.h"
#include "analyze/places.h"
#include "analyze/ranks.h"
#include "analyze/run_notes.h"
#include "profile/profile_open.h"
#include "profile/texts.h"
#include "tables/tables.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void head(const struct profile *profile, const char *rank)
{
	const char *device = profile->environment.device;
	int64_t driver = profile->environment.driver_version;
	bool used = !profile_used_no_device(profile);

	layout_line(text_made("%s%s%s%s%s  %s%s%s%s%s", text_name(profile->process.program, 32),
			      profile->stage != NULL ? "  \"" : "",
			      profile->stage != NULL ? text_name(profile->stage, 30) : "",
			      profile->stage != NULL ? "\"" : "", rank, text_time(profile->wall_ns),
			      !used            ? "  no device was used"
			      : device != NULL ? "  "
					       : "",
			      used && device != NULL ? text_name(device, 64) : "",
			      used && driver >= 0 ? "  CUDA " : "",
			      used && driver >= 0 ? text_cuda_version(driver) : ""));
}

/* Returns "  rank 2 of 3", or "". */
static const char *rank_of(const struct profile *profile)
{
	if (profile->process.rank == NULL)
		return "";
	return text_made("  rank %s%s%s", text_name(profile->process.rank, 16),
			 profile->process.ranks >= 0 ? " of " : "",
			 profile->process.ranks >= 0 ? text_count(profile->process.ranks) : "");
}

struct notes {
	enum table_detail detail;
	size_t count;
};

/* A first screen has room for one note. */
static void note(void *arg, const char *text)
{
	struct notes *notes = arg;

	if (notes->count++ == 0 || notes->detail == TABLE_ALL)
		layout_say(4, "note: %s", text);
}

/* The stages of a port are often built over one another. */
static void notes_of_names(const struct profile *profile, struct notes *notes)
{
	if (profile->other_build != NULL)
		note(notes, text_made("%s differs from the file that was profiled, so its symbols "
				      "are unavailable",
				      text_name(profile->other_build, 120)));
	else if (profile->missing != NULL)
		note(notes, text_made("%s is not on this machine, so its symbols are unavailable; "
				      "`hotpin resolve` stores them where the program ran",
				      text_name(profile->missing, 120)));
	if (notes->detail != TABLE_ALL && notes->count > 1)
		layout_say(4, "note: and %s (--all)",
			   text_several((int64_t)notes->count - 1, "more note", "more notes"));
}

/* Prints facts on the profile itself. */
static void tail(const struct profile *profile)
{
	int64_t cost = profile_cost_ns(profile), exit_ns = profile->overhead.exit_ns;
	const char *at_exit =
		exit_ns > 0 ? text_made(", %s of it at exit", text_time(exit_ns)) : "";
	bool used = !profile_used_no_device(profile);
	bool device_times = used && strcmp(profile_view(profile), "cupti") == 0;

	layout_say(4, "\n%s: pid %lld on %s, ended %s; %s%s; hotpin %s",
		   text_name(profile->path, 200), (long long)profile->process.pid,
		   text_name(profile->process.host, 64), text_when(profile->process.ended_utc),
		   !used          ? "no CUPTI"
		   : device_times ? "CUPTI "
				  : "times at the call",
		   device_times ? text_cupti_version(profile->environment.cupti_version) : "",
		   text_name(profile->hotpin_version, 16));
	if (profile->coverage.cupti_copies >= 0)
		layout_say(2, "Copies: %s seen by CUPTI, %s by hotpin.",
			   text_count(profile->coverage.cupti_copies),
			   text_count(profile->coverage.hotpin_copies));
	if (profile->records.read >= 0)
		layout_say(2, "Records: %s read%s%s%s%s%s%s.", text_count(profile->records.read),
			   profile->records.dropped > 0 ? ", dropped by CUPTI: " : "",
			   profile->records.dropped > 0 ? text_count(profile->records.dropped) : "",
			   profile->records.incomplete > 0 ? ", incomplete: " : "",
			   profile->records.incomplete > 0 ? text_count(profile->records.incomplete)
							   : "",
			   profile->records.untimed > 0 ? ", untimed: " : "",
			   profile->records.untimed > 0 ? text_count(profile->records.untimed)
							: "");
	if (cost >= 0)
		layout_say(2, "Profiling%s cost about %s (%s)%s, without CUPTI's own work.",
			   profile_is_part(profile) ? " the whole run" : "", text_time(cost),
			   text_share(cost, profile->wall_ns), at_exit);
}

static void details(const struct profile *profile)
{
	tables_print(profile);
	tail(profile);
}

static void report_one(const struct profile *profile, enum table_detail detail)
{
	struct notes notes = { detail, 0 };

	head(profile, rank_of(profile));
	run_notes(profile, note, &notes);
	notes_of_names(profile, &notes);
	/* A note says that the capture range never began. */
	if (profile_is_empty(profile))
		return;
	table_print(&table_states, profile, NULL, detail);
	table_print(&table_advice, profile, NULL, detail);
	if (detail == TABLE_ALL)
		details(profile);
}

/* Prints the ranks by state, and advice for the slowest rank: all wait for it. */
static int report_ranks(struct profile *profiles, size_t count, bool force,
			enum table_detail detail)
{
	const struct profile **runs = calloc(count, sizeof(*runs));
	struct profile merged;
	struct notes notes = { detail, 0 };
	struct ranks ranks;
	int status = EXIT_APART;

	for (size_t i = 0; i < count && runs != NULL; i++)
		runs[i] = &profiles[i];
	if (runs == NULL)
		exit(EXIT_FAILURE);
	if (ranks_check(profiles, count,
			force ? NULL
			      : "; use `hotpin compare` for stages, or add them up with --force") ==
	    0) {
		if (!ranks_compare(runs, count, &ranks))
			exit(EXIT_FAILURE);
		const char *rank = ranks.slowest->process.rank;
		head(ranks.slowest, text_made("  %s, the slowest%s%s:",
					      text_several((int64_t)count, "rank", "ranks"),
					      rank != NULL ? " is " : "",
					      rank != NULL ? text_name(rank, 16) : ""));
		/* A run may have a thousand ranks; only those with notes are listed. */
		for (size_t i = 0; i < count; i++) {
			if (detail == TABLE_ALL && runs[i] != ranks.slowest &&
			    run_has_notes(runs[i]))
				head(runs[i], rank_of(runs[i]));
			run_notes(runs[i], note, &notes);
		}
		notes_of_names(ranks.slowest, &notes);
		table_print(&table_rank_spread, ranks.slowest, &ranks, detail);
		if (detail == TABLE_ALL)
			table_print(&table_ranks, ranks.slowest, &ranks, detail);
		table_print(&table_advice, ranks.slowest, NULL, detail);
		status = 0;
	}
	if (status == 0 && detail == TABLE_ALL) {
		ranks_merge(profiles, count, &merged);
		layout_say(4, "\nALL RANKS TOGETHER (times are added up)");
		for (size_t i = 0; i < merged.warning_count; i++)
			layout_say(4, "note: %s", merged.warnings[i]);
		table_print(&table_states, &merged, NULL, detail);
		details(&merged);
		profile_close(&merged);
	}
	free(runs);
	return status;
}

static int print_report(struct profile *profiles, size_t count, bool force,
			enum table_detail detail)
{
	size_t ranks = ranks_only(profiles, count);

	places_merge_sites(profiles, count);
	if (ranks > 1)
		return report_ranks(profiles, ranks, force, detail);
	report_one(&profiles[0], detail);
	return 0;
}

int report_first(char *path)
{
	struct profile *profiles = profile_open_all(&path, 1);

	if (profiles == NULL)
		return EXIT_FAILURE;
	names_resolve(profiles, 1, true);
	int status = print_report(profiles, 1, false, TABLE_FIRST);
	profile_close_all(profiles, 1);
	return status;
}

static const struct table *table_named(const char *name)
{
	for (const struct table *const *table = tables; name != NULL && *table != NULL; table++)
		if ((*table)->name != NULL && strcmp((*table)->name, name) == 0)
			return *table;
	if (name != NULL)
		hotpin_say("--csv: there is no table %s; there are:", text_name(name, 40));
	else
		hotpin_say("--csv: name a table; there are:");
	for (const struct table *const *table = tables; *table != NULL; table++)
		if ((*table)->name != NULL)
			fprintf(stderr, "  %s\n", (*table)->name);
	return NULL;
}

static bool write_table(FILE *to, const struct table *table, struct profile *profiles, size_t count)
{
	bool any = !table->of_timeline;

	for (size_t i = 0; i < count; i++)
		any |= profiles[i].events.known;
	if (!any) {
		hotpin_say("no timeline in %s; run the program with --profile=trace",
			   count == 1 ? text_name(profiles[0].path, 200) : "any of these files");
		return false;
	}
	places_merge_sites(profiles, count);
	table_csv_head(to, table);
	for (size_t i = 0; i < count; i++)
		table_csv(to, table, &profiles[i], NULL);
	return true;
}

struct flags {
	const char *color, *out, *csv;
	const struct table *table; /* for --csv */
	bool force, folded;
	enum table_detail detail;
};

static int report_files(char **paths, size_t count, const struct flags *flags)
{
	bool to_programs = flags->folded || flags->table != NULL;
	struct output output = { 0 };
	int status = EXIT_FAILURE;

	/* Opening the output first avoids a long read in vain if it cannot be written. */
	if (to_programs && output_open(&output, flags->out, paths, count, false) < 0)
		return EXIT_FAILURE;
	struct profile *profiles = profile_open_all(paths, count);
	if (profiles != NULL) {
		names_resolve(profiles, count, flags->table == NULL || !flags->table->of_timeline);
		if (!to_programs)
			status = print_report(profiles, count, flags->force, flags->detail);
		else if (flags->folded ? folded_write(output.to, profiles, count)
				       : write_table(output.to, flags->table, profiles, count))
			status = 0;
		profile_close_all(profiles, count);
	}
	if (to_programs && status == 0)
		return output_close(&output) < 0 ? EXIT_FAILURE : 0;
	if (to_programs)
		output_drop(&output);
	else if (status == 0 && flags->detail != TABLE_ALL)
		layout_say(4, "%s--all shows every table.",
			   flags->detail == TABLE_FIRST ? "--why says how and on what assumption; "
							: "");
	return status;
}

static int read_flags(int argc, char **argv, struct flags *ret)
{
	static const struct option longs[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "color", required_argument, NULL, 'c' },
		{ "csv", required_argument, NULL, 't' },
		{ "folded", no_argument, NULL, 'F' },
		{ "force", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ "out", required_argument, NULL, 'o' },
		{ "why", no_argument, NULL, 'w' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "aho:w", longs, NULL)) != -1) {
		if (option == 'h')
			return hotpin_help("report");
		if (option == '?' && optopt == 't' && table_named(NULL) == NULL)
			return EXIT_USAGE;
		if (option == '?')
			return hotpin_misused("report");
		ret->detail = option == 'a'                                 ? TABLE_ALL
			      : option == 'w' && ret->detail == TABLE_FIRST ? TABLE_WHY
									    : ret->detail;
		ret->force |= option == 'f';
		ret->folded |= option == 'F';
		ret->color = option == 'c' ? optarg : ret->color;
		ret->out = option == 'o' ? optarg : ret->out;
		ret->csv = option == 't' ? optarg : ret->csv;
	}
	if (layout_start(ret->color) < 0)
		return hotpin_misused("report");
	if (ret->csv != NULL && (ret->table = table_named(ret->csv)) == NULL)
		return EXIT_USAGE;
	if (ret->folded && ret->csv != NULL)
		hotpin_say("--folded and --csv: choose one");
	else if (ret->out != NULL && !ret->folded && ret->csv == NULL)
		hotpin_say("--out needs --csv or --folded");
	else if (optind == argc)
		hotpin_say("no profile to read; name a file of `hotpin run -o FILE`");
	else
		return -1;
	return hotpin_misused("report");
}

int hotpin_report(int argc, char **argv)
{
	struct flags flags = { .detail = TABLE_FIRST };
	int status = read_flags(argc, argv, &flags);

	if (status >= 0)
		return status;
	return report_files(argv + optind, (size_t)(argc - optind), &flags);
}
