/*
 * timeline_sums.c - sums the events of a timeline by name, and by stream, device and thread.
 */
#include "analyze/timeline_sums.h"
#include "base/parse.h"

#include <stdlib.h>
#include <string.h>

const char *timeline_kind_name(int64_t kind)
{
	static const char *const kinds[PROFILE_EVENT_COUNT] = {
		[PROFILE_KERNEL] = "kernel",    [PROFILE_COPY] = "copy",
		[PROFILE_MEMSET] = "memset",    [PROFILE_COPY_CALL] = "copy call",
		[PROFILE_WAIT] = "wait",        [PROFILE_RANGE] = "range",
		[PROFILE_API] = "driver call",  [PROFILE_OWN] = "hotpin",
		[PROFILE_SAMPLE] = "host code",
	};

	return kind >= 0 && kind < PROFILE_EVENT_COUNT ? kinds[kind] : "other";
}

static bool is_work(const struct profile_event *event)
{
	return event->kind != PROFILE_RANGE && event->kind != PROFILE_OWN &&
	       event->kind != PROFILE_SAMPLE && event->kind < PROFILE_EVENT_COUNT;
}

static int by_name(const void *left, const void *right)
{
	const struct profile_event *a = *(const struct profile_event *const *)left,
				   *b = *(const struct profile_event *const *)right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static int by_start(const void *left, const void *right)
{
	const struct profile_event *a = *(const struct profile_event *const *)left,
				   *b = *(const struct profile_event *const *)right;

	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static const struct profile_event **sorted_work(struct profile *profile,
						int (*compare)(const void *, const void *),
						size_t *ret_count)
{
	size_t rows = profile->events.row_count, used = 0;
	const struct profile_event **sorted = profile_allocate(profile, rows, sizeof(*sorted));

	for (size_t i = 0; i < rows; i++)
		if (is_work(&profile->events.rows[i]))
			sorted[used++] = &profile->events.rows[i];
	qsort(sorted, used, sizeof(*sorted), compare);
	*ret_count = used;
	return sorted;
}

static int by_total(const void *left, const void *right)
{
	const struct timeline_sum *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	return a->kind != b->kind ? (a->kind < b->kind ? -1 : 1) : strcmp(a->name, b->name);
}

struct timeline_sum *timeline_sums(struct profile *profile, size_t *ret_count)
{
	size_t used, count = 0;
	const struct profile_event **sorted = sorted_work(profile, by_name, &used);
	int64_t *times = profile_allocate(profile, used, sizeof(*times));
	struct timeline_sum *each = profile_allocate(profile, used, sizeof(*each));

	for (size_t first = 0, end; first < used; first = end) {
		struct timeline_sum *one = &each[count++];

		one->kind = sorted[first]->kind;
		one->name =
			sorted[first]->name >= 0 ? profile->events.names[sorted[first]->name] : "";
		for (end = first; end < used && by_name(&sorted[first], &sorted[end]) == 0; end++) {
			int64_t bytes = sorted[end]->bytes;

			times[end] = sorted[end]->duration_ns;
			one->total_ns = profile_add(one->total_ns, times[end]);
			one->bytes = profile_add(one->bytes, bytes > 0 ? bytes : 0);
		}
		one->count = (int64_t)(end - first);
		one->times = statistics_of(times + first, end - first);
	}
	qsort(each, count, sizeof(*each), by_total);
	*ret_count = count;
	return each;
}

/* Events come in order of start. */
static void add_event(struct timeline_track *row, const struct profile_event *event)
{
	int64_t from_ns = event->start_ns, to_ns = from_ns + event->duration_ns;
	int64_t *count = &row->calls, *ns = &row->calls_ns;

	if (event->kind == PROFILE_KERNEL || event->kind == PROFILE_MEMSET) {
		count = &row->kernels;
		ns = &row->kernels_ns;
	} else if (event->kind == PROFILE_COPY || event->kind == PROFILE_COPY_CALL) {
		count = &row->copies;
		ns = &row->copies_ns;
		row->copied_bytes =
			profile_add(row->copied_bytes, event->bytes > 0 ? event->bytes : 0);
	} else if (event->kind == PROFILE_WAIT) {
		count = &row->waits;
		ns = &row->waits_ns;
	}
	++*count;
	*ns = profile_add(*ns, event->duration_ns);
	from_ns = from_ns > row->end_ns ? from_ns : row->end_ns;
	row->busy_ns += to_ns > from_ns ? to_ns - from_ns : 0;
	row->end_ns = to_ns > row->end_ns ? to_ns : row->end_ns;
}

/* Returns the first stream of that device. */
static size_t first_of(const struct profile_events *events, int64_t device)
{
	size_t i = 0;

	while (strcmp(events->tracks[i].kind, "stream") != 0 || events->tracks[i].device != device)
		i++;
	return i;
}

struct timeline_track *timeline_tracks(struct profile *profile, size_t *ret_count)
{
	static const char *const kinds[] = { "stream", "thread" };
	const struct profile_events *events = &profile->events;
	size_t count = events->track_count, used, kept = 0;
	const struct profile_event **sorted = sorted_work(profile, by_start, &used);
	/* For each track its own row, and at the first stream of a device the device's. */
	struct timeline_track *own = profile_allocate(profile, count, sizeof(*own));
	struct timeline_track *devices = profile_allocate(profile, count, sizeof(*devices));
	struct timeline_track **device_of = profile_allocate(profile, count, sizeof(*device_of));
	struct timeline_track *rows = profile_allocate(profile, 2 * count, sizeof(*rows));

	for (size_t i = 0; i < count; i++) {
		own[i].track = &events->tracks[i];
		own[i].device = devices[i].device = events->tracks[i].device;
		if (strcmp(events->tracks[i].kind, "stream") == 0)
			device_of[i] = &devices[first_of(events, events->tracks[i].device)];
	}
	for (size_t i = 0; i < used; i++) {
		add_event(&own[sorted[i]->track], sorted[i]);
		if (device_of[sorted[i]->track] != NULL)
			add_event(device_of[sorted[i]->track], sorted[i]);
	}
	for (size_t i = 0; i < count; i++)
		if (devices[i].busy_ns > 0)
			rows[kept++] = devices[i];
	for (size_t kind = 0; kind < HP_LEN(kinds); kind++)
		for (size_t i = 0; i < count; i++)
			if (strcmp(own[i].track->kind, kinds[kind]) == 0 && own[i].busy_ns > 0)
				rows[kept++] = own[i];
	*ret_count = kept;
	return rows;
}
