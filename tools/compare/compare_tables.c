/*
 * compare_tables.c - porting stages as tables, and the verdict on the last one as a sentence.
 */
#include "compare/compare.h"
#include "analyze/advice.h"
#include "profile/merge.h"
#include "profile/sorted_lists.h"
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

struct compare_step compare_step(const struct comparison *comparison, size_t before, size_t after)
{
	const struct compare_stage *was = &comparison->stages[before],
				   *is = &comparison->stages[after];
	struct compare_step step = {
		.before = was,
		.after = is,
		.noise_tenths = compare_noise_of(&was->walls, &is->walls, comparison->least_tenths),
		.is_known = comparison->given || (was->repeated && is->repeated),
	};

	step.verdict = compare_judge(was->walls.median, is->walls.median, step.noise_tenths,
				     step.is_known);
	return step;
}

enum compare_verdict compare_last(const struct comparison *comparison)
{
	return compare_step(comparison, comparison->count - 2, comparison->count - 1).verdict;
}

/* Returns "takes 5 s less than "2" (2.0 times as fast)", or "is as fast as "2" within the noise".
 */
static const char *against(const struct compare_step *step)
{
	int64_t was = step->before->walls.median, is = step->after->walls.median;
	const char *name = compare_name(step->before);

	if (step->verdict == COMPARE_SAME)
		return text_made("is as fast as %s within the noise", name);
	if (was == is || (step->verdict == COMPARE_UNCLEAR && step->is_known))
		return text_made("cannot be distinguished from %s", name);
	return text_made("takes %s than %s (%s)", text_change(was, is), name,
			 compare_how_much(was, is));
}

const char *compare_sentence(const struct comparison *comparison)
{
	size_t last = comparison->count - 1;
	struct compare_step from_first = compare_step(comparison, 0, last),
			    step = compare_step(comparison, last - 1, last);

	return text_made(
		"%s: %s %s%s%s.%s", compare_verdict_name(step.verdict), compare_name(step.after),
		against(&step), comparison->count > 2 ? " and " : "",
		comparison->count > 2 ? against(&from_first) : "",
		step.verdict != COMPARE_UNCLEAR ? ""
		: step.is_known
			? " Repeat them on a quiet machine."
			: " This may be noise. Run each at least twice, as `hotpin bench -n 5` "
			  "does, or state the noise with --noise.");
}

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

struct table_cell compare_predicted(const struct comparison *comparison, size_t stage)
{
	const struct compare_stage *after = &comparison->stages[stage];
	struct prediction made;

	if (stage == 0 || !predict(after[-1].profile, after->profile, &made))
		return table_about("", 0);
	return table_about(made.advice.is_estimate ? "~" : ">=", made.wall_ns);
}

/* What two stages have by the same name: a kernel or an NVTX range.  0: a stage has none. */
struct compare_pair {
	const char *name, *what; /* what: new, gone or changed */
	int64_t before_ns, after_ns, runs_before, runs_after;
};

static int64_t apart(const struct compare_pair *pair)
{
	return pair->before_ns < pair->after_ns ? pair->after_ns - pair->before_ns
						: pair->before_ns - pair->after_ns;
}

static int by_change(const void *left, const void *right)
{
	return sorted_numbers(apart(right), apart(left));
}

static int by_name(const void *left, const void *right, void *arg)
{
	const struct compare_pair *a = left, *b = right;

	(void)arg;
	return strcmp(a->name, b->name);
}

/* A kernel that runs as often, and changes by less than 0.01 % of the wall time, is unchanged. */
static bool has_changed(const struct compare_pair *pair, int64_t wall_ns, unsigned noise_tenths)
{
	return strcmp(pair->what, "changed") != 0 || pair->runs_before != pair->runs_after ||
	       (apart(pair) > wall_ns / 10000 &&
		!text_is_same(pair->before_ns, pair->after_ns, noise_tenths));
}

/* Returns the kernels of both stages that have changed, most change first. */
static struct compare_pair *changed_kernels(const struct compare_step *step, size_t *ret_count)
{
	const struct profile *before = step->before->profile, *after = step->after->profile;
	size_t count = before->kernel_count + after->kernel_count, kept = 0;
	struct compare_pair *pairs = profile_allocate(after, count, sizeof(*pairs));
	size_t *first = profile_allocate(after, count, sizeof(*first));

