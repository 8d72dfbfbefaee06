/*
 * call_matches.c - matches copies, kernels and memsets on the device with the calls that started
 * them.
 *
 * If CUPTI names the call of a copy, that call is the match.  Otherwise (before CUDA 12.4, and for
 * kernels and memsets), order decides:
 *
 * For one direction and size there are as many calls as copies, unless the timeline lacks some.  A
 * run ends at a call before which as many copies have begun as calls; its copies belong to its
 * calls.  A stream works in order.  So the copies of a run on one stream match its calls one by
 * one.  Others are left unmatched.
 */
#include "analyze/call_matches.h"

#include <stdlib.h>
#include <string.h>

/* Host and device time stamps are converted to one clock, with errors of some microseconds. */
#define SLACK_NS 50000

/*
 * A copy that began so long before a call belongs to another call.  A copy begins some microseconds
 * after its call (3.7 on an H200), so clock errors up to that sum are tolerated.
 */
#define CLEAR_NS 5000

/* The error of a call's time as CUPTI states it is smaller. */
#define TOLD_NS  2000

/* No more events of a thread begin while it is in one call. */
#define AT_ONCE  64

/* Work on the device, or a call for it. */
struct item {
	unsigned direction; /* made of the letters of "h2d", or below */
	bool is_call;
	int64_t bytes;
	const struct profile_event *event;
};

/* Directions of launches and memsets; no three letters have these numbers. */
enum { DIRECTION_KERNEL = 1, DIRECTION_MEMSET };

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/* Returns the direction of work or of a call for it; 0 for other events. */
static unsigned direction_of(const struct profile *profile, const struct profile_event *event)
{
	const char *name = event->name >= 0 ? profile->events.names[event->name] : "";

	switch (event->kind) {
	case PROFILE_KERNEL:
		return DIRECTION_KERNEL;
	case PROFILE_MEMSET:
		return DIRECTION_MEMSET;
	case PROFILE_API:
		if (begins(name, "cuMemset"))
			return DIRECTION_MEMSET;
		return begins(name, "cuLaunchKernel") || begins(name, "cuLaunchCooperativeKernel")
			       ? DIRECTION_KERNEL
			       : 0;
	case PROFILE_COPY:
	case PROFILE_COPY_CALL:
		name += event->kind == PROFILE_COPY_CALL && begins(name, "copy ") ? 5 : 0;
		return event->bytes <= 0 || strnlen(name, 3) < 3
			       ? 0
			       : (unsigned)(unsigned char)name[0] << 16 |
					 (unsigned)(unsigned char)name[1] << 8 |
					 (unsigned char)name[2];
	default:
		return 0;
	}
}

/*
 * Returns the time between `call` and the moment at which CUPTI says `copy` was called; 0: inside.
 */
static int64_t distance(const struct profile_event *call, const struct profile_event *copy)
{
	int64_t end_ns = call->start_ns + call->duration_ns;

	if (copy->call_ns < call->start_ns)
		return call->start_ns - copy->call_ns;
	return copy->call_ns > end_ns ? copy->call_ns - end_ns : 0;
}

/* Returns the number of rows before the first one that began on that track after that time. */
static size_t rows_until(const struct profile_events *events, int64_t track, int64_t ns)
{
	size_t low = 0, high = events->row_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct profile_event *event = &events->rows[middle];

		if (event->track < track || (event->track == track && event->start_ns <= ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the row of the call that made `copy` according to CUPTI; SIZE_MAX: it is missing. */
static size_t call_told(const struct profile *profile, const struct profile_event *copy)
{
	const struct profile_event *rows = profile->events.rows;
	size_t end = rows_until(&profile->events, copy->call_track, copy->call_ns + TOLD_NS);
	size_t found = SIZE_MAX;

	for (size_t i = end; i-- > 0 && end - i < AT_ONCE && rows[i].track == copy->call_track;)
		if (rows[i].kind == PROFILE_COPY_CALL &&
		    direction_of(profile, &rows[i]) == direction_of(profile, copy) &&
		    distance(&rows[i], copy) <= TOLD_NS &&
		    (found == SIZE_MAX || distance(&rows[i], copy) < distance(&rows[found], copy)))
			found = i;
	return found;
}

#define COMPARE(a, b)                              \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

/* By direction and size, then calls first, by start. */
static int by_size(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	COMPARE(a->direction, b->direction);
	COMPARE(a->bytes, b->bytes);
	COMPARE(b->is_call, a->is_call);
	COMPARE(a->event->start_ns, b->event->start_ns);
	COMPARE(a->event, b->event);
	return 0;
}

/* True if every copy could belong to its call: no copy begins before its call. */
static bool is_likely(const struct item *calls, const struct item *copies, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!calls[i].is_call || copies[i].is_call ||
		    copies[i].event->start_ns + SLACK_NS < calls[i].event->start_ns)
			return false;
	return true;
}

/* Takes as many calls as copies, of one direction and size, both in order of start. */
static void pair_runs(const struct item *calls, const struct item *copies, size_t count,
		      const struct profile_event *rows, size_t *ret)
{
	for (size_t first = 0, end; first < count; first = end) {
		bool one_stream = true;

		for (end = first + 1; end < count && copies[end - 1].event->start_ns + CLEAR_NS >
							     calls[end].event->start_ns;
		     end++)
			one_stream &= copies[end].event->track == copies[first].event->track;
		for (size_t i = first; i < end && one_stream; i++)
			ret[copies[i].event - rows] = (size_t)(calls[i].event - rows);
	}
}

/* Pairs the items of each direction and size if there are as many calls as copies. */
static void pair_in_order(struct item *items, size_t count, const struct profile_event *rows,
			  size_t *ret)
{
	qsort(items, count, sizeof(*items), by_size);
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count &&
				      items[end].direction == items[first].direction &&
				      items[end].bytes == items[first].bytes;)
			end++;
		size_t calls = (end - first) / 2;
		if ((end - first) % 2 == 0 &&
		    is_likely(&items[first], &items[first + calls], calls))
			pair_runs(&items[first], &items[first + calls], calls, rows, ret);
	}
}

size_t *call_matches(struct profile *profile)
{
	const struct profile_event *rows = profile->events.rows;
	size_t count = profile->events.row_count, used = 0;
	struct item *items = profile_allocate(profile, count, sizeof(*items));
	size_t *ret = profile_allocate(profile, count, sizeof(*ret));
	bool *is_told = profile_allocate(profile, count, sizeof(*is_told));

	for (size_t i = 0; i < count; i++) {
		ret[i] = SIZE_MAX;
		if (rows[i].kind != PROFILE_COPY || rows[i].call_track < 0 || rows[i].call_ns < 0)
			continue;
		/* A copy whose call is missing is not matched with any other call. */
		is_told[i] = true;
		ret[i] = call_told(profile, &rows[i]);
		if (ret[i] != SIZE_MAX)
			is_told[ret[i]] = true;
	}
	for (size_t i = 0; i < count && profile->events.dropped == 0; i++) {
		unsigned direction = is_told[i] ? 0 : direction_of(profile, &rows[i]);
		bool copies = direction > DIRECTION_MEMSET;

		if (direction != 0)
			items[used++] = (struct item){ direction,
						       rows[i].kind == PROFILE_API ||
							       rows[i].kind == PROFILE_COPY_CALL,
						       copies ? rows[i].bytes : 0, &rows[i] };
	}
	pair_in_order(items, used, rows, ret);
	return ret;
}
