/*
 * Collects the timeline for HOTPIN_PROFILE=trace, in bounded memory.
 *
 * When the room is full, the shorter half of the events is dropped.  From then on, events shorter
 * than all remaining ones are dropped at once.  So a long run keeps the events that are visible in
 * a view of the whole run.
 */
#ifndef HP_TRACE_COLLECT_EVENTS_H
#define HP_TRACE_COLLECT_EVENTS_H

#include "trace/operation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENTS_MOST         ((size_t)400000)
#define EVENTS_TRACKS_MOST  1024
/* Of these, for threads, so that streams always have room. */
#define EVENTS_THREADS_MOST 768

/* Kinds of events, numbered as in the JSON. */
enum event_kind {
	EVENT_KERNEL,
	EVENT_COPY, /* on the device */
	EVENT_MEMSET,
	EVENT_COPY_CALL, /* a call that copies, on the host */
	EVENT_WAIT,
	EVENT_RANGE,
	EVENT_API,    /* a driver call that neither copies nor waits */
	EVENT_OWN,    /* hotpin's own work */
	EVENT_SAMPLE, /* of host code: the CPU time before the sample */
};

/* Names of EVENT_OWN. */
enum event_own { EVENT_PIN, EVENT_UNPIN, EVENT_JOIN, EVENT_OWNS };

struct event {
	/* The first word: events are sorted by it. */
	uint64_t start_ns, duration_ns;
	uint64_t bytes; /* UINT64_MAX: none */
	union {
		uint32_t site; /* of sites.h */
		/*
		 * Of a copy: the track of the thread that called the driver for it; UINT32_MAX:
		 * unknown.
		 */
		uint32_t caller;
	};
	uint16_t track;
	uint8_t kind;  /* enum event_kind */
	uint8_t route; /* EVENT_COPY_CALL: of struct trace_copy */
	/* EVENT_KERNEL: of aggregate.h; EVENT_API: the function; EVENT_OWN: enum event_own; else
	 * events_name(). */
	uint32_t name;
	union {
		/* Time from that call to the begin of the copy, if `caller` is known. */
		uint32_t since_call_ns;
		/* EVENT_KERNEL, EVENT_SAMPLE: of details.h; EVENT_COPY_CALL: of host_buffers.h. */
		uint32_t detail;
	};
};

enum event_track_kind { EVENT_STREAM, EVENT_THREAD, EVENT_RANGES, EVENT_HOTPIN, EVENT_SAMPLES };

struct event_track {
	enum event_track_kind kind;
	uint32_t device, context, stream; /* of a stream */
	uint32_t tid;                     /* of a thread; the latest, where several share it */
	uint32_t self;                    /* of that thread, as trace_thread() */
	uint32_t threads;                 /* the number that used it in turn; 0: not of a thread */
	char name[16];                    /* of a thread; "": none */
};

/* How a call that copies returns: after the transfer, at once, or deferred. */
enum event_way { EVENT_WAITS, EVENT_ASYNC, EVENT_DEFERRED, EVENT_WAYS };

/* Returns the name of a copy or call, from the enums of its row.  `way` applies to calls. */
static inline uint32_t events_name(int direction, int memory, enum event_way way)
{
	return (uint32_t)way * 128 + (uint32_t)(direction * 16 + memory);
}

/*
 * Makes room for `most` events.  Before this call, events are dropped.  Returns 0 or -ENOMEM.  Once
 * a process.
 */
int events_start(size_t most);
bool events_wanted(void);

/*
 * Return a track, and that of the calling thread.  EVENTS_TRACKS_MOST: there are too many tracks,
 * and the events are dropped.  Each takes the lock `trace`, except later calls of events_thread()
 * by one thread.
 */
unsigned events_track(const struct event_track *wished);
unsigned events_thread(void);

/*
 * Fills in `caller` and `since_call_ns` of a copy.  Does nothing if the call's thread has no track,
 * or the call was more than some seconds earlier.  Takes the lock `trace`.
 */
void events_called_by(struct event *copy, const struct correlation_caller *caller);

/* Adds an event.  Takes the lock `trace`.  Any thread. */
void events_add(const struct event *event);

struct events_all {
	const struct event *event; /* by start */
	size_t count;
	const struct event_track *track;
	size_t tracks;
	uint64_t dropped, shortest_ns;
	uint64_t trackless; /* of the dropped events: those without a track */
};

/*
 * Returns the number of events dropped because their thread or stream has no track.  Takes the lock
 * `trace`.
 */
uint64_t events_trackless(void);

/* Sorts the events, and drops later ones. */
void events_end(struct events_all *ret);

#endif
