/*
 * compare_show.c - the ledger: a column a stage, and in words what became of each row.
 *
 * Kernels that are new or gone are what porting is about, so they stand first, not last.
 */
#include "compare.h"
#include "show.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNELS_MOST   10

/* Of the ledger, with two blanks between; the first stage has no ratio. */
#define NAME_COLUMNS   22
#define FIGURE_COLUMNS 9
#define RATIO_COLUMNS  12

enum form { TIME, BYTES, COUNT, RATE };

const char *compare_name(const struct compare_stage *stage)
{
	static char names[8][160];
	static unsigned turn;
	char *name = names[turn++ % HP_LEN(names)];

	snprintf(name, sizeof(names[0]), "\"%s\"", show_text(stage->profile->stage, 32));
	return name;
}

const char *compare_ratio(int64_t before, int64_t after, unsigned noise_tenths)
{
	if (noise_tenths > COMPARE_NOISY_TENTHS && before >= 0 && after >= 0 && before != after &&
	    show_is_same(before, after, noise_tenths))
		return "unclear";
	return show_ratio(before, after, noise_tenths);
}

static const char *shown(enum form form, int64_t value)
{
	switch (form) {
	case TIME:
		return show_time(value);
	case BYTES:
		return show_bytes(value);
	case RATE:
		return show_rate(value, 1000000000);
	default:
		return show_count(value);
	}
}

static void cell(enum form form, const int64_t *before, int64_t value, unsigned noise_tenths)
{
	printf("  %9s", shown(form, value));
	if (before != NULL)
		printf("  %-12s", compare_ratio(*before, value, noise_tenths));
}

/* Without the blanks that fill the last column. */
static void row(const char *name, enum form form, const int64_t *values, size_t count,
		unsigned noise_tenths)
{
	printf("%-24s", name);
	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count || i == 0) {
			cell(form, i > 0 ? &values[i - 1] : NULL, values[i], noise_tenths);
			continue;
		}
		printf("  %9s  %s", shown(form, values[i]),
		       compare_ratio(values[i - 1], values[i], noise_tenths));
	}
	putchar('\n');
}

enum figure {
	WALL,
	PARTS,
	HTOD = PARTS + SHOW_PARTS,
	HTOD_RATE,
	DTOH,
	DTOH_RATE,
	COPIES,
	PINNED,
	CALLS,
	WAITING,
	RUNS,
	KERNEL_TIME,
	FIGURES
};
_Static_assert(FIGURES == COMPARE_FIGURES, "all are in the JSON");

static const struct {
	const char *name;
	enum form form;
	const char *key;
} figures[FIGURES] = {
	[WALL] = { "wall time", TIME, "wall_ns" },
	[PARTS + 0] = { "  host code", TIME, "host_ns" },
	[PARTS + 1] = { "  CUDA start-up", TIME, "startup_ns" },
	[PARTS + 2] = { "  CUDA calls", TIME, "calls_ns" },
	[PARTS + 3] = { "  transfers, exposed", TIME, "transfer_ns" },
	[PARTS + 4] = { "  kernels", TIME, "kernel_ns" },
	[PARTS + 5] = { "  overlap", TIME, "overlap_ns" },
	[HTOD] = { "copied to the device", BYTES, "h2d_bytes" },
	[HTOD_RATE] = { "  GB/s", RATE, "h2d_bytes_per_s" },
	[DTOH] = { "copied back", BYTES, "d2h_bytes" },
	[DTOH_RATE] = { "  GB/s", RATE, "d2h_bytes_per_s" },
	[COPIES] = { "copies", COUNT, "copies" },
	[PINNED] = { "of pinned memory", BYTES, "pinned_bytes" },
	[CALLS] = { "inside calls that copy", TIME, "copy_calls_ns" },
	[WAITING] = { "  waiting for kernels", TIME, "waiting_for_kernels_ns" },
	[RUNS] = { "kernels run", COUNT, "kernel_runs" },
	[KERNEL_TIME] = { "  their time, added up", TIME, "kernel_busy_ns" },
};

/* Bytes a second; UNKNOWN where nothing was moved or no time is known. */
static int64_t rate_of(const struct profile_sum *sum)
{
	if (sum->bytes <= 0 || sum->host_ns <= 0)
		return UNKNOWN;
	__int128_t rate = (__int128_t)sum->bytes * 1000000000 / sum->host_ns;
	return rate < INT64_MAX ? (int64_t)rate : INT64_MAX;
}

