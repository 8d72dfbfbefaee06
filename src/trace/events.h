/*
 * What happened when?  The timeline for HOTPIN_PROFILE=trace, in bounded memory.
 *
 * When the room is full the shorter half goes, and from then on what is shorter than all that is
 * left is not taken in: a long run keeps what one can see when all of it is looked at.
 */
#ifndef HP_TRACE_EVENTS_H
#define HP_TRACE_EVENTS_H

#include "trace/operation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENTS_MOST         ((size_t)400000)
#define EVENTS_TRACKS_MOST  1024
/* Of these, for threads: streams always have room. */
#define EVENTS_THREADS_MOST 768

/* As the JSON numbers them. */
enum event_kind {
	EVENT_KERNEL,
	EVENT_COPY, /* on the device */
	EVENT_MEMSET,
	EVENT_CALL, /* that copies, on the host */
	EVENT_WAIT,
	EVENT_STAGE,
	EVENT_API,    /* a driver call that neither copies nor waits */
	EVENT_OWN,    /* hotpin's own work */
	EVENT_SAMPLE, /* of host code: the time on the CPU up to it */
};

/* Names of EVENT_OWN. */
enum event_own { EVENT_PIN, EVENT_UNPIN, EVENT_JOIN, EVENT_OWNS };

struct event {
	uint64_t start_ns, duration_ns;
	uint64_t bytes; /* UINT64_MAX: none */
	union {
		uint32_t site; /* of sites.h */
		/* Of a copy: the track of the thread that called for it; UINT32_MAX: unknown. */
		uint32_t caller;
	};
	uint16_t track;
	uint8_t kind;  /* enum event_kind */
	uint8_t route; /* EVENT_CALL: of struct trace_copy */
	/* EVENT_KERNEL: of aggregate.h; EVENT_API: the function; EVENT_OWN: enum event_own; else
	 * events_name(). */
	uint32_t name;
	union {
		/* So long after that call did it begin, where `caller` is known. */
		uint32_t since_call_ns;
		/* EVENT_KERNEL, EVENT_SAMPLE: of details.h; EVENT_CALL: of host_buffers.h. */
		uint32_t detail;
	};
};

enum event_track_kind { EVENT_STREAM, EVENT_THREAD, EVENT_STAGES, EVENT_HOTPIN, EVENT_SAMPLES };

struct event_track {
	enum event_track_kind kind;
	uint32_t device, context, stream; /* of a stream */
	uint32_t tid;                     /* of a thread; the latest, where several share it */
	uint32_t self;                    /* likewise, as trace_thread() */
	uint32_t threads; /* that share it, one after the other; 0: it is no thread's */
	char name[16];    /* of a thread; "": none, or they differ */
};

/* Does a call that copies wait until the bytes are there? */
enum event_way { EVENT_WAITS, EVENT_ASYNC, EVENT_DEFERRED, EVENT_WAYS };

/* The name of what is no kernel, from the enums of the row; `way` is of calls. */
static inline uint32_t events_name(int direction, int memory, enum event_way way)
{
	return (uint32_t)way * 128 + (uint32_t)(direction * 16 + memory);
}

/* Room for `most` events.  0 or -ENOMEM; until then nothing is taken in.  Once a process. */
int events_start(size_t most);
bool events_wanted(void);

/*
 * The track of a stream, of the calling thread, of stages, of hotpin's own work.
 * EVENTS_TRACKS_MOST: there are too many, and its events are dropped.  Each takes the lock `trace`,
 * except for a thread's second question. When all tracks of threads are taken, a thread gets the
 * track of one that has ended; one that finds none asks again after some events.
 */
unsigned events_stream(uint32_t device, uint32_t context, uint32_t stream);
unsigned events_thread(void);
unsigned events_stages(void);
unsigned events_hotpin(void);

/* The track of samples of the thread `tid`.  As above. */
unsigned events_samples(uint32_t tid);

/*
 * Fills in `caller` and `since_call_ns` of a copy, if the call's thread has a track and the call
 * was at most some seconds before.  Takes the lock `trace`.
 */
void events_called_by(struct event *copy, const struct correlation_caller *caller);

/* Takes the lock `trace`.  Any thread. */
void events_add(const struct event *event);

struct events_all {
	const struct event *event; /* by start */
	size_t count;
	const struct event_track *track;
	size_t tracks;
	uint64_t dropped, shortest_ns;
	uint64_t trackless; /* of those that were dropped */
};

/* Events that were dropped because their thread or stream has no track.  Takes the lock `trace`. */
uint64_t events_trackless(void);

/* Sorts them and takes in no more. */
void events_end(struct events_all *ret);

#endif
