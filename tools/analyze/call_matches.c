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

/* At most so many threads may be in a call at once. */
#define AT_ONCE  64

struct item {
	unsigned direction; /* made of the letters of "h2d" */
	bool is_call;
	int64_t bytes, start_ns, end_ns, track;
	int64_t call_track, call_ns; /* as CUPTI states them; or UNKNOWN */
	size_t row;
	bool is_paired;
};

/* Directions of launches and memsets; no three letters have these numbers. */
enum { DIRECTION_KERNEL = 1, DIRECTION_MEMSET };

/* Returns the direction of work that is matched by order alone; 0 for other events. */
static int ordered_direction(const struct profile *profile, const struct profile_event *event)
{
	const char *name = event->name >= 0 ? profile->events.names[event->name] : "";

	if (event->kind == PROFILE_KERNEL)
		return DIRECTION_KERNEL;
	if (event->kind == PROFILE_MEMSET)
		return DIRECTION_MEMSET;
	if (event->kind != PROFILE_API)
		return 0;
	if (strncmp(name, "cuMemset", 8) == 0)
		return DIRECTION_MEMSET;
	return strncmp(name, "cuLaunchKernel", 14) == 0 ||
			       strncmp(name, "cuLaunchCooperativeKernel", 25) == 0
		       ? DIRECTION_KERNEL
		       : 0;
}

static bool is_item(const struct profile *profile, const struct profile_event *event,
		    struct item *ret)
{
	bool is_call = event->kind == PROFILE_COPY_CALL;
	int ordered = ordered_direction(profile, event);

	if (ordered != 0) {
		*ret = (struct item){
			.direction = ordered,
			.is_call = event->kind == PROFILE_API,
			.start_ns = event->start_ns,
			.end_ns = event->start_ns + event->duration_ns,
			.track = event->track,
			.row = (size_t)(event - profile->events.rows),
			.call_track = UNKNOWN,
			.call_ns = UNKNOWN,
		};
		return true;
	}
	if ((!is_call && event->kind != PROFILE_COPY) || event->name < 0 || event->bytes <= 0)
		return false;
	const char *name = profile->events.names[event->name];
	if (is_call && strncmp(name, "copy ", 5) == 0)
		name += 5;
	if (strnlen(name, 3) < 3)
		return false;
	*ret = (struct item){
		.direction = (unsigned)(unsigned char)name[0] << 16 |
			     (unsigned)(unsigned char)name[1] << 8 | (unsigned char)name[2],
		.is_call = is_call,
		.bytes = event->bytes,
		.start_ns = event->start_ns,
		.end_ns = event->start_ns + event->duration_ns,
		.track = event->track,
		.call_track = event->call_track,
		.call_ns = event->call_ns,
		.row = (size_t)(event - profile->events.rows),
	};
	return true;
}

#define COMPARE(a, b)                              \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

/* By direction and size, then calls first. */
static int by_size(const void *left, const void *right)
{
	const struct item *a = *(struct item *const *)left, *b = *(struct item *const *)right;

	COMPARE(a->direction, b->direction);
	COMPARE(a->bytes, b->bytes);
	COMPARE(b->is_call, a->is_call);
	COMPARE(a->start_ns, b->start_ns);
	COMPARE(a->row, b->row);
	return 0;
}

/* Calls first, then by direction and start. */
static int by_time(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	COMPARE(b->is_call, a->is_call);
	COMPARE(a->direction, b->direction);
	COMPARE(a->start_ns, b->start_ns);
	COMPARE(a->row, b->row);
	return 0;
}

static void pair(struct item *call, struct item *copy, size_t *ret)
{
	call->is_paired = copy->is_paired = true;
	ret[copy->row] = call->row;
}

/* True if every copy could belong to its call: no copy begins before its call. */
static bool is_likely(struct item *const *calls, struct item *const *copies, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!calls[i]->is_call || copies[i]->is_call ||
		    copies[i]->start_ns + SLACK_NS < calls[i]->start_ns)
			return false;
	return true;
}