static void figures_of(const struct profile *profile, int64_t ret[FIGURES])
{
	struct profile_sum up = profile_moved(profile, "h2d"), down = profile_moved(profile, "d2h");
	bool device = strcmp(profile_view(profile), "cupti") == 0;
	const int64_t values[FIGURES] = {
		[WALL] = profile->wall_ns,
		[PARTS + 0] = profile->split.host_ns,
		[PARTS + 1] = profile->split.startup_ns,
		[PARTS + 2] = profile->split.calls_ns,
		[PARTS + 3] = profile->split.transfer_ns,
		[PARTS + 4] = profile->split.kernel_ns,
		[PARTS + 5] = profile->split.overlap_ns,
		[HTOD] = up.bytes,
		[HTOD_RATE] = device ? rate_of(&up) : UNKNOWN,
		[DTOH] = down.bytes,
		[DTOH_RATE] = device ? rate_of(&down) : UNKNOWN,
		[COPIES] = profile_add(up.count, down.count),
		[PINNED] = profile->promotion.cupti_pinned_bytes,
		[CALLS] = profile->host.copy_calls_ns,
		[WAITING] = profile->host.waiting_for_kernels_ns,
		[RUNS] = profile->kernel_runs.count,
		[KERNEL_TIME] = profile->kernel_runs.busy_ns,
	};

	memcpy(ret, values, sizeof(values));
}

void compare_figures(const struct profile *profile, struct compare_figure ret[COMPARE_FIGURES])
{
	int64_t values[FIGURES];

	figures_of(profile, values);
	for (int i = 0; i < FIGURES; i++)
		ret[i] = (struct compare_figure){ figures[i].key, values[i] };
}

const char *compare_figure_name(int figure)
{
	return figures[figure].name;
}

const char *compare_figure_shown(int figure, int64_t value)
{
	return shown(figures[figure].form, value);
}

/* As row(), and what stands before each line says how deep it is: blanks are lost in tables. */
static void table_row(const char *name, enum form form, const int64_t *values, size_t count,
		      unsigned noise_tenths)
{
	printf("| %s%s |", name[0] == ' ' ? "&nbsp; " : "", name + strspn(name, " "));
	for (size_t i = 0; i < count; i++) {
		printf(" %s |", shown(form, values[i]));
		if (i > 0)
			printf(" %s |", compare_ratio(values[i - 1], values[i], noise_tenths));
	}
	putchar('\n');
}

static void table_head(const struct compare_stage *stages, size_t count)
{
	printf("| |");
	for (size_t i = 0; i < count; i++) {
		const char *stage = stages[i].profile->stage;

		printf(" ");
		for (const char *at = show_text(stage, 32); *at != '\0'; at++)
			printf(strchr("|<>[]*_`\\&", *at) != NULL ? "&#%d;" : "%c", *at);
		printf(i > 0 ? " | |" : " |");
	}
	printf("\n|---|");
	for (size_t i = 0; i < count; i++)
		printf(i > 0 ? "--:|---|" : "--:|");
	putchar('\n');
}

/* A label ends where its figures do, or runs on over their ratios; the first has room before it. */
static void text_head(const struct compare_stage *stages, size_t count)
{
	putchar('\n');
	for (size_t i = 0; i < count; i++) {
		int figure = i == 0 ? NAME_COLUMNS + FIGURE_COLUMNS : FIGURE_COLUMNS, columns = 0;
		int room = i == 0 ? figure : figure + 2 + RATIO_COLUMNS;
		const char *label = show_text(stages[i].profile->stage, (size_t)room);

		for (const char *at = label; *at != '\0'; at++)
			columns += (*at & 0xc0) != 0x80;
		int before = columns < figure ? figure - columns : 0;
		int after = i + 1 < count ? room - columns - before : 0;
		printf("  %*s%s%*s", before, "", label, after, "");
	}
	putchar('\n');
}

static void ledger(const struct compare_stage *stages, size_t count, unsigned noise_tenths,
		   enum compare_form as)
{
	int64_t(*all)[FIGURES] = calloc(count, sizeof(*all)),
	*values = calloc(count, sizeof(*values));

