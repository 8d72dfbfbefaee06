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

#define NOISE_TENTHS 20

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

/* What was given no label goes by its file's name, or by its path where two have one name. */
static void name_stages(struct profile *profiles, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *slash = strrchr(profiles[i].path, '/'), *name = profiles[i].path;

		if (profiles[i].stage != NULL)
			continue;
		if (slash != NULL && slash[1] != '\0')
			name = slash + 1;
		for (size_t j = 0; j < count && name != profiles[i].path; j++) {
			size_t before = strlen(profiles[j].path) - strlen(name);

			if (strlen(profiles[j].path) >= strlen(name) &&
			    strcmp(profiles[j].path + before, name) == 0 &&
			    (before == 0 || profiles[j].path[before - 1] == '/') &&
			    strcmp(profiles[j].path, profiles[i].path) != 0)
				name = profiles[i].path;
		}
		profiles[i].stage = name;
	}
}

static bool same_stage(const struct profile *a, const struct profile *b)
{
	return strcmp(a->stage, b->stage) == 0;
}

static bool same_rank(const struct profile *a, const struct profile *b)
{
	if (a->process.rank == NULL || b->process.rank == NULL)
		return a->process.rank == b->process.rank;
	return strcmp(a->process.rank, b->process.rank) == 0;
}

/* Puts each profile to the stage of its label, in the order of appearance. */
static size_t group(const struct profile *profiles, size_t count, struct compare_stage *stages)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = 0;

		while (at < used && !same_stage(stages[at].runs[0], &profiles[i]))
			at++;
		if (at == used) {
			stages[used].runs = calloc(count, sizeof(*stages[used].runs));
			if (stages[used].runs == NULL)
				return 0;
			used++;
		}
		stages[at].runs[stages[at].run_count++] = &profiles[i];
	}
	return used;
}

static int by_wall(const void *left, const void *right)
{
	const struct profile *a = *(const struct profile *const *)left,
			     *b = *(const struct profile *const *)right;

	return a->wall_ns < b->wall_ns ? -1 : a->wall_ns > b->wall_ns;
}

static int settle_ranks(struct compare_stage *stage)
{
	struct profile *ranks = calloc(stage->run_count, sizeof(*ranks));
	int error = -1;

	if (ranks == NULL)
		return -1;
	for (size_t i = 0; i < stage->run_count; i++)
		ranks[i] = *stage->runs[i];
	if (ranks_check(ranks, stage->run_count, ", but of one stage") == 0) {
		ranks_merge(ranks, stage->run_count, &stage->merged);
		stage->merged.state = ranks[0].state;
		stage->merged.hotpin_version = ranks[0].hotpin_version;
		stage->merged.options = ranks[0].options;
		stage->profile = &stage->merged;
		error = 0;
	}
	free(ranks);
	return error;
}

/* What stands for a stage of several files.  Returns 0, or -1 where that cannot be said. */
static int settle(struct compare_stage *stage)
{
	size_t alike = 0;

	for (size_t i = 0; i < stage->run_count; i++)
		alike += same_rank(stage->runs[0], stage->runs[i]);
	if (alike == 1 && stage->run_count > 1)
		return settle_ranks(stage);
	if (alike < stage->run_count) {
		hotpin_say("stage \"%s\": its files are neither one rank's nor one run's; give "
			   "repeats of one program, or all ranks of one run",
			   show_text(stage->runs[0]->stage, 60));
		return -1;
	}
	qsort(stage->runs, stage->run_count, sizeof(*stage->runs), by_wall);
	stage->profile = stage->runs[stage->run_count / 2];
	stage->repeated = stage->run_count > 1;
	stage->least_ns = stage->runs[0]->wall_ns;
	stage->most_ns = stage->runs[stage->run_count - 1]->wall_ns;
	return 0;
}

/* The larger of what was asked for and how far repeats lie apart. */
static unsigned noise_of(const struct compare_stage *stages, size_t count, unsigned least_tenths)
{
	unsigned noise = least_tenths;

	for (size_t i = 0; i < count; i++) {
		if (!stages[i].repeated || stages[i].profile->wall_ns == 0)
			continue;
		__int128_t tenths = (__int128_t)(stages[i].most_ns - stages[i].least_ns) * 1000 /
				    stages[i].profile->wall_ns;

		if (tenths > noise)
			noise = tenths < 10000 ? (unsigned)tenths : 10000;
	}
	return noise;
}

/* The last step alone decides: what older stages lost is no news. */
static bool is_slower(const struct compare_stage *stages, size_t count, unsigned noise_tenths)
{
	int64_t before = stages[count - 2].profile->wall_ns,
		after = stages[count - 1].profile->wall_ns;

	return after > before && !show_is_same(before, after, noise_tenths);
}

/* "7.4 times as fast", "1.25 times as long"; "3.2 % less" of what changed little. */
static const char *how_much(int64_t before_ns, int64_t after_ns)
{
	static char text[64];
	bool faster = after_ns < before_ns;
	__int128_t more = faster ? before_ns : after_ns, less = faster ? after_ns : before_ns;

	if (less <= 0 || more / less >= 1000) {
		snprintf(text, sizeof(text), "over 1000 times as %s", faster ? "fast" : "long");
		return text;
	}
	unsigned hundredths = (unsigned)((more * 100 + less / 2) / less);
	if (hundredths < 120)
		return show_ratio(before_ns, after_ns, 0);
	if (hundredths < 200)
		snprintf(text, sizeof(text), "%u.%02u times as %s", hundredths / 100,
			 hundredths % 100, faster ? "fast" : "long");
	else
		snprintf(text, sizeof(text), "%u.%u times as %s", (hundredths + 5) / 100,
			 (hundredths + 5) % 100 / 10, faster ? "fast" : "long");
	return text;
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
		printf("%s\n", how_much(before_ns, after_ns));
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
		       how_much(before->wall_ns, after->wall_ns), noise_tenths / 10,
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

static int compare(const struct profile *profiles, size_t count, bool force, unsigned noise_tenths,
		   enum compare_form form)
{
	struct compare_stage *stages = calloc(count, sizeof(*stages));
	size_t used = stages != NULL ? group(profiles, count, stages) : 0;
	int status = EXIT_TROUBLE;
	bool settled = used > 1;

	if (used == 1)
		hotpin_say("all files are of stage \"%s\": there is nothing to compare them with; "
			   "name another stage's file",
			   show_text(profiles[0].stage, 60));
	for (size_t i = 0; i < used && settled; i++)
		settled = settle(&stages[i]) == 0;
	if (settled) {
		if (form == COMPARE_MARKDOWN)
			puts("```text");
		int against = compare_gate(form == COMPARE_JSON ? stderr : stdout, stages, used);

		if (form == COMPARE_MARKDOWN)
			puts("```\n");
		if (against == 0 || force) {
			noise_tenths = noise_of(stages, used, noise_tenths);
			status = show(stages, used, noise_tenths, form);
		} else {
			hotpin_say("not compared; --force does it all the same");
		}
	}
	for (size_t i = 0; i < used; i++) {
		profile_close(&stages[i].merged);
		free(stages[i].runs);
	}
	free(stages);
	return status;
}

int hotpin_compare(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "force", no_argument, NULL, 'f' },    { "json", no_argument, NULL, 'j' },
		{ "markdown", no_argument, NULL, 'm' }, { "noise", required_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },     { NULL, 0, NULL, 0 },
	};
	int option, noise_tenths = NOISE_TENTHS, status = EXIT_TROUBLE;
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
	name_stages(profiles, opened);
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
