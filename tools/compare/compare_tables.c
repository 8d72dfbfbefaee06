/*
 * compare_tables.c - porting stages as tables, and the verdict on the last one as a sentence.
 */
#include "compare/compare.h"
#include "analyze/advice.h"
#include "profile/texts.h"
#include "tables/tables.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *compare_change(int64_t before, int64_t after, unsigned noise_tenths)
{
	if (before < 0 || after < 0 || (before == 0 && after == 0))
		return "";
	if (before == 0)
		return "new";
	if (after == 0)
		return "gone";
	if (text_is_same(before, after, noise_tenths))
		return before == after ? "same" : "~noise";
	if (after / 1000 >= before)
		return "x1000";
	if (after / 10 >= before)
		return text_made("x%lld", (long long)(after / before));
	return text_made("%c%s", after < before ? '-' : '+',
			 text_share(after < before ? before - after : after - before, before));
}

/* True if repeats of both stages, or the user, tell the noise. */
static bool is_known(const struct comparison *comparison, const struct compare_stage *before,
		     const struct compare_stage *after)
{
	return comparison->given || (before->repeated && after->repeated);
}

static enum compare_verdict judge(const struct comparison *comparison,
				  const struct compare_stage *before,
				  const struct compare_stage *after)
{
	return compare_judge(before->profile->wall_ns, after->profile->wall_ns,
			     compare_noise(before, after, comparison->least_tenths),
			     is_known(comparison, before, after));
}

enum compare_verdict compare_last(const struct comparison *comparison)
{
	const struct compare_stage *last = &comparison->stages[comparison->count - 1];

	return judge(comparison, last - 1, last);
}

/* Returns "takes 5 s less than "2" (2.0 times as fast)", or "is as fast as "2" within the noise".
 */
static const char *against(const struct comparison *comparison, const struct compare_stage *before,
			   const struct compare_stage *after)
{
	int64_t was = before->profile->wall_ns, is = after->profile->wall_ns;
	enum compare_verdict verdict = judge(comparison, before, after);
	const char *name = compare_name(before);

	if (verdict == COMPARE_SAME)
		return text_made("is as fast as %s within the noise", name);
	if (was == is || (verdict == COMPARE_UNCLEAR && is_known(comparison, before, after)))
		return text_made("cannot be distinguished from %s", name);
	return text_made("takes %s than %s (%s)", text_change(was, is), name,
			 compare_how_much(was, is));
}

const char *compare_sentence(const struct comparison *comparison)
{
	const struct compare_stage *first = &comparison->stages[0],
				   *last = &comparison->stages[comparison->count - 1];

	return text_made("%s %s%s%s.%s", compare_name(last), against(comparison, last - 1, last),
			 comparison->count > 2 ? " and " : "",
			 comparison->count > 2 ? against(comparison, first, last) : "",
			 compare_last(comparison) != COMPARE_UNCLEAR ? ""
			 : is_known(comparison, last - 1, last)
				 ? " Repeat them on a quiet machine."
				 : " This may be noise. Run each at least twice, as `hotpin bench "
				   "-n 5` does, or state the noise with --noise.");
}

static const struct table_column stage_columns[] = {
	{ NULL, "Stage", TABLE_TEXT },
	{ "runs", "Runs", TABLE_COUNT },
	{ "wall_ns", "Wall", TABLE_TIME },
	{ "least_wall_ns", "Min", TABLE_TIME, TABLE_AT(compare_stage, least_ns) },
	{ "most_wall_ns", "Max", TABLE_TIME, TABLE_AT(compare_stage, most_ns) },
	{ NULL, "Change", TABLE_CHANGE },
	{ "predicted_wall_ns", "Predicted", TABLE_TIME },
	{ "noise_tenths_of_a_percent", NULL, TABLE_COUNT },
	{ "noise_is_assumed", NULL, TABLE_COUNT },
	{ "verdict", "Verdict", TABLE_TEXT },
};

/*
 * An advice of a stage, and what came of it.  The program may have been changed in another way than
 * advised; then the difference says so.
 */
struct prediction {
	struct advice advice;
	int64_t wall_ns; /* predicted with that change: the least, or about, if an estimate */
	int64_t off_ns;  /* the next stage's wall time minus wall_ns; may be negative */
};

/* Returns the build ID of the program's file; NULL if it is not known. */
static const char *build_id(const struct profile *profile)
{
	for (size_t i = 0; i < profile->module_count; i++) {
		if (strcmp(basename(profile->modules[i].path), profile->process.program) == 0)
			return profile->modules[i].build_id;
	}
	return NULL;
}

/* True if the stages are one program that was observed, and then ran with hotpin. */
static bool is_hotpin_the_change(const struct profile *before, const struct profile *after)
{
	const char *was = build_id(before), *is = build_id(after);

	return was != NULL && is != NULL && strcmp(was, is) == 0 && compare_was_observed(before) &&
	       !compare_was_observed(after);
}