	if (as == COMPARE_MARKDOWN)
		table_head(stages, count);
	else
		text_head(stages, count);
	for (size_t i = 0; i < count && all != NULL; i++)
		figures_of(stages[i].profile, all[i]);
	for (int figure = 0; figure < FIGURES && all != NULL && values != NULL; figure++) {
		for (size_t i = 0; i < count; i++)
			values[i] = all[i][figure];
		(as == COMPARE_MARKDOWN ? table_row : row)(
			figures[figure].name, figures[figure].form, values, count, noise_tenths);
	}
	free(values);
	free(all);
}

/* From a stage to the next: of each part of the wall time that changed by more than the noise of
 * the whole. */
static void step(const struct compare_stage *stages, unsigned noise_tenths)
{
	const struct profile *before = stages[0].profile, *after = stages[1].profile;
	bool any = false;

	printf("\nfrom %s to %s: %s (", compare_name(&stages[0]), compare_name(&stages[1]),
	       show_change(before->wall_ns, after->wall_ns));
	if (show_is_same(before->wall_ns, after->wall_ns, noise_tenths))
		printf("within the noise of %u.%u %%)\n", noise_tenths / 10, noise_tenths % 10);
	else
		printf("%s)\n", show_ratio(before->wall_ns, after->wall_ns, noise_tenths));
	for (int i = 0; i < 2; i++)
		if (!profile_has_split(stages[i].profile))
			printf("  %s: %s\n", compare_name(&stages[i]),
			       show_no_split(stages[i].profile));
	if (!profile_has_split(before) || !profile_has_split(after))
		return;
	for (int part = 0; part < SHOW_PARTS; part++) {
		int64_t old = show_part_ns(&before->split, part),
			new = show_part_ns(&after->split, part);
		int64_t apart = old < new ? new - old : old - new;

		if (old < 0 || new < 0 ||
		    (__int128_t)apart * 1000 <= (__int128_t)before->wall_ns * noise_tenths)
			continue;
		printf("%s%s %s", any ? ", " : "  ", show_parts[part].name, show_change(old, new));
		any = true;
	}
	if (any)
		putchar('\n');
}

static int by_weight(const void *left, const void *right)
{
	const struct compare_pair *a = left, *b = right;

	return a->weight > b->weight ? -1 : a->weight < b->weight;
}

static int by_readable(const void *left, const void *right)
{
	const struct profile_kernel *a = *(const struct profile_kernel *const *)left,
				    *b = *(const struct profile_kernel *const *)right;

	return strcmp(a->readable, b->readable);
}

static const struct profile_kernel **sorted_kernels(const struct profile *profile)
{
	const struct profile_kernel **list = calloc(profile->kernel_count + 1, sizeof(*list));

	for (size_t i = 0; i < profile->kernel_count && list != NULL; i++)
		list[i] = &profile->kernels[i];
	if (list != NULL)
		qsort(list, profile->kernel_count, sizeof(*list), by_readable);
	return list;
}

static void show_pair(const struct compare_pair *pair, unsigned noise_tenths)
{
	const struct profile_kernel *kernel = pair->after != NULL ? pair->after : pair->before;

	if (pair->before == NULL || pair->after == NULL)
		printf("  %-8s %9s in %s  %s\n", pair->before == NULL ? "new" : "gone",
		       show_time(kernel->busy_ns), show_several(kernel->count, "run", "runs"),
		       show_text(kernel->readable, 80));
	else
		printf("  changed  %9s, was %s (%s), in %s, was %s  %s\n",
		       show_time(kernel->busy_ns), show_time(pair->before->busy_ns),
		       compare_ratio(pair->before->busy_ns, kernel->busy_ns, noise_tenths),
		       show_several(kernel->count, "run", "runs"), show_count(pair->before->count),
		       show_text(kernel->readable, 80));
}

/* As often and 0.4 us shorter is no news of a second. */
static bool has_changed(const struct compare_pair *pair, int64_t wall_ns, unsigned noise_tenths)
{
	return pair->before == NULL || pair->after == NULL ||
	       pair->before->count != pair->after->count ||
	       (pair->weight > wall_ns / 10000 &&
		!show_is_same(pair->before->busy_ns, pair->after->busy_ns, noise_tenths));
}

/* Both sorted lists side by side; returns how many pairs have changed. */
static size_t match(const struct profile *before, const struct profile *after,
		    struct compare_pair *pairs, unsigned noise_tenths)
{
	const struct profile_kernel **old = sorted_kernels(before), **new = sorted_kernels(after);
	size_t i = 0, j = 0, used = 0;

