/*
 * compare_figures.c - the figures of each stage that are compared, and kernels by name.
 */
#include "compare.h"
#include "show.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum form { TIME, BYTES, COUNT, RATE };

const char *compare_name(const struct compare_stage *stage)
{
	static char names[8][160];
	static unsigned turn;
	char *name = names[turn++ % HP_LEN(names)];

	snprintf(name, sizeof(names[0]), "\"%s\"", show_text(stage->profile->stage, 32));
	return name;
}

const char *compare_code(const char *text, bool in_table)
{
	static char codes[4][COMPARE_CODE_ROOM];
	static unsigned turn;
	char *code = codes[turn++ % HP_LEN(codes)], *to = code;
	const char *shown = show_text(text, 32), *last = shown + strlen(shown) - (shown[0] != '\0');
	size_t fence = 1, run = 0;

	/* A longer row of backquotes than in the text, and blanks next to those in the text. */
	for (const char *at = shown; *at != '\0'; at++) {
		run = *at == '`' ? run + 1 : 0;
		fence = run >= fence ? run + 1 : fence;
	}
	bool blanks = strchr("` ", shown[0]) != NULL || strchr("` ", *last) != NULL;
	to = (char *)memset(to, '`', fence) + fence;
	if (blanks)
		*to++ = ' ';
	for (; *shown != '\0'; *to++ = *shown++)
		if (in_table && *shown == '|')
			*to++ = '\\';
	if (blanks)
		*to++ = ' ';
	to = (char *)memset(to, '`', fence) + fence;
	*to = '\0';
	return code;
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

enum figure {
	WALL,
	PARTS,
	H2D = PARTS + SHOW_PARTS,
	H2D_RATE,
	H2D_CALL_RATE,
	D2H,
	D2H_RATE,
	D2H_CALL_RATE,
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
	[WALL] = { "Wall time", TIME, "wall_ns" },
#define STATE(field, title, heading, dropped) { "  " title, TIME, #field "_ns" },
#include "base/states.def"
	[H2D] = { "H2D copies", BYTES, "h2d_bytes" },
	[H2D_RATE] = { "  GB/s", RATE, "h2d_bytes_per_s" },
	[H2D_CALL_RATE] = { "  GB/s, at call", RATE, "h2d_at_call_bytes_per_s" },
	[D2H] = { "D2H copies", BYTES, "d2h_bytes" },
	[D2H_RATE] = { "  GB/s", RATE, "d2h_bytes_per_s" },
	[D2H_CALL_RATE] = { "  GB/s, at call", RATE, "d2h_at_call_bytes_per_s" },
	[COPIES] = { "Copies", COUNT, "copies" },
	[PINNED] = { "From pinned memory", BYTES, "pinned_bytes" },
	[CALLS] = { "Blocked in copy calls", TIME, "copy_calls_ns" },
	[WAITING] = { "  for kernels", TIME, "waiting_for_kernels_ns" },
	[RUNS] = { "Kernel runs", COUNT, "kernel_runs" },
	[KERNEL_TIME] = { "  Total time", TIME, "kernel_busy_ns" },
};

/* Returns bytes per second; UNKNOWN if nothing was copied or no time is known. */
static int64_t rate_of(int64_t bytes, int64_t ns)
{
	if (bytes <= 0 || ns <= 0)
		return UNKNOWN;
	__int128_t rate = (__int128_t)bytes * 1000000000 / ns;
	return rate < INT64_MAX ? (int64_t)rate : INT64_MAX;
}

/* Only synchronous calls count: the time of an asynchronous call is not that of its copy. */
static int64_t rate_at_call(const struct profile *profile, const char *direction)
{
	int64_t bytes = 0, ns = 0;

	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		if (strcmp(row->view, "hotpin") != 0 || strcmp(row->direction, direction) != 0)
			continue;
		bytes = profile_add(bytes, row->sync_bytes);
		ns = profile_add(ns, row->sync_ns);
	}
	return rate_of(bytes, ns);
}

/* Returns the bytes that CUPTI recorded, or else those that hotpin counted. */
static int64_t pinned_bytes(const struct profile *profile)
{
	return profile->promotion.cupti_pinned_bytes >= 0
		       ? profile->promotion.cupti_pinned_bytes
		       : profile_add(profile->promotion.promoted_bytes,
				     profile->promotion.program_pinned_bytes);
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
		[H2D] = up.bytes,
		[H2D_RATE] = device ? rate_of(up.bytes, up.host_ns) : UNKNOWN,
		[H2D_CALL_RATE] = rate_at_call(profile, "h2d"),
		[D2H] = down.bytes,
		[D2H_RATE] = device ? rate_of(down.bytes, down.host_ns) : UNKNOWN,
		[D2H_CALL_RATE] = rate_at_call(profile, "d2h"),
		[COPIES] = profile_add(up.count, down.count),
		[PINNED] = pinned_bytes(profile),
		[CALLS] = profile->host.copy_calls_ns,
		[WAITING] = profile->host.waiting_for_kernels_ns,
		[RUNS] = profile->kernel_runs.count >= 0 ? profile->kernel_runs.count
							 : profile->host.launches,
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

static bool is_known(const struct compare_figure (*all)[COMPARE_FIGURES], size_t count, int figure)
{
	size_t known = 0;
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		known += all[i][figure].value >= 0;
		any |= all[i][figure].value > 0;
	}
	return any && (known > 1 || figure == WALL);
}

bool compare_is_nothing(const struct compare_figure all[COMPARE_FIGURES], int figure)
{
	bool h2d = figure == H2D_RATE || figure == H2D_CALL_RATE;
	bool d2h = figure == D2H_RATE || figure == D2H_CALL_RATE;

	return all[figure].value == 0 || (h2d && all[H2D].value == 0) ||
	       (d2h && all[D2H].value == 0);
}

bool compare_has_row(const struct compare_figure (*all)[COMPARE_FIGURES], size_t count, int figure)
{
	bool device = true;

	/*
	 * All stages of a row use the same clock: the device's if every stage that copies has it.
	 */
	for (size_t i = 0; i < count; i++) {
		device &= all[i][H2D].value <= 0 || all[i][H2D_RATE].value >= 0;
		device &= all[i][D2H].value <= 0 || all[i][D2H_RATE].value >= 0;
	}
	if (device ? figure == H2D_CALL_RATE || figure == D2H_CALL_RATE
		   : figure == H2D_RATE || figure == D2H_RATE)
		return false;
	return is_known(all, count, figure);
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

/* A kernel that runs as often, and changes by less than 0.01 % of the wall time, is unchanged. */
static bool has_changed(const struct compare_pair *pair, int64_t wall_ns, unsigned noise_tenths)
{
	return pair->before == NULL || pair->after == NULL ||
	       pair->before->count != pair->after->count ||
	       (pair->weight > wall_ns / 10000 &&
		!show_is_same(pair->before->busy_ns, pair->after->busy_ns, noise_tenths));
}

/* Merges both sorted lists; returns the number of changed pairs. */
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