/*
 * Compares the prediction with the next stage.  The advice is the first one, but if only hotpin
 * made the difference, it is the one that hotpin carries out.  False: there is none that saves 1 %
 * or more.
 */
static bool predict(const struct profile *before, const struct profile *after,
		    struct prediction *ret)
{
	struct advice_list list;
	size_t at = 0;

	advice_make(before, &list);
	if (is_hotpin_the_change(before, after))
		while (at < list.count && !list.items[at].hotpin_does_it)
			at++;
	if (at == list.count || !advice_is_worth(before, &list.items[at]))
		return false;
	ret->advice = list.items[at];
	ret->wall_ns = before->wall_ns - list.items[at].saves_ns;
	ret->off_ns = after->wall_ns - ret->wall_ns;
	return true;
}

struct table_cell compare_predicted(const struct compare_stage *stage, bool is_first)
{
	struct prediction made;

	if (is_first || !predict(stage[-1].profile, stage->profile, &made))
		return table_about("", 0);
	return table_about(made.advice.is_estimate ? "~" : ">=", made.wall_ns);
}

static void fill_stage(struct table_rows *rows, struct profile *profile)
{
	const struct comparison *comparison = rows->with;

	(void)profile;
	for (size_t i = comparison->from; i < comparison->to; i++) {
		const struct compare_stage *stage = &comparison->stages[i];
		unsigned noise = i > 0 ? compare_noise(stage - 1, stage, comparison->least_tenths)
				       : comparison->least_tenths;
		struct table_cell made = compare_predicted(stage, i == 0);

		TABLE_ROW(
			rows, stage, table_text(stage->profile->stage),
			table_number((int64_t)stage->run_count),
			table_number(stage->profile->wall_ns),
			table_text_made(rows, "%s",
					i > 0 ? compare_change(stage[-1].profile->wall_ns,
							       stage->profile->wall_ns, noise)
					      : ""),
			rows->form == TABLE_CSV && made.value == 0 ? table_number(UNKNOWN) : made,
			table_number(i > 0 ? (int64_t)noise : UNKNOWN),
			table_number(i > 0 ? !is_known(comparison, stage - 1, stage) : UNKNOWN),
			table_text(i > 0 ? compare_verdict_name(judge(comparison, stage - 1, stage))
					 : NULL));
	}
}

/* What two stages have by the same name: a kernel or an NVTX range.  0: a stage has none. */
struct compare_pair {
	const char *name, *what; /* what: new, gone or changed */
	int64_t before_ns, after_ns, runs_before, runs_after;
	int64_t weight; /* size of the change, ns */
};

static int by_weight(const void *left, const void *right)
{
	const struct compare_pair *a = left, *b = right;

	return a->weight > b->weight ? -1 : a->weight < b->weight;
}

static int by_name(const void *left, const void *right)
{
	const struct compare_pair *a = left, *b = right;

	return strcmp(a->name, b->name);
}

static int64_t apart(int64_t a, int64_t b)
{
	return a < b ? b - a : a - b;
}

/* Returns the named times of both stages, two entries for a name that both have, by name. */
static struct compare_pair *list_kernels(struct profile *memory, const struct profile *before,
					 const struct profile *after)
{
	size_t count = before->kernel_count + after->kernel_count;
	struct compare_pair *pairs = profile_allocate(memory, count, sizeof(*pairs)), *pair = pairs;

	for (size_t i = 0; i < before->kernel_count; i++)
		*pair++ = (struct compare_pair){ .name = before->kernels[i].readable,
						 .what = "gone",
						 .before_ns = before->kernels[i].busy_ns,
						 .runs_before = before->kernels[i].count };
	for (size_t i = 0; i < after->kernel_count; i++)
		*pair++ = (struct compare_pair){ .name = after->kernels[i].readable,
						 .what = "new",
						 .after_ns = after->kernels[i].busy_ns,
						 .runs_after = after->kernels[i].count };
	qsort(pairs, count, sizeof(*pairs), by_name);
	return pairs;
}

/* A kernel that runs as often, and changes by less than 0.01 % of the wall time, is unchanged. */
static bool has_changed(const struct compare_pair *pair, int64_t wall_ns, unsigned noise_tenths)
{
	return strcmp(pair->what, "changed") != 0 || pair->runs_before != pair->runs_after ||
	       (pair->weight > wall_ns / 10000 &&
		!text_is_same(pair->before_ns, pair->after_ns, noise_tenths));
}

/* Joins neighbors of one name; returns the number of kernels that have changed, which come first.
 */
static size_t join(struct compare_pair *pairs, size_t count, int64_t wall_ns, unsigned noise_tenths)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct compare_pair pair = pairs[i];

		if (i + 1 < count && by_name(&pair, &pairs[i + 1]) == 0 &&
		    strcmp(pair.what, pairs[i + 1].what) != 0) {
			const struct compare_pair *other = &pairs[++i];

			pair.what = "changed";
			pair.before_ns += other->before_ns;
			pair.after_ns += other->after_ns;
			pair.runs_before += other->runs_before;
			pair.runs_after += other->runs_after;
		}
		pair.weight = apart(pair.before_ns, pair.after_ns);
		if (has_changed(&pair, wall_ns, noise_tenths))
			pairs[kept++] = pair;
	}
	qsort(pairs, kept, sizeof(*pairs), by_weight);
	return kept;
}