	while (old != NULL && new != NULL &&
	       (i < before->kernel_count || j < after->kernel_count)) {
		int order = i == before->kernel_count  ? 1
			    : j == after->kernel_count ? -1
						       : by_readable(&old[i], &new[j]);
		struct compare_pair pair = { order <= 0 ? old[i++] : NULL,
					     order >= 0 ? new[j++] : NULL, 0 };

		int64_t was = pair.before != NULL ? pair.before->busy_ns : 0;
		int64_t is = pair.after != NULL ? pair.after->busy_ns : 0;
		pair.weight = was < is ? is - was : was - is;
		if (has_changed(&pair, before->wall_ns, noise_tenths))
			pairs[used++] = pair;
	}
	free(old);
	free(new);
	return used;
}

struct compare_pair *compare_kernels(const struct profile *before, const struct profile *after,
				     unsigned noise_tenths, size_t *ret_count)
{
	struct compare_pair *pairs =
		calloc(before->kernel_count + after->kernel_count + 1, sizeof(*pairs));

	if (pairs == NULL || before->kernels == NULL || after->kernels == NULL) {
		free(pairs);
		return NULL;
	}
	*ret_count = match(before, after, pairs, noise_tenths);
	qsort(pairs, *ret_count, sizeof(*pairs), by_weight);
	return pairs;
}

static void kernels(const struct profile *before, const struct profile *after,
		    unsigned noise_tenths)
{
	size_t used = 0;
	struct compare_pair *pairs = compare_kernels(before, after, noise_tenths, &used);

	if (pairs == NULL)
		puts("  kernels: n/a");
	else if (used == 0)
		puts("  kernels: none is new, gone or changed");
	for (size_t i = 0; i < used && i < KERNELS_MOST; i++)
		show_pair(&pairs[i], noise_tenths);
	if (used > KERNELS_MOST)
		printf("  and %zu more that changed less\n", used - KERNELS_MOST);
	free(pairs);
}

/* NVTX ranges by name, as far as the last stage has them. */
static void ranges(const struct compare_stage *stages, size_t count, unsigned noise_tenths)
{
	const struct profile *last = stages[count - 1].profile;
	int64_t *values = calloc(count, sizeof(*values));

	for (size_t i = 0; i < last->stage_count && values != NULL; i++) {
		char name[SHOW_BYTES(2 + 22)];

		if (i == 0)
			puts("\nranges (NVTX), wall time");
		for (size_t j = 0; j < count; j++) {
			const struct profile *profile = stages[j].profile;

			values[j] = UNKNOWN;
			for (size_t k = 0; k < profile->stage_count; k++)
				if (strcmp(profile->stages[k].name, last->stages[i].name) == 0)
					values[j] = profile->stages[k].wall_ns;
		}
		snprintf(name, sizeof(name), "  %s", show_text(last->stages[i].name, 22));
		row(name, TIME, values, count, noise_tenths);
	}
	free(values);
}

/* What the stage after the last could gain.  A program that failed has no next stage. */
static void next(const struct profile *last)
{
	bool any = false;

	if (last->process.exit_status > 0)
		return;
	for (size_t i = 0; i < last->bound_count; i++) {
		const struct profile_bound *bound = &last->bounds[i];

		if (bound->saves_ns < 0)
			continue;
		if (!any)
			puts("\nwhat the next stage could gain (bounds, not promises)");
		printf("  %-24s at most %s (%s)\n", show_bound(bound->name),
		       show_time(bound->saves_ns), show_share(bound->saves_ns, last->wall_ns));
		any = true;
	}
}

void compare_show(const struct compare_stage *stages, size_t count, unsigned noise_tenths,
		  enum compare_form form)
{
	ledger(stages, count, noise_tenths, form);
	if (form == COMPARE_MARKDOWN)
		puts("\n```text");
	for (size_t i = 1; i < count; i++) {
		step(&stages[i - 1], noise_tenths);
		compare_show_prediction(stdout, &stages[i - 1], stages[i].profile);
		kernels(stages[i - 1].profile, stages[i].profile, noise_tenths);
	}
	ranges(stages, count, noise_tenths);
	next(stages[count - 1].profile);
}
