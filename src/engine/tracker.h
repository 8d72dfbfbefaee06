/*
 * The deferred-copy tracker: the streams on which copies returned before the transfer completed,
 * and the events that report their completion.
 *
 * Copies are tracked by context, because only copies on its legacy stream are deferred.  All copies
 * of a burst share one event, which is recorded before other work follows them.  An event that is
 * recorded after a later kernel might never complete.
 *
 *	IDLE       no copy is in flight
 *	OPEN       a copy has been enqueued, and no other work since
 *	RECORDING  other work is about to follow: a thread records the event
 *	RECORDED   the event has been recorded; once it is complete the stream is IDLE again
 *
 * A copy that is added while the stream is RECORDING or RECORDED opens the stream again.
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

#define TRACKER_STATE 3u /* the bits of a word that hold its enum tracker_state */

/* Any thread reads the fields.  An entry is assigned and freed under the lock defer. */
struct tracker_stream {
	_Atomic tracker_word word; /* to and from IDLE under the lock defer, else by any thread */
	CUcontext _Atomic context; /* NULL: the entry is free */
	CUevent event;             /* written under the lock defer, before `context` */
};

/* All tracked streams, and free entries. */
extern struct tracker_stream tracker_streams[TRACKER_STREAMS];

/* True if a deferred copy is in flight: then GATE_DEFERRED is set.  One load. */
bool tracker_any(void);

/* Returns the tracked stream of the context, or NULL: there is none yet.  Lock-free. */
struct tracker_stream *tracker_find(CUcontext context);

/*
 * Tracks the legacy stream of the context.  *ret_spare: NULL if the tracker has taken `event`, else
 * `event`, which the caller destroys.  NULL: all entries are taken, so no copy of that stream
 * returns early.
 */
struct tracker_stream *tracker_make(CUcontext context, CUevent event, CUevent *ret_spare);

/* Called after a copy was enqueued. */
void tracker_add(struct tracker_stream *tracked);

/*
 * Called if the stream was open in *word.  True: this thread must record the event, and pass the
 * new *word to tracker_recorded() afterwards.  False: another thread has changed the stream.
 */
bool tracker_record(struct tracker_stream *tracked, tracker_word *word);

/* Ends RECORDING; if not `recorded`, the stream is open again.  No effect if a copy followed. */
void tracker_recorded(struct tracker_stream *tracked, tracker_word word, bool recorded);

/*
 * Reports that the copies that were in flight in `word` are complete.  No effect if others were
 * added since.
 */
void tracker_complete(struct tracker_stream *tracked, tracker_word word);

/* Called when a context has ended, which destroys its events. */
void tracker_context_gone(CUcontext context);

/* In the child of fork(): nothing is in flight. */
void tracker_after_fork_child(void);

/* Work that is about to be enqueued. */
struct tracker_work {
	CUcontext context;
	bool known;        /* the stream it goes to is known */
	bool non_blocking; /* made with CU_STREAM_NON_BLOCKING */
};

enum tracker_order {
	TRACKER_INHERENT, /* CUDA itself orders it behind the tracked stream */
	TRACKER_EVENT,    /* its stream must wait for the tracked stream's event */
	TRACKER_JOIN,     /* the host must wait: the stream is unknown, or of another context */
};

/* Returns how to order the work behind the copies of that stream.  Pure. */
enum tracker_order tracker_order_of(CUcontext context, const struct tracker_work *work);

#endif
