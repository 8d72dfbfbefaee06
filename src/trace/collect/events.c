/*
 * events.c - one table of events for all threads.
 *
 * Making room takes some milliseconds under the lock, but so rarely that it costs some nanoseconds
 * for each event.
 */
#define _GNU_SOURCE
#include "trace/collect/events.h"
#include "base/arena.h"
#include "base/lock.h"
#include "trace/sort.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A histogram of durations: eight bins for each power of 2. */
#define BINS 512

/* Under the lock trace. */
static struct event *events;
static size_t count, room;
static uint64_t dropped, shortest_ns, trackless;
static struct event_track tracks[EVENTS_TRACKS_MOST];
static size_t tracks_used, threads_used;

static _Atomic bool wanted;
static __thread unsigned own_track __attribute__((tls_model("initial-exec"))); /* plus 1 */

int events_start(size_t most)
{
	events = hp_arena_alloc(most * sizeof(*events));
	if (events == NULL)
		return -ENOMEM;
	room = most;
	atomic_store(&wanted, true);
	return 0;
}

bool events_wanted(void)
{
	return atomic_load_explicit(&wanted, memory_order_relaxed);
}

/* A thread has the track of threads before it with its number, which have ended, and its name. */
static bool is_same(const struct event_track *a, const struct event_track *b)
{
	return a->kind == b->kind && a->device == b->device && a->context == b->context &&
	       a->stream == b->stream && a->self == b->self && strcmp(a->name, b->name) == 0 &&
	       (a->kind == EVENT_THREAD || a->tid == b->tid);
}

unsigned events_track(const struct event_track *wished)
{
	bool is_thread = wished->kind == EVENT_THREAD;
	size_t at = 0;

	hp_lock(HP_LOCK_trace);
	while (at < tracks_used && !is_same(&tracks[at], wished))
		at++;
	if (at < tracks_used && is_thread) {
		tracks[at].tid = wished->tid;
		tracks[at].threads++;
	} else if (is_thread && threads_used == EVENTS_THREADS_MOST) {
		at = EVENTS_TRACKS_MOST;
	} else if (at == tracks_used && at < EVENTS_TRACKS_MOST) {
		tracks[tracks_used++] = *wished;
		threads_used += is_thread;
	}
	hp_unlock(HP_LOCK_trace);
	return (unsigned)at;
}

unsigned events_thread(void)
{
	if (own_track == 0) {
		struct event_track track = { .kind = EVENT_THREAD,
					     .tid = (uint32_t)syscall(SYS_gettid),
					     .self = trace_thread(),
					     .threads = 1 };

		int saved = errno;
		prctl(PR_GET_NAME, track.name);
		errno = saved;
		own_track = events_track(&track) + 1;
	}
	return own_track - 1;
}

uint64_t events_trackless(void)
{
	return hp_locked(HP_LOCK_trace, trackless);
}

static unsigned bin_of(uint64_t ns)
{
	if (ns < 8)
		return (unsigned)ns;
	unsigned top = 63 - (unsigned)__builtin_clzll(ns);
	return (top - 2) * 8 + (unsigned)(ns >> (top - 3) & 7);
}

static uint64_t least_of(unsigned bin)
{
	return bin < 8 ? bin : (uint64_t)(8 + bin % 8) << (bin / 8 - 1);
}

/*
 * Drops the shorter half of the events, and of those with about the limit's length, the later ones.
 */
static void make_room(void)
{
	static uint32_t bins[BINS];
	size_t to_drop = count / 2, kept = 0;
	unsigned limit = 0;

	for (unsigned bin = 0; bin < BINS; bin++)
		bins[bin] = 0;
	for (size_t i = 0; i < count; i++)
		bins[bin_of(events[i].duration_ns)]++;
	while (bins[limit] <= to_drop)
		to_drop -= bins[limit++];
	size_t of_limit = bins[limit] - to_drop;
	for (size_t i = 0; i < count; i++) {
		unsigned bin = bin_of(events[i].duration_ns);

		if (bin < limit || (bin == limit && of_limit == 0))
			continue;
		of_limit -= bin == limit;
		events[kept++] = events[i];
	}
	dropped += count - kept;
	count = kept;
	if (least_of(limit) > shortest_ns)
		shortest_ns = least_of(limit);
}

/* With the lock.  Returns the track of a thread; EVENTS_TRACKS_MOST: it has none. */
static size_t track_of_caller(uint32_t thread)
{
	static size_t latest; /* most copies follow one of the same thread */

	if (latest < tracks_used && tracks[latest].kind == EVENT_THREAD &&
	    tracks[latest].self == thread)
		return latest;
	for (size_t i = tracks_used; i > 0; i--)
		if (tracks[i - 1].kind == EVENT_THREAD && tracks[i - 1].self == thread)
			return latest = i - 1;
	return EVENTS_TRACKS_MOST;
}

void events_called_by(struct event *copy, const struct correlation_caller *caller)
{
	/* The clocks differ a little. */
	uint64_t since = copy->start_ns > caller->at_ns ? copy->start_ns - caller->at_ns : 0;

	size_t track = hp_locked(HP_LOCK_trace, track_of_caller(caller->thread));
	if (track == EVENTS_TRACKS_MOST || since > UINT32_MAX)
		return;
	copy->caller = (uint32_t)track;
	copy->since_call_ns = (uint32_t)since;
}

void events_add(const struct event *event)
{
	hp_lock(HP_LOCK_trace);
	if (!events_wanted() || event->track >= EVENTS_TRACKS_MOST ||
	    event->duration_ns < shortest_ns) {
		dropped++;
		trackless += event->track >= EVENTS_TRACKS_MOST;
	} else {
		if (count == room)
			make_room();
		events[count++] = *event;
	}
	hp_unlock(HP_LOCK_trace);
}

void events_end(struct events_all *ret)
{
	hp_lock(HP_LOCK_trace);
	atomic_store(&wanted, false);
	hp_unlock(HP_LOCK_trace);
	sort_by_first(events, count, sizeof(*events) / sizeof(uint64_t));
	*ret = (struct events_all){ events,  count,       tracks,   tracks_used,
				    dropped, shortest_ns, trackless };
}
