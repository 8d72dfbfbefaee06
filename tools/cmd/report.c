/*
 * report.c - `hotpin report`: prints a profile as text, or one of its tables as CSV.
 *
 * The first screen is at most 24 lines.  An unknown figure is n/a and never 0.  Estimates, bounds
 * and guesses are marked as such.
 */
#include "show/folded.h"
#include "show/table_csv.h"
#include "show/table_report.h"
#include "cmd/commands.h"
#include "cmd/flags.h"
#include "system/messages.h"
#include "show/layout.h"
#include "names/names_find.h"
#include "analyze/places.h"
#include "analyze/ranks.h"
#include "analyze/run_notes.h"
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

	layout_line("%s%s%s  %s%s%s%s", text_name(profile->process.program, 32),
		    text_if(profile->stage != NULL, "  \"%s\"", text_name(profile->stage, 30)),
		    rank, text_time(profile->wall_ns), text_if(!used, "  no device was used"),
		    text_if(used && device != NULL, "  %s", text_name(device, 64)),
		    text_if(used && driver >= 0, "  CUDA %s", text_cuda_version(driver)));
}

/* Returns "  rank 2 of 3", or "". */
static const char *rank_of(const struct profile *profile)
{
	int64_t ranks = profile->process.ranks;

	return text_if(profile->process.rank != NULL, "  rank %s%s",
		       text_name(profile->process.rank, 16),
		       text_if(ranks >= 0, " of %s", text_count(ranks)));
}

/* A first screen has room for one note.  Returns how many notes there are with these. */
static size_t print_notes(const char *notes, enum table_detail detail, size_t before)
{
	for (const char *note; (note = text_take_line(&notes)) != NULL; before++)
		if (before == 0 || detail == TABLE_ALL)
			layout_say(4, "note: %s", note);
	return before;
}

/* The stages of a port are often built over one another. */
static const char *note_of_names(const struct profile *profile)
{
	if (profile->other_build != NULL)
		return text_made("%s differs from the file that was profiled, so its symbols are "
				 "unavailable",
				 text_name(profile->other_build, 120));
	return text_if(
		profile->missing != NULL,
		"%s is not on this machine, so its symbols are unavailable; `hotpin resolve` "
		"stores them where the program ran",
		text_name(profile->missing, 120));
}

/* Prints the last notes, `before` of which are before them. */
static void end_notes(const struct profile *profile, enum table_detail detail, size_t before)
{
	size_t count = print_notes(note_of_names(profile), detail, before);

	if (detail != TABLE_ALL && count > 1)
		layout_say(4, "note: and %s (--all)",
			   text_several((int64_t)count - 1, "more note", "more notes"));
}

static void details(const struct profile *profile)
{
	tables_print(profile);
	putchar('\n');
	layout_lines(2, "", run_facts(profile));
}

static void report_one(const struct profile *profile, enum table_detail detail)
{
	head(profile, rank_of(profile));
	end_notes(profile, detail, print_notes(run_notes(profile), detail, 0));
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
	const struct profile **runs = profile_allocate(&profiles[0], count, sizeof(*runs));
	struct profile merged;
	struct ranks ranks;
	size_t noted = 0;

	for (size_t i = 0; i < count; i++)
		runs[i] = &profiles[i];
	if (ranks_check(profiles, count,
			force ? NULL
			      : "; use `hotpin compare` for stages, or add them up with --force") <
	    0)
		return EXIT_APART;
	ranks_compare(runs, count, &ranks);
	const char *rank = ranks.slowest->process.rank;
	head(ranks.slowest,
	     text_made("  %s, the slowest%s:", text_several((int64_t)count, "rank", "ranks"),
		       text_if(rank != NULL, " is %s", text_name(rank, 16))));
	/* A run may have a thousand ranks; only those with notes are listed. */
	for (size_t i = 0; i < count; i++) {
		const char *notes = run_notes(runs[i]);

		if (detail == TABLE_ALL && runs[i] != ranks.slowest && notes != NULL)
			head(runs[i], rank_of(runs[i]));
		noted = print_notes(notes, detail, noted);
	}
	end_notes(ranks.slowest, detail, noted);
	table_print(&table_rank_spread, ranks.slowest, &ranks, detail);
	if (detail == TABLE_ALL)
		table_print(&table_ranks, ranks.slowest, &ranks, detail);
	table_print(&table_advice, ranks.slowest, NULL, detail);
	if (detail != TABLE_ALL)
		return 0;
	ranks_merge(profiles, count, &merged);
	layout_say(4, "\nALL RANKS TOGETHER (times are added up)");
	for (size_t i = 0; i < merged.warning_count; i++)
		layout_say(4, "note: %s", merged.warnings[i]);
	table_print(&table_states, &merged, NULL, detail);
	details(&merged);
	profile_close(&merged);
	return 0;
}

