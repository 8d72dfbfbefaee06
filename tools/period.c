/*
 * period.c - selects a part of a run, and the events in it.
 */
#include "period.h"
#include "hotpin.h"
#include "show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAYS_MOST_NS (INT64_MAX / 8)

int64_t period_parse(const char *text)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = { { "", 1000000000 },
		      { "s", 1000000000 },
		      { "ms", 1000000 },
		      { "us", 1000 },
		      { "ns", 1 } };
	int64_t unit = 0, ns = 0;
	const char *at = text + strspn(text, "0123456789");
	const char *part = *at == '.' ? at + 1 : at;
	const char *end = part + strspn(part, "0123456789");

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].name) == 0)
			unit = units[i].ns;
	if (unit == 0 || at == text || end - text > 20)
		return -1;
	for (const char *digit = text; digit < at; digit++)
		if (__builtin_mul_overflow(ns, 10, &ns) ||
		    __builtin_add_overflow(ns, (*digit - '0') * unit, &ns))
			return -1;
	for (; part < end && unit > 0; part++) {
		unit /= 10;
		ns += (*part - '0') * unit;
	}
	return ns < DAYS_MOST_NS ? ns : -1;
}

bool period_take(struct period *period, int option, const char *argument)
{
	int64_t at_ns = 0;

	period->wanted = true;
	if (option == PERIOD_FROM || option == PERIOD_TO)
		at_ns = period_parse(argument);
	if (at_ns < 0) {
		hotpin_say("--%s %s: expected a time since the program began, like 1.5 or 200ms",
			   option == PERIOD_FROM ? "from" : "to", show_text(argument, 40));
		return false;
	}
	if (option == PERIOD_FROM)
		period->from_ns = at_ns;
	else if (option == PERIOD_TO)
		period->to_ns = at_ns;
	else if (option == PERIOD_RANGE)
		period->range = argument;
	else
		period->steady = true;
	return true;
}

