/*
 * csv.c - `hotpin csv`: writes one table of a profile for spreadsheets and data frames.
 *
 * Times are whole nanoseconds, sizes are bytes, and unknown figures are empty.  Texts are quoted.
 */
#include "show/folded.h"
#include "show/table_csv.h"
#include "cmd/commands.h"
#include "system/messages.h"
#include "names/names.h"
#include "names/names_find.h"
#include "analyze/places.h"
#include "profile/profile_open.h"
#include "profile/texts.h"
#include "tables/tables.h"
#include "system/output.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct table *table_named(const char *name)
{
	for (const struct table *const *table = tables; *table != NULL; table++)
		if ((*table)->name != NULL && strcmp((*table)->name, name) == 0)
			return *table;
	hotpin_say("there is no table %s; there are:", text_name(name, 40));
	for (const struct table *const *table = tables; *table != NULL; table++)
		if ((*table)->name != NULL)
			fprintf(stderr, "  %s\n", (*table)->name);
	return NULL;
}

static bool has_events(const struct profile *profiles, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (profiles[i].events.known)
			return true;
	hotpin_say("no timeline in %s; run the program with --profile=trace",
		   count == 1 ? text_name(profiles[0].path, 200) : "any of these files");
	return false;
}

static bool write_table(FILE *to, const struct table *table, struct profile *profiles, size_t count)
{
	if (table->of_timeline && !has_events(profiles, count))
		return false;
	names_resolve(profiles, count, !table->of_timeline);
	places_merge_sites(profiles, count);
	table_csv_head(to, table);
	for (size_t i = 0; i < count; i++)
		table_csv(to, table, &profiles[i]);
	return true;
}

static bool write_folded(FILE *to, struct profile *profiles, size_t count)
{
	names_resolve(profiles, count, true);
	return folded_write(to, profiles, count);
}

int hotpin_csv(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "folded", no_argument, NULL, 'f' },
		{ "out", required_argument, NULL, 'o' },
		{ "table", required_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const struct table *table = NULL;
	const char *path = NULL;
	bool folded = false;
	struct output output;
	int option, status = EXIT_FAILURE;

	while ((option = getopt_long(argc, argv, "ho:t:", longs, NULL)) != -1) {
		if (option == 'h')
			return hotpin_help("csv");
		if (option == '?')
			return hotpin_misused("csv");
		if (option == 'o')
			path = optarg;
		folded |= option == 'f';
		if (option == 't' && (table = table_named(optarg)) == NULL)
			return EXIT_USAGE;
	}
	if (folded && table != NULL) {
		hotpin_say("--folded writes no table; leave out --table");
		return hotpin_misused("csv");
	}
	if (table == NULL)
		table = tables[0];
	size_t count = (size_t)(argc - optind);
	if (count == 0) {
		hotpin_say("no profile to read; name a file of `hotpin run -o FILE`");
		return hotpin_misused("csv");
	}

	/* Opening the output first avoids a long read in vain if it cannot be written. */
	if (output_open(&output, path, argv + optind, count, false) < 0)
		return EXIT_FAILURE;
	struct profile *profiles = profile_open_all(argv + optind, count);
	if (profiles == NULL) {
		output_drop(&output);
		return EXIT_FAILURE;
	}
	if (folded ? write_folded(output.to, profiles, count)
		   : write_table(output.to, table, profiles, count))
		status = output_close(&output) < 0 ? EXIT_FAILURE : 0;
	else
		output_drop(&output);
	profile_close_all(profiles, count);
	return status;
}