struct request {
	enum table_detail detail;
	bool force;
};

static int print_report(struct output *output, struct profile *profiles, size_t count, void *arg)
{
	const struct request *request = arg;

	(void)output;
	names_resolve(profiles, count);
	places_merge_sites(profiles, count);
	count = ranks_only(profiles, count);
	if (count > 1)
		return report_ranks(profiles, count, request->force, request->detail);
	report_one(&profiles[0], request->detail);
	return 0;
}

static const struct table *table_named(const char *name)
{
	for (const struct table *const *table = tables; *table != NULL; table++)
		if ((*table)->name != NULL && strcmp((*table)->name, name) == 0)
			return *table;
	hotpin_say("--csv: there is no table %s; there are:", text_name(name, 40));
	for (const struct table *const *table = tables; *table != NULL; table++)
		if ((*table)->name != NULL)
			fprintf(stderr, "  %s\n", (*table)->name);
	return NULL;
}

static int write_folded(struct output *output, struct profile *profiles, size_t count, void *arg)
{
	(void)arg;
	names_resolve(profiles, count);
	return folded_write(output->to, profiles, count) ? 0 : EXIT_FAILURE;
}

static int write_table(struct output *output, struct profile *profiles, size_t count, void *arg)
{
	const struct table *table = arg;

	names_resolve(profiles, count);
	places_merge_sites(profiles, count);
	table_csv_head(output->to, table);
	for (size_t i = 0; i < count; i++)
		table_csv(output->to, table, &profiles[i]);
	return 0;
}

void report_first(struct profile *profile)
{
	print_report(NULL, profile, 1, &(struct request){ TABLE_FIRST, false });
}

int hotpin_report(int argc, char **argv)
{
	const char *out = NULL, *csv = NULL;
	bool all = false, why = false, folded = false, force = false;
	const struct flag flags[] = { { "all", 'a', .given = &all },
				      { "csv", 0, &csv },
				      { "folded", .given = &folded },
				      { "force", .given = &force },
				      { "out", 'o', &out },
				      { "why", .given = &why },
				      { NULL } };
	int status = flags_read(argc, argv, flags, FLAGS_FILES);
	const struct table *table = NULL;

	if (status >= 0)
		return status;
	if (csv != NULL && (table = table_named(csv)) == NULL)
		return EXIT_USAGE;
	if (folded && csv != NULL)
		return hotpin_misused("report", "--folded and --csv: choose one");
	if (out != NULL && !folded && csv == NULL)
		return hotpin_misused("report", "--out needs --csv or --folded");
	if (optind == argc)
		return hotpin_misused("report", FLAGS_NO_PROFILE);
	layout_start();
	char **files = argv + optind;
	size_t count = (size_t)(argc - optind);
	if (folded)
		return flags_write(out, files, count, write_folded, NULL);
	if (table != NULL)
		return flags_write(out, files, count, write_table, (void *)table);
	struct request request = { all ? TABLE_ALL : why ? TABLE_WHY : TABLE_FIRST, force };
	status = flags_write(NULL, files, count, print_report, &request);
	if (status == 0 && !all)
		layout_say(4, "%s--all shows every table.",
			   why ? "" : "--why says how and on what assumption; ");
	return status;
}