int64_t period_overlap(const struct period_span *spans, size_t count, int64_t start_ns,
		       int64_t end_ns)
{
	size_t low = 0, high = count;
	int64_t sum = 0;

	/* Finds the first span that ends after the event begins. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spans[middle].to_ns > start_ns)
			high = middle;
		else
			low = middle + 1;
	}
	for (; low < count && spans[low].from_ns < end_ns; low++) {
		int64_t from_ns = spans[low].from_ns > start_ns ? spans[low].from_ns : start_ns;
		int64_t to_ns = spans[low].to_ns < end_ns ? spans[low].to_ns : end_ns;

		sum += to_ns - from_ns;
	}
	return sum;
}

static int by_start(const void *left, const void *right)
{
	const struct period_span *a = left, *b = right;

	return a->from_ns < b->from_ns ? -1 : a->from_ns > b->from_ns;
}

/* Sorts spans, merges those that touch, and drops empty ones.  Returns their number. */
static size_t settle(struct period_span *spans, size_t count)
{
	size_t used = 0;

	if (count > 0)
		qsort(spans, count, sizeof(*spans), by_start);
	for (size_t i = 0; i < count; i++) {
		if (spans[i].to_ns <= spans[i].from_ns)
			continue;
		if (used == 0 || spans[i].from_ns > spans[used - 1].to_ns)
			spans[used++] = spans[i];
		else if (spans[i].to_ns > spans[used - 1].to_ns)
			spans[used - 1].to_ns = spans[i].to_ns;
	}
	return used;
}

/*
 * Returns the times that the program spent in that range.  The list has room for every event.
 * *ret_warm_ns: the end of the first one.
 */
static size_t find_range(const struct profile *profile, const char *range,
			 struct period_span *spans, int64_t *ret_warm_ns)
{
	size_t used = 0;

	for (size_t i = 0; i < profile->events.row_count; i++) {
		const struct profile_event *event = &profile->events.rows[i];

		if (event->kind == PROFILE_STAGE && event->name >= 0 &&
		    strcmp(profile->events.names[event->name], range) == 0)
			spans[used++] =
				(struct period_span){ event->start_ns,
						      event->start_ns + event->duration_ns };
	}
	struct period_span first = { INT64_MAX, INT64_MAX };

	for (size_t i = 0; i < used; i++)
		if (spans[i].from_ns < first.from_ns)
			first = spans[i];
	*ret_warm_ns = first.to_ns;
	return settle(spans, used);
}

static void say_ranges(const struct profile *profile, const char *range)
{
	bool *told = profile_allocate((struct profile *)profile, profile->events.name_count + 1, 1);
	bool any = false;

	for (size_t i = 0; i < profile->events.row_count; i++) {
		const struct profile_event *event = &profile->events.rows[i];

		if (event->kind != PROFILE_STAGE || event->name < 0 || told[event->name])
			continue;
		if (!any)
			hotpin_say("%s has no NVTX range \"%s\" in its timeline; there are:",
				   show_text(profile->path, 200), show_text(range, 80));
		any = told[event->name] = true;
		fprintf(stderr, "  %s\n", show_text(profile->events.names[event->name], 80));
	}
	if (!any)
		hotpin_say("%s has no NVTX ranges in its timeline; choose a part with --from and "
			   "--to",
			   show_text(profile->path, 200));
}

struct first {
	int64_t start_ns, kind, name, site;
};

static int by_what(const void *left, const void *right)
{
	const struct first *a = left, *b = right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static bool is_same(const struct first *a, const struct first *b)
{
	return a->kind == b->kind && a->name == b->name && a->site == b->site;
}

/*
 * Returns the start of a loop's second iteration: among the kernels and copying calls that recur,
 * the one that begins first is taken at its second start.  -1: nothing recurs.
 */
static int64_t find_steady(struct profile *profile)
{
	struct first *firsts =
		profile_allocate(profile, profile->events.row_count, sizeof(*firsts));
	int64_t first_ns = INT64_MAX, second_ns = -1;
	size_t used = 0;

	for (size_t i = 0; i < profile->events.row_count; i++) {
		const struct profile_event *event = &profile->events.rows[i];

		if (event->kind == PROFILE_KERNEL || event->kind == PROFILE_COPY_CALL)
			firsts[used++] = (struct first){ event->start_ns, event->kind, event->name,
							 event->site };
	}
	if (used > 0)
		qsort(firsts, used, sizeof(*firsts), by_what);
	for (size_t i = 1; i < used; i++) {
		bool is_second = is_same(&firsts[i - 1], &firsts[i]) &&
				 (i == 1 || !is_same(&firsts[i - 2], &firsts[i]));

		if (!is_second || firsts[i - 1].start_ns >= first_ns)
			continue;
		first_ns = firsts[i - 1].start_ns;
		second_ns = firsts[i].start_ns;
	}
	return second_ns;
}

/* Returns the number of selected spans; 0 if there are none, which has been reported. */
static size_t find_spans(const struct period *period, struct profile *profile,
			 struct period_span *spans)
{
	int64_t from_ns = period->from_ns;
	int64_t to_ns = period->to_ns > 0 && period->to_ns < profile->wall_ns ? period->to_ns
									      : profile->wall_ns;
	size_t count = 1;

	if (period->range != NULL) {
		int64_t warm_ns;

		count = find_range(profile, period->range, spans, &warm_ns);
		if (count == 0)
			say_ranges(profile, period->range);
		if (count == 0)
			return 0;
		/* The first pass through the range is warm-up. */
		from_ns = period->steady && warm_ns > from_ns ? warm_ns : from_ns;
	} else {
		spans[0] = (struct period_span){ 0, profile->wall_ns };
		int64_t steady_ns = period->steady ? find_steady(profile) : 0;

		if (steady_ns < 0)
			hotpin_say("%s: no kernel or copy is repeated, so --steady leaves nothing; "
				   "use --from and --to",
				   show_text(profile->path, 200));
		if (steady_ns < 0)
			return 0;
		from_ns = steady_ns > from_ns ? steady_ns : from_ns;
	}
	for (size_t i = 0; i < count; i++) {
		spans[i].from_ns = spans[i].from_ns > from_ns ? spans[i].from_ns : from_ns;
		spans[i].to_ns = spans[i].to_ns < to_ns ? spans[i].to_ns : to_ns;
	}
	count = settle(spans, count);
	if (count == 0)
		hotpin_say("%s: that part of the run is empty; the whole run took %s",
			   show_text(profile->path, 200), show_time(profile->wall_ns));
	return count;
}

/* Drops events outside of the spans; an event without duration belongs to its start. */
static void cut_events(struct profile *profile, const struct period_span *spans, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < profile->events.row_count; i++) {
		const struct profile_event *event = &profile->events.rows[i];
		int64_t end_ns = event->start_ns + event->duration_ns;

		if (period_overlap(spans, count, event->start_ns,
				   end_ns + (event->duration_ns == 0)) > 0)
			profile->events.rows[kept++] = *event;
	}
	profile->events.row_count = kept;
}

/* A level lasts until the next one.  The level before the part moves to the part's start. */
static void cut_memory(struct profile_device_memory *memory, const struct period_span *spans,
		       size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < memory->level_count; i++) {
		struct profile_level level = memory->levels[i];
		int64_t end_ns =
			i + 1 < memory->level_count ? memory->levels[i + 1].at_ns : INT64_MAX / 2;

		if (period_overlap(spans, count, level.at_ns, end_ns) <= 0)
			continue;
		if (level.at_ns < spans[0].from_ns)
			level.at_ns = spans[0].from_ns;
		memory->levels[kept++] = level;
	}
	memory->level_count = kept;
}

static int cut(const struct period *period, struct profile *profile)
{
	if (!profile->events.known) {
		hotpin_say("%s has no timeline, so it cannot be cut; run the program with "
			   "--profile=trace",
			   show_text(profile->path, 200));
		return -ENODATA;
	}
	struct period_span *spans =
		profile_allocate(profile, profile->events.row_count + 1, sizeof(*spans));
	size_t count = find_spans(period, profile, spans);
	if (count == 0)
		return -ENODATA;
	cut_events(profile, spans, count);
	for (size_t i = 0; i < profile->events.memory_count; i++)
		cut_memory(&profile->events.memory[i], spans, count);
	period_sum(profile, spans, count);
	return 0;
}

int period_open(const struct period *period, const char *path, struct profile *ret)
{
	int error = profile_open(path, ret);

	if (error < 0 || !period->wanted)
		return error;
	error = cut(period, ret);
	if (error < 0)
		profile_close(ret);
	return error;
}

struct profile *period_open_all(const struct period *period, char *const *paths, size_t count)
{
	struct profile *profiles = calloc(count, sizeof(*profiles));
	size_t opened = 0;

	if (profiles == NULL)
		return NULL;
	while (opened < count && period_open(period, paths[opened], &profiles[opened]) == 0)
		opened++;
	if (opened == count)
		return profiles;
	period_close_all(profiles, opened);
	return NULL;
}

void period_close_all(struct profile *profiles, size_t count)
{
	for (size_t i = 0; i < count; i++)
		profile_close(&profiles[i]);
	free(profiles);
}
