/*
 * compare.c - `hotpin compare`: what each porting stage gained or lost.
 *
 * Files of one stage are its repeats, which tell how much of a difference is noise, or its ranks.
 */
#include "compare.h"
#include "hotpin.h"
#include "names.h"
#include "ranks.h"
#include "show.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_SLOWER = 1, EXIT_TROUBLE = 2 };

/* "2", "2.5": a percentage in tenths, or -1. */
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

/* The last step alone decides: what older stages lost is no news. */
static bool is_slower(const struct compare_stage *stages, size_t count, unsigned noise_tenths)
{
	int64_t before = stages[count - 2].profile->wall_ns,
		after = stages[count - 1].profile->wall_ns;

	return after > before && !show_is_same(before, after, noise_tenths);
}

/* Of two stages the verdict says it. */
static void in_all(const struct compare_stage *stages, size_t count, unsigned noise_tenths)
{
	int64_t before_ns = stages[0].profile->wall_ns,
		after_ns = stages[count - 1].profile->wall_ns;

	if (count < 3)
		return;
	printf("\nin all, from %s to %s: %s to %s, ", compare_name(&stages[0]),
	       compare_name(&stages[count - 1]), show_time(before_ns), show_time(after_ns));
	if (show_is_same(before_ns, after_ns, noise_tenths))
		printf("within the noise of %u.%u %%\n", noise_tenths / 10, noise_tenths % 10);
	else
		printf("%s\n", compare_how_much(before_ns, after_ns));
}

static int verdict(const struct compare_stage *stages, size_t count, unsigned noise_tenths)
{
	const struct profile *before = stages[count - 2].profile,
			     *after = stages[count - 1].profile;

	const char *old = compare_name(&stages[count - 2]), *new = compare_name(&stages[count - 1]);
	bool same = show_is_same(before->wall_ns, after->wall_ns, noise_tenths);

	in_all(stages, count, noise_tenths);
	if (same && noise_tenths > COMPARE_NOISY_TENTHS)
		printf("\nverdict: %s and %s cannot be told apart (noise %u.%u %%): repeat them on a "
		       "quiet machine\n",
		       new, old, noise_tenths / 10, noise_tenths % 10);
	else if (same)
		printf("\nverdict: %s takes as long as %s, within the noise of %u.%u %%\n", new,
		       old, noise_tenths / 10, noise_tenths % 10);
	else
		printf("\nverdict: %s takes %s than %s (%s; noise %u.%u %%)\n", new,
		       show_change(before->wall_ns, after->wall_ns), old,
		       compare_how_much(before->wall_ns, after->wall_ns), noise_tenths / 10,
		       noise_tenths % 10);
	return is_slower(stages, count, noise_tenths) ? EXIT_SLOWER : 0;
}

/* What is printed, and the status. */
static int show(const struct compare_stage *stages, size_t count, unsigned noise_tenths,
		enum compare_form form)
{
	if (form == COMPARE_JSON) {
		compare_json(stages, count, noise_tenths);
		return is_slower(stages, count, noise_tenths) ? EXIT_SLOWER : 0;
	}
	compare_show(stages, count, noise_tenths, form);
	int status = verdict(stages, count, noise_tenths);
	if (form == COMPARE_MARKDOWN)
		puts("```");
	return status;
}

/* Says each line of the text on stderr. */
static void say_lines(char *text)
{
	for (char *line; (line = strsep(&text, "\n")) != NULL;)
		if (line[0] != '\0')
			hotpin_say("%s", line);
}

/* What a reader must know first; returns how many reasons there are against a comparison. */
static int gate(const struct compare_stage *stages, size_t count, enum compare_form form)
{
	char *reasons = NULL;
	size_t bytes;
	FILE *against = open_memstream(&reasons, &bytes);

	if (against == NULL)
		return 1;
	if (form == COMPARE_MARKDOWN)
		puts("```text");
	int found = compare_gate(form == COMPARE_JSON ? stderr : stdout, against, stages, count);
	if (form == COMPARE_MARKDOWN)
		puts("```\n");
	fclose(against);
	say_lines(reasons);
	free(reasons);
	return found;
}

static int compare(struct profile *profiles, size_t count, bool force, unsigned noise_tenths,
		   enum compare_form form)
{
	struct compare_stage *stages = NULL;
	size_t used = compare_stages(profiles, count, &stages);
	int status = EXIT_TROUBLE;

	if (used == 1)
		hotpin_say("all files are of stage \"%s\": there is nothing to compare them with; "
			   "name another stage's file",
			   show_text(profiles[0].stage, 60));
	if (used > 1) {
		if (gate(stages, used, form) == 0 || force) {
			noise_tenths = compare_noise(stages, used, noise_tenths);
			status = show(stages, used, noise_tenths, form);
		} else {
			hotpin_say("not compared; --force does it all the same");
		}
	}
	compare_stages_free(stages, used);
	return status;
}

int hotpin_compare(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "force", no_argument, NULL, 'f' },    { "json", no_argument, NULL, 'j' },
		{ "markdown", no_argument, NULL, 'm' }, { "noise", required_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },     { NULL, 0, NULL, 0 },
	};
	int option, noise_tenths = COMPARE_NOISE_TENTHS, status = EXIT_TROUBLE;
	enum compare_form form = COMPARE_TEXT;
	bool force = false;

	while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (option == 'h')
			return hotpin_help("compare");
		if (option == '?')
			return hotpin_misused("compare");
		force |= option == 'f';
		if (option == 'j' || option == 'm')
			form = option == 'j' ? COMPARE_JSON : COMPARE_MARKDOWN;
		if (option == 'n')
			noise_tenths = read_percent(optarg);
		if (noise_tenths < 0) {
			hotpin_say("--noise takes a percentage like 2 or 2.5");
			return hotpin_misused("compare");
		}
	}
	size_t count = (size_t)(argc - optind), opened = 0;
	if (count < 2) {
		hotpin_say(count == 0 ? "no profiles to compare"
				      : "one profile alone: name another stage's, too");
		return hotpin_misused("compare");
	}
	profile_trouble = EXIT_TROUBLE;

	struct profile *profiles = calloc(count, sizeof(*profiles));
	if (profiles == NULL)
		return EXIT_TROUBLE;
	while (opened < count && profile_open(argv[optind + (int)opened], &profiles[opened]) == 0)
		opened++;
	if (opened == count)
		names_resolve(profiles, count, true);
	if (opened == count)
		status = compare(profiles, ranks_only(profiles, opened), force,
				 (unsigned)noise_tenths, form);
	/* What could not be written must not look like a stage that is slower. */
	if (fflush(stdout) != 0)
		status = EXIT_TROUBLE;
	for (size_t i = 0; i < opened; i++)
		profile_close(&profiles[i]);
	free(profiles);
	return status;
}
