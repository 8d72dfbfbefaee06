/*
 * The deferred-copy tracker: the streams with copies that have returned before the transfer has
 * completed, and the events that tell when these copies are complete.
 *
 * Copies are tracked by stream: the legacy stream of a context, or a thread's own.  All copies of a
 * burst have one event, which is recorded before other work follows them.  The event is never
 * recorded behind other work: a kernel that is launched later may run forever.
 *
 *	IDLE     no copy is in flight
 *	OPEN     a copy has been enqueued, and no other work since
 *	MARKING  other work is about to follow: a thread records the event
 *	MARKED   the event has been recorded; once it is complete the stream is IDLE again
 *
 * A copy that is added while the stream is MARKING or MARKED opens the stream again.
 */
#ifndef HP_ENGINE_TRACKER_H
#define HP_ENGINE_TRACKER_H

#include "real/real.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TRACKER_STREAMS 16

enum tracker_state { TRACKER_IDLE, TRACKER_OPEN, TRACKER_RECORDING, TRACKER_RECORDED };

/* A state, and how often it has changed, so that an old result cannot end newer copies. */
typedef uint32_t tracker_word;

static inline enum tracker_state tracker_state_of(tracker_word word)
{
	return (enum tracker_state)(word & 3);
}

struct tracker_stream {
	_Atomic tracker_word word;
	CUcontext _Atomic context; /* NULL: the place is free */
	_Atomic uint32_t thread;   /* whose per-thread stream; 0: the legacy stream */
	CUevent event;             /* of the context; written before `context` */
};

/* All tracked streams, and free places. */
extern struct tracker_stream tracker_streams[TRACKER_STREAMS];

/* True if a deferred copy is in flight: then the gate is closed (GATE_DEFERRED).  One load. */
bool tracker_any(void);

/* Returns the tracked stream, or NULL: there is none yet.  Lock-free. */
struct tracker_stream *tracker_find(CUcontext context, uint32_t thread);

/*
 * Tracks a stream with `event`, which belongs to the tracker from here on.  NULL: all places are
 * taken; then no copy of that stream returns early.  The stream may take the place of an idle
 * stream of another thread of the context: then `*ret_spare` is an event that is not needed.
 */
struct tracker_stream *tracker_make(CUcontext context, uint32_t thread, CUevent event,
				    CUevent *ret_spare);

/*
 * Copies of this thread, or of the legacy stream, have been enqueued.  False: another thread has
 * taken the place since it was found; the caller has to wait for the copies.
 */
bool tracker_add(struct tracker_stream *tracked, uint32_t thread);

/*
 * Reads the word of this thread's copies, or of the legacy stream's.  False: another thread has
 * taken the place since, so none of these copies was in flight.
 */
bool tracker_read(const struct tracker_stream *tracked, uint32_t thread, tracker_word *ret_word);

/*
 * The stream was open in *word.  True: this thread has to record the event, and calls
 * tracker_recorded() afterwards.
 */
bool tracker_record(struct tracker_stream *tracked, tracker_word *word);
void tracker_recorded(struct tracker_stream *tracked, tracker_word word, bool recorded);

/* The copies that were in flight in `word` are complete.  No effect if others were added since. */
void tracker_complete(struct tracker_stream *tracked, tracker_word word);

/* A context has ended, and its events with it. */
void tracker_context_gone(CUcontext context);

/* In the child of fork(): nothing is in flight. */
void tracker_after_fork_child(void);

/* Work that is about to be enqueued. */
struct tracker_work {
	CUcontext context;
	bool known;        /* the stream it goes to is known */
	bool legacy;       /* the legacy stream */
	bool own;          /* the stream of its own of .. */
	uint32_t thread;   /* .. this thread, which enqueues it; else 0 */
	bool non_blocking; /* made with CU_STREAM_NON_BLOCKING */
};

enum tracker_order {
	TRACKER_INHERENT, /* CUDA itself orders it behind the tracked stream */
	TRACKER_EVENT,    /* its stream must wait for the tracked stream's event */
	TRACKER_JOIN,     /* the host must wait: its stream is not known */
};

/* Pure.  Returns what has to happen before the work while copies of that stream are in flight. */
enum tracker_order tracker_order_of(CUcontext context, uint32_t thread,
				    const struct tracker_work *work);

#endif
