/*
 * compare_pairs.c - joins the kernels and the NVTX ranges of two stages by name.
 */
#include "compare/compare.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <stdlib.h>
#include <string.h>

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
static struct compare_pair *list_kernels(const struct profile *before, const struct profile *after)
{
	struct compare_pair *pairs =
		calloc(before->kernel_count + after->kernel_count + 1, sizeof(*pairs));
	struct compare_pair *pair = pairs;

	for (size_t i = 0; pairs != NULL && i < before->kernel_count; i++)
		*pair++ = (struct compare_pair){ .name = before->kernels[i].readable,
						 .what = "gone",
						 .before_ns = before->kernels[i].busy_ns,
						 .runs_before = before->kernels[i].count };
	for (size_t i = 0; pairs != NULL && i < after->kernel_count; i++)
		*pair++ = (struct compare_pair){ .name = after->kernels[i].readable,
						 .what = "new",
						 .after_ns = after->kernels[i].busy_ns,
						 .runs_after = after->kernels[i].count };
	if (pairs != NULL)
		qsort(pairs, (size_t)(pair - pairs), sizeof(*pairs), by_name);
	return pairs;
}

/* A kernel that runs as often, and changes by less than 0.01 % of the wall time, is unchanged. */
static bool has_changed(const struct compare_pair *pair, int64_t wall_ns, unsigned noise_tenths)
{
	return strcmp(pair->what, "changed") != 0 || pair->runs_before != pair->runs_after ||
	       (pair->weight > wall_ns / 10000 &&
		!text_is_same(pair->before_ns, pair->after_ns, noise_tenths));
}

struct compare_pairs compare_kernels(const struct profile *before, const struct profile *after,
				     unsigned noise_tenths)
{
	struct compare_pairs pairs = { NULL, 0, noise_tenths };
	size_t count = before->kernel_count + after->kernel_count;

	if (before->kernels == NULL || after->kernels == NULL)
		return pairs;
	pairs.items = list_kernels(before, after);
	for (size_t i = 0; pairs.items != NULL && i < count; i++) {
		struct compare_pair pair = pairs.items[i];

		if (i + 1 < count && by_name(&pair, &pairs.items[i + 1]) == 0 &&
		    strcmp(pair.what, pairs.items[i + 1].what) != 0) {
			const struct compare_pair *other = &pairs.items[++i];

			pair.what = "changed";
			pair.before_ns += other->before_ns;
			pair.after_ns += other->after_ns;
			pair.runs_before += other->runs_before;
			pair.runs_after += other->runs_after;
		}
		pair.weight = apart(pair.before_ns, pair.after_ns);
		if (has_changed(&pair, before->wall_ns, noise_tenths))
			pairs.items[pairs.count++] = pair;
	}
	if (pairs.count > 0)
		qsort(pairs.items, pairs.count, sizeof(*pairs.items), by_weight);
	return pairs;
}

struct compare_pairs compare_ranges(const struct profile *before, const struct profile *after,
				    unsigned noise_tenths)
{
	struct compare_pairs pairs = { calloc(after->range_count + 1, sizeof(*pairs.items)), 0,
				       noise_tenths };

	for (size_t i = 0; pairs.items != NULL && i < after->range_count; i++)
		for (size_t j = 0; j < before->range_count; j++) {
			const struct profile_range *was = &before->ranges[j],
						   *is = &after->ranges[i];

			if (strcmp(was->name, is->name) == 0 && was->wall_ns >= 0 &&
			    is->wall_ns >= 0 && pairs.count <= i)
				pairs.items[pairs.count++] = (struct compare_pair){
					is->name, "", was->wall_ns, is->wall_ns, 0, 0, 0
				};
		}
	return pairs;
}

static const struct table_column columns[] = {
	{ NULL, "What", TABLE_TEXT, TABLE_AT(compare_pair, what) },
	{ NULL, "Change", TABLE_TEXT },
	{ NULL, "Name", TABLE_TEXT, TABLE_AT(compare_pair, name) },
	{ NULL, "Before", TABLE_TIME, TABLE_AT(compare_pair, before_ns) },
	{ NULL, "After", TABLE_TIME, TABLE_AT(compare_pair, after_ns) },
	{ NULL, "Runs before", TABLE_COUNT, 1, TABLE_AT(compare_pair, runs_before) },
	{ NULL, "Runs", TABLE_COUNT, TABLE_AT(compare_pair, runs_after) },
};

static void fill(struct table_rows *rows, struct profile *profile)
{
	const struct compare_pairs *pairs = table_with(rows);

	(void)profile;
	for (size_t i = 0; i < pairs->count; i++) {
		const struct compare_pair *pair = &pairs->items[i];
		bool is_one = strcmp(pair->what, "new") == 0 || strcmp(pair->what, "gone") == 0;

		TABLE_ROW(rows, pair,
			  table_text_made(rows, "%s",
					  is_one ? ""
						 : compare_change(pair->before_ns, pair->after_ns,
								  pairs->noise_tenths)));
	}
}

/* clang-format off */
const struct table compare_kernel_table = { NULL, "Kernels that changed", columns, HP_LEN(columns), fill, .most = 10 };
const struct table compare_range_table = { NULL, "NVTX ranges of the last two stages", columns, HP_LEN(columns), fill, .most = 10 };
/* clang-format on */