/* Takes as many calls as copies, of one direction and size, both in order of start. */
static void pair_runs(struct item *const *calls, struct item *const *copies, size_t count,
		      size_t *ret)
{
	for (size_t first = 0, end; first < count; first = end) {
		bool one_stream = true;

		for (end = first + 1;
		     end < count && copies[end - 1]->start_ns + CLEAR_NS > calls[end]->start_ns;
		     end++)
			one_stream = one_stream && copies[end]->track == copies[first]->track;
		for (size_t i = first; i < end && one_stream; i++)
			pair(calls[i], copies[i], ret);
	}
}

/* `left` has room for as many pointers as there are items. */
static void pair_in_order(struct item *items, size_t count, struct item **left, size_t *ret)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		if (!items[i].is_paired)
			left[used++] = &items[i];
	if (used > 0)
		qsort(left, used, sizeof(*left), by_size);
	for (size_t first = 0, end; first < used; first = end) {
		for (end = first + 1; end < used &&
				      left[end]->direction == left[first]->direction &&
				      left[end]->bytes == left[first]->bytes;)
			end++;
		size_t calls = (end - first) / 2;
		if ((end - first) % 2 == 0 && is_likely(&left[first], &left[first + calls], calls))
			pair_runs(&left[first], &left[first + calls], calls, ret);
	}
}

/* Returns the number of calls that are listed before the first one that began after `copy`. */
static size_t calls_before(const struct item *calls, size_t count, const struct item *copy)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (calls[middle].direction < copy->direction ||
		    (calls[middle].direction == copy->direction &&
		     calls[middle].start_ns <= copy->start_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Returns the time between `call` and the moment at which CUPTI says `copy` was called; 0: inside.
 */
static int64_t distance(const struct item *call, const struct item *copy)
{
	if (copy->call_ns < call->start_ns)
		return call->start_ns - copy->call_ns;
	return copy->call_ns > call->end_ns ? copy->call_ns - call->end_ns : 0;
}

/* Returns the call that made `copy` according to CUPTI; NULL if it is not in the timeline. */
static struct item *call_told(struct item *calls, size_t count, const struct item *copy)
{
	struct item at = { .direction = copy->direction, .start_ns = copy->call_ns + TOLD_NS };
	size_t end = calls_before(calls, count, &at);
	struct item *found = NULL;

	for (size_t i = end; i > 0 && end - i < AT_ONCE; i--) {
		struct item *call = &calls[i - 1];

		if (call->direction != copy->direction)
			break;
		if (call->track == copy->call_track && distance(call, copy) <= TOLD_NS &&
		    (found == NULL || distance(call, copy) < distance(found, copy)))
			found = call;
	}
	return found;
}

/* `items` is sorted by time.  A copy whose call is missing is not matched with any other call. */
static void pair_told(struct item *items, size_t count, size_t calls, size_t *ret)
{
	for (size_t i = calls; i < count; i++) {
		if (items[i].call_track < 0 || items[i].call_ns < 0)
			continue;
		struct item *call = call_told(items, calls, &items[i]);
		if (call != NULL)
			pair(call, &items[i], ret);
		items[i].is_paired = true;
	}
}

size_t *call_matches(const struct profile *profile)
{
	size_t rows = profile->events.row_count, count = 0, calls = 0;
	struct item *items = calloc(rows + 1, sizeof(*items));
	struct item **left = calloc(rows + 1, sizeof(*left));
	size_t *ret = malloc((rows + 1) * sizeof(*ret));

	if (items == NULL || left == NULL || ret == NULL) {
		free(items);
		free(left);
		free(ret);
		return NULL;
	}
	for (size_t i = 0; i < rows; i++) {
		ret[i] = SIZE_MAX;
		count += is_item(profile, &profile->events.rows[i], &items[count]);
	}
	if (count > 0)
		qsort(items, count, sizeof(*items), by_time);
	while (calls < count && items[calls].is_call)
		calls++;
	pair_told(items, count, calls, ret);
	if (profile->events.dropped == 0)
		pair_in_order(items, count, left, ret);
	free(left);
	free(items);
	return ret;
}
