/*
 * compare_stages.c - profiles by stage: repeats of one run, or its ranks.
 */
#include "compare/compare.h"
#include "system/messages.h"
#include "analyze/ranks.h"
#include "profile/sorted_lists.h"
#include "profile/texts.h"

#include <stdlib.h>
#include <string.h>

/* True if no profile has a label and all ranks differ: one run, with any file names. */
static bool are_unnamed_ranks(const struct profile *profiles, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (profiles[i].stage != NULL || profiles[i].process.rank == NULL)
			return false;
		for (size_t j = 0; j < i; j++)
			if (strcmp(profiles[i].process.rank, profiles[j].process.rank) == 0)
				return false;
	}
	return count > 1;
}

/* A profile without a label gets its file name, or its path if two file names are equal. */
static void name_stages(struct profile *profiles, size_t count)
{
	if (are_unnamed_ranks(profiles, count)) {
		for (size_t i = 0; i < count; i++)
			profiles[i].stage = profiles[0].process.program;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const char *name = basename(profiles[i].path);

		if (profiles[i].stage != NULL)
			continue;
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

/* Assigns each profile to the stage of its label, in the order of appearance. */
static size_t group(const struct profile *profiles, size_t count, struct compare_stage *stages)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = 0;

		while (at < used && !same_stage(stages[at].runs[0], &profiles[i]))
			at++;
		if (at == used) {
			stages[used++].runs =
				profile_allocate(profiles, count, sizeof(*stages->runs));
		}
		stages[at].runs[stages[at].run_count++] = &profiles[i];
	}
	return used;
}

static int by_wall(const void *left, const void *right)
{
	const struct profile *a = *(const struct profile *const *)left,
			     *b = *(const struct profile *const *)right;

	return sorted_numbers(a->wall_ns, b->wall_ns);
}

static int settle_ranks(struct compare_stage *stage)
{
	struct profile *ranks = profile_allocate(stage->runs[0], stage->run_count, sizeof(*ranks));

	for (size_t i = 0; i < stage->run_count; i++)
		ranks[i] = *stage->runs[i];
	if (ranks_check(ranks, stage->run_count, ", but of one stage") < 0)
		return -1;
	ranks_merge(ranks, stage->run_count, &stage->merged);
	stage->merged.state = ranks[0].state;
	stage->merged.hotpin_version = ranks[0].hotpin_version;
	stage->merged.options = ranks[0].options;
	stage->profile = &stage->merged;
	stage->walls = (struct compare_times){ stage->merged.wall_ns, stage->merged.wall_ns,
					       stage->merged.wall_ns };
	return 0;
}

/*
 * Chooses the profile that represents a stage of several files.  Returns 0, or -1 if there is none.
 */
static int settle(struct compare_stage *stage)
{
	size_t alike = 0;

	for (size_t i = 0; i < stage->run_count; i++)
		alike += same_rank(stage->runs[0], stage->runs[i]);
	if (alike == 1 && stage->run_count > 1)
		return settle_ranks(stage);
	if (alike < stage->run_count) {
		hotpin_say("stage \"%s\": its files are neither repeats nor ranks of one run; give "
			   "repeats of one program, or all ranks of one run",
			   text_name(stage->runs[0]->stage, 60));
		return -1;
	}
	qsort(stage->runs, stage->run_count, sizeof(*stage->runs), by_wall);
	stage->profile = stage->runs[stage->run_count / 2];
	stage->repeated = stage->run_count > 1;
	stage->walls = (struct compare_times){ stage->runs[0]->wall_ns, stage->profile->wall_ns,
					       stage->runs[stage->run_count - 1]->wall_ns };
	return 0;
}

void compare_stages_close(struct compare_stage *stages, size_t count)
{
	for (size_t i = 0; i < count; i++)
		profile_close(&stages[i].merged);
}

size_t compare_stages(struct profile *profiles, size_t count, struct compare_stage **ret)
{
	struct compare_stage *stages = profile_allocate(profiles, count, sizeof(*stages));

	*ret = stages;
	name_stages(profiles, count);
	size_t used = group(profiles, count, stages);
	for (size_t i = 0; i < used; i++)
		if (settle(&stages[i]) < 0) {
			compare_stages_close(stages, used);
			return 0;
		}
	return used;
}

const char *compare_name(const struct compare_stage *stage)
{
	return text_made("\"%s\"", text_name(stage->profile->stage, 32));
}

const char *compare_how_much(int64_t before_ns, int64_t after_ns)
{
	const char *as = after_ns < before_ns ? "fast" : "long";
	bool faster = after_ns < before_ns;
	__int128_t more = faster ? before_ns : after_ns, less = faster ? after_ns : before_ns;

	if (less <= 0 || more / less >= 1000)
		return text_made("over 1000 times as %s", as);
	unsigned hundredths = (unsigned)((more * 100 + less / 2) / less);
	if (hundredths < 120)
		return text_made(
			"%s %s",
			text_share(faster ? before_ns - after_ns : after_ns - before_ns, before_ns),
			faster ? "less" : "more");
	if (hundredths < 200)
		return text_made("%u.%02u times as %s", hundredths / 100, hundredths % 100, as);
	return text_made("%u.%u times as %s", (hundredths + 5) / 100, (hundredths + 5) % 100 / 10,
			 as);
}