	for (size_t i = 0; i < before->kernel_count; i++)
		pairs[i] = (struct compare_pair){ .name = before->kernels[i].readable,
						  .what = "gone",
						  .before_ns = before->kernels[i].busy_ns,
						  .runs_before = before->kernels[i].count };
	for (size_t i = 0; i < after->kernel_count; i++)
		pairs[before->kernel_count + i] =
			(struct compare_pair){ .name = after->kernels[i].readable,
					       .what = "new",
					       .after_ns = after->kernels[i].busy_ns,
					       .runs_after = after->kernels[i].count };
	merge_find_first(after, pairs, count, sizeof(*pairs), by_name, NULL, first);
	for (size_t i = 0; i < count; i++) {
		struct compare_pair *sum = &pairs[first[i]];

		if (first[i] == i)
			continue;
		if (strcmp(sum->what, pairs[i].what) != 0)
			sum->what = "changed";
		sum->before_ns += pairs[i].before_ns;
		sum->after_ns += pairs[i].after_ns;
		sum->runs_before += pairs[i].runs_before;
		sum->runs_after += pairs[i].runs_after;
	}
	for (size_t i = 0; i < count; i++)
		if (first[i] == i && has_changed(&pairs[i], before->wall_ns, step->noise_tenths))
			pairs[kept++] = pairs[i];
	qsort(pairs, kept, sizeof(*pairs), by_change);
	*ret_count = kept;
	return pairs;
}

static void add_pair(struct table_rows *rows, const struct compare_pair *pair, unsigned noise)
{
	bool is_one = pair->before_ns == 0 || pair->after_ns == 0;

	TABLE_ROW(rows, pair,
		  table_text(is_one ? "" : compare_change(pair->before_ns, pair->after_ns, noise)));
}

/* Says what was advised for the earlier stage, and whether it came true. */
static void say_prediction(struct table_rows *rows, const struct compare_step *step)
{
	const struct profile *before = step->before->profile, *after = step->after->profile;
	struct prediction made;

	if (!predict(before, after, &made))
		return;
	int64_t off_ns = made.off_ns < 0 ? -made.off_ns : made.off_ns;
	bool has_place = made.advice.where[0] != '\0', is_estimate = made.advice.is_estimate;

	table_say(rows, "%s advised: %s%s%s%s", compare_name(step->before), made.advice.what,
		  has_place ? " (" : "", has_place ? text_name(made.advice.where, 120) : "",
		  has_place ? ")" : "");
	table_say(rows, "predicted %s %s; it took %s, %s %s (%s)%s",
		  is_estimate ? "about" : "at least", text_time(made.wall_ns),
		  text_time(after->wall_ns), text_time(off_ns), made.off_ns < 0 ? "less" : "more",
		  text_share(off_ns, before->wall_ns),
		  made.off_ns < 0 && !is_estimate ? ": other parts took less time, too" : "");
}

/* Returns the step to the stage from which a table shows stages on. */
static struct compare_step step_of(const struct table_rows *rows)
{
	const struct comparison *comparison = rows->with;

	return compare_step(comparison, comparison->from - 1, comparison->from);
}

static void fill_kernels(struct table_rows *rows, struct profile *profile)
{
	struct compare_step step = step_of(rows);
	size_t count;

	(void)profile;
	rows->title =
		text_made("from %s to %s", compare_name(step.before), compare_name(step.after));
	say_prediction(rows, &step);
	for (const struct compare_stage *stage = step.before; stage <= step.after; stage++)
		if (!profile_has_split(stage->profile))
			table_say(rows, "%s: %s.", compare_name(stage),
				  text_no_split(stage->profile));
	if (step.before->profile->kernels == NULL || step.after->profile->kernels == NULL)
		return;
	const struct compare_pair *pairs = changed_kernels(&step, &count);
	for (size_t i = 0; i < count; i++)
		add_pair(rows, &pairs[i], step.noise_tenths);
}

static void fill_ranges(struct table_rows *rows, struct profile *profile)
{
	struct compare_step step = step_of(rows);
	const struct profile *before = step.before->profile, *after = step.after->profile;

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
				 step.noise_tenths);
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
const struct table compare_kernel_table = { .title = "Changes", .columns = pair_columns, .count = HP_LEN(pair_columns), .fill = fill_kernels, .most = 10 };
const struct table compare_range_table = { .title = "NVTX ranges of the last two stages", .columns = pair_columns, .count = HP_LEN(pair_columns), .fill = fill_ranges, .most = 10 };
/* clang-format on */