static void add_pair(struct table_rows *rows, const struct compare_pair *pair, unsigned noise)
{
	bool is_one = pair->before_ns == 0 || pair->after_ns == 0;

	TABLE_ROW(rows, pair,
		  table_text_made(rows, "%s",
				  is_one ? ""
					 : compare_change(pair->before_ns, pair->after_ns, noise)));
}

/* Says what was advised for the earlier stage, and whether it came true. */
static void say_prediction(struct table_rows *rows, const struct compare_stage *before,
			   const struct profile *after)
{
	struct prediction made;

	if (!predict(before->profile, after, &made))
		return;
	int64_t off_ns = made.off_ns < 0 ? -made.off_ns : made.off_ns;
	bool has_place = made.advice.where[0] != '\0', is_estimate = made.advice.is_estimate;

	table_say(rows, "%s advised: %s%s%s%s", compare_name(before), made.advice.what,
		  has_place ? " (" : "", has_place ? text_name(made.advice.where, 120) : "",
		  has_place ? ")" : "");
	table_say(rows, "predicted %s %s; it took %s, %s %s (%s)%s",
		  is_estimate ? "about" : "at least", text_time(made.wall_ns),
		  text_time(after->wall_ns), text_time(off_ns), made.off_ns < 0 ? "less" : "more",
		  text_share(off_ns, before->profile->wall_ns),
		  made.off_ns < 0 && !is_estimate ? ": other parts took less time, too" : "");
}

static void fill_kernels(struct table_rows *rows, struct profile *profile)
{
	const struct comparison *comparison = rows->with;
	const struct compare_stage *after = &comparison->stages[comparison->from],
				   *before = after - 1;
	unsigned noise = compare_noise(before, after, comparison->least_tenths);
	size_t count = before->profile->kernel_count + after->profile->kernel_count;

	table_subtitle(rows, "from %s to %s", compare_name(before), compare_name(after));
	say_prediction(rows, before, after->profile);
	for (const struct compare_stage *stage = before; stage <= after; stage++)
		if (!profile_has_split(stage->profile))
			table_say(rows, "%s: %s.", compare_name(stage),
				  text_no_split(stage->profile));
	if (before->profile->kernels == NULL || after->profile->kernels == NULL)
		return;
	struct compare_pair *pairs = list_kernels(profile, before->profile, after->profile);
	count = join(pairs, count, before->profile->wall_ns, noise);
	for (size_t i = 0; i < count; i++)
		add_pair(rows, &pairs[i], noise);
}

static void fill_ranges(struct table_rows *rows, struct profile *profile)
{
	const struct comparison *comparison = rows->with;
	const struct compare_stage *stage = &comparison->stages[comparison->from];
	const struct profile *before = stage[-1].profile, *after = stage->profile;
	unsigned noise = compare_noise(stage - 1, stage, comparison->least_tenths);

	(void)profile;
	for (size_t i = 0; i < after->range_count; i++) {
		const struct profile_range *is = &after->ranges[i], *was = before->ranges;
		size_t j = 0;

		while (j < before->range_count && (strcmp(was[j].name, is->name) != 0 ||
						   was[j].wall_ns < 0 || is->wall_ns < 0))
			j++;
		if (j < before->range_count)
			add_pair(rows,
				 &(struct compare_pair){ .name = is->name,
							 .what = "",
							 .before_ns = was[j].wall_ns,
							 .after_ns = is->wall_ns },
				 noise);
	}
}

static const struct table_column pair_columns[] = {
	{ NULL, "What", TABLE_TEXT, TABLE_AT(compare_pair, what) },
	{ NULL, "Change", TABLE_TEXT },
	{ NULL, "Name", TABLE_TEXT, TABLE_AT(compare_pair, name) },
	{ NULL, "Before", TABLE_TIME, TABLE_AT(compare_pair, before_ns) },
	{ NULL, "After", TABLE_TIME, TABLE_AT(compare_pair, after_ns) },
	{ NULL, "Runs before", TABLE_COUNT, 1, TABLE_AT(compare_pair, runs_before) },
	{ NULL, "Runs", TABLE_COUNT, TABLE_AT(compare_pair, runs_after) },
};

/* clang-format off */
const struct table compare_stage_table = { .columns = stage_columns, .count = HP_LEN(stage_columns), .fill = fill_stage, .in_order = true };
const struct table compare_kernel_table = { .title = "Changes", .columns = pair_columns, .count = HP_LEN(pair_columns), .fill = fill_kernels, .most = 10 };
const struct table compare_range_table = { .title = "NVTX ranges of the last two stages", .columns = pair_columns, .count = HP_LEN(pair_columns), .fill = fill_ranges, .most = 10 };
/* clang-format on */
