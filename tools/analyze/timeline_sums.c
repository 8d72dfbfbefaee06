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

static int by_total(const void *left, const void *right)
{
	const struct timeline_sum *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	return a->kind != b->kind ? (a->kind < b->kind ? -1 : 1) : strcmp(a->name, b->name);
}

struct timeline_sum *timeline_sums(struct profile *profile, size_t *ret_count)
{
	size_t rows = profile->events.row_count, used = 0, count = 0;
	const struct profile_event **sorted = profile_allocate(profile, rows, sizeof(*sorted));
	int64_t *times = profile_allocate(profile, rows, sizeof(*times));
	struct timeline_sum *each = profile_allocate(profile, rows, sizeof(*each));

	for (size_t i = 0; i < rows; i++)
		if (is_work(&profile->events.rows[i]))
			sorted[used++] = &profile->events.rows[i];
	if (used > 0)
		qsort(sorted, used, sizeof(*sorted), by_name);
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
	if (count > 0)
		qsort(each, count, sizeof(*each), by_total);
	*ret_count = count;
	return each;
}

static void count_event(struct timeline_track *row, const struct profile_event *event)
{
	int64_t bytes = event->bytes > 0 ? event->bytes : 0;

	switch (event->kind) {
	case PROFILE_KERNEL:
	case PROFILE_MEMSET:
		row->kernels++;
		row->kernels_ns = profile_add(row->kernels_ns, event->duration_ns);
		break;
	case PROFILE_COPY:
	case PROFILE_COPY_CALL:
		row->copies++;
		row->copied_bytes = profile_add(row->copied_bytes, bytes);
		row->copies_ns = profile_add(row->copies_ns, event->duration_ns);
		break;
	case PROFILE_WAIT:
		row->waits++;
		row->waits_ns = profile_add(row->waits_ns, event->duration_ns);
		break;
	default:
		row->calls++;
		row->calls_ns = profile_add(row->calls_ns, event->duration_ns);
	}
}

static int by_start(const void *left, const void *right)
{
	const struct profile_event *a = *(const struct profile_event *const *)left,
				   *b = *(const struct profile_event *const *)right;

	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Events come in order of start. */
static void add_event(struct timeline_track *row, const struct profile_event *event)
{
	int64_t from_ns = event->start_ns, to_ns = from_ns + event->duration_ns;

	count_event(row, event);
	from_ns = from_ns > row->end_ns ? from_ns : row->end_ns;
	row->busy_ns += to_ns > from_ns ? to_ns - from_ns : 0;
	row->end_ns = to_ns > row->end_ns ? to_ns : row->end_ns;
}

/* Returns the row of a device; NULL if there is none yet. */
static struct timeline_track *device_row(struct timeline_track *rows, size_t count, int64_t device)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].track == NULL && rows[i].device == device)
			return &rows[i];
	return NULL;
}

/* The rows of a track: its own, and that of its device; NULL: none. */
struct both {
	struct timeline_track *own, *device;
};

/* Makes rows for devices, streams and threads.  Returns their number. */
static size_t make_rows(const struct profile *profile, struct timeline_track *rows,
			struct both *by_track)
{
	static const char *const kinds[] = { "stream", "thread" };
	size_t tracks = profile->events.track_count, count = 0;

	for (size_t i = 0; i < tracks; i++) {
		const struct profile_track *track = &profile->events.tracks[i];

		if (strcmp(track->kind, "stream") != 0)
			continue;
		by_track[i].device = device_row(rows, count, track->device);
		if (by_track[i].device != NULL)
			continue;
		by_track[i].device = &rows[count++];
		by_track[i].device->device = track->device;
	}
	for (size_t kind = 0; kind < HP_LEN(kinds); kind++)
		for (size_t i = 0; i < tracks; i++) {
			const struct profile_track *track = &profile->events.tracks[i];

			if (strcmp(track->kind, kinds[kind]) != 0)
				continue;
			by_track[i].own = &rows[count++];
			by_track[i].own->track = track;
			by_track[i].own->device = track->device;
		}
	return count;
}

struct timeline_track *timeline_tracks(struct profile *profile, size_t *ret_count)
{
	size_t tracks = profile->events.track_count, used = 0, kept = 0;
	const struct profile_event **sorted =
		profile_allocate(profile, profile->events.row_count, sizeof(*sorted));
	struct timeline_track *rows = profile_allocate(profile, 2 * tracks, sizeof(*rows));
	struct both *by_track = profile_allocate(profile, tracks, sizeof(*by_track));
	size_t count = make_rows(profile, rows, by_track);

	for (size_t i = 0; i < profile->events.row_count; i++)
		if (is_work(&profile->events.rows[i]))
			sorted[used++] = &profile->events.rows[i];
	if (used > 0)
		qsort(sorted, used, sizeof(*sorted), by_start);
	for (size_t i = 0; i < used; i++) {
		const struct both *both = &by_track[sorted[i]->track];

		if (both->own != NULL)
			add_event(both->own, sorted[i]);
		if (both->device != NULL)
			add_event(both->device, sorted[i]);
	}
	for (size_t i = 0; i < count; i++)
		if (rows[i].busy_ns > 0)
			rows[kept++] = rows[i];
	*ret_count = kept;
	return rows;
}
