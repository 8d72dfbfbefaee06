/*
 * compare.c - `hotpin compare`: what each porting stage gained or lost.
 *
 * Files of one stage are its repeats, which tell how much of a difference is noise, or its ranks.
 */
#include "compare/compare.h"
#include "show/table_report.h"
#include "cmd/commands.h"
#include "cmd/flags.h"
#include "system/messages.h"
#include "show/layout.h"
#include "names/names_find.h"
#include "analyze/places.h"
#include "analyze/ranks.h"
#include "profile/texts.h"
#include "tables/tables.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns a percentage like "2" or "2.5" in tenths, or -1 if it is invalid. */
static int read_percent(const char *text)
{
	char *end;
	long whole = strtol(text, &end, 10);

	if (end == text || text[0] < '0' || text[0] > '9' || whole > 1000)
		return -1;
	if (*end == '\0')
		return (int)whole * 10;
	if (end[0] != '.' || end[1] < '0' || end[1] > '9' || end[2] != '\0')
		return -1;
	return (int)whole * 10 + end[1] - '0';
}

static void show_steps(struct comparison comparison)
{
	const struct profile *last = comparison.stages[comparison.count - 1].profile;

	for (comparison.from = 1; comparison.from < comparison.count; comparison.from++)
		table_print(&compare_kernel_table, comparison.stages[comparison.from].profile,
			    &comparison, TABLE_FIRST);
	comparison.from = comparison.count - 1;
	table_print(&compare_range_table, last, &comparison, TABLE_FIRST);
}

/* Prints as many stages side by side as fit, and the others below. */
static void show_figures(struct comparison comparison)
{
	struct table table;

	while (comparison.from < comparison.count) {
		compare_make_table(&comparison, layout_columns(), &table);
		table_print(&table, comparison.stages[0].profile, &comparison, TABLE_ALL);
		comparison.from = comparison.to;
	}
}

static void show_text(const struct comparison *comparison)
{
	show_figures(*comparison);
	show_steps(*comparison);
	layout_say(4, "\n%s", compare_sentence(comparison));
}

/* Prints what a reader needs first. */
static void tell(struct compare_remarks remarks)
{
	const char *told = "stages\n", *line;

	while ((line = text_take_line(&remarks.against)) != NULL)
		hotpin_say("%s", line);
	while ((line = text_take_line(&remarks.stages)) != NULL)
		text_add_line(&told, "  %s", line);
	while ((line = text_take_line(&remarks.notes)) != NULL)
		text_add_line(&told, "  note: %s", line);
	layout_lines(6, "", told);
}

static int compare_all(struct comparison *comparison, bool force)
{
	const struct compare_remarks remarks = compare_gate(comparison->stages, comparison->count);

	tell(remarks);
	if (remarks.against != NULL && !force) {
		hotpin_say("the runs are not comparable; --force compares them anyway");
		return EXIT_APART;
	}
	show_text(comparison);
	/* Only the last step counts: what earlier stages lost was reported before. */
	return compare_last(comparison) == COMPARE_SLOWER ? EXIT_SLOWER : 0;
}

struct flags {
	struct comparison comparison; /* its noise */
	bool force;
};

static int compare(struct output *output, struct profile *profiles, size_t count, void *arg)
{
	const struct flags *flags = arg;
	struct compare_stage *stages = NULL;
	struct comparison comparison = flags->comparison;
	int status = EXIT_APART;

	(void)output;
	names_resolve(profiles, count);
	places_merge_sites(profiles, count);
	comparison.count = compare_stages(profiles, ranks_only(profiles, count), &stages);
	comparison.stages = stages;
	if (comparison.count == 1)
		hotpin_say(
			"all files are of stage \"%s\", so there is nothing to compare; also name "
			"a file of another stage",
			text_name(profiles[0].stage, 60));
	if (comparison.count > 1)
		status = compare_all(&comparison, flags->force);
	compare_stages_close(stages, comparison.count);
	return status;
}

/* Returns -1, or the exit status if an option is invalid or asks for help. */
static int read_flags(int argc, char **argv, struct flags *ret)
{
	const char *noise = NULL;
	const struct flag flags[] = { { "force", .given = &ret->force },
				      { "noise", 0, &noise },
				      { NULL } };
	int status = flags_read(argc, argv, flags, FLAGS_FILES), tenths = COMPARE_NOISE_TENTHS;

	if (status >= 0)
		return status;
	if (noise != NULL && (tenths = read_percent(noise)) < 0)
		return hotpin_misused("compare", "--noise: expected a percentage like 2 or 2.5");
	if (argc == optind)
		return hotpin_misused("compare", "no profiles to compare; name files of `hotpin "
						 "run -o FILE --stage LABEL`");
	if (argc - optind == 1)
		return hotpin_misused("compare",
				      "only one profile; also name one of another stage");
	layout_start();
	ret->comparison.given = noise != NULL;
	ret->comparison.least_tenths = (unsigned)tenths;
	return -1;
}

int hotpin_compare(int argc, char **argv)
{
	struct flags flags = { 0 };
	int status = read_flags(argc, argv, &flags);

	return status >= 0
		       ? status
		       : flags_write(NULL, argv + optind, (size_t)(argc - optind), compare, &flags);
}
