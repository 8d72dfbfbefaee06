/*
 * The deferred-copy tracker: which thread may defer, and whether its copies are complete.
 *
 * Only one thread defers: the first one that calls the driver.  Another thread may learn through
 * memory that an upload has returned.  So its call ends deferral for good, and waits for the copies
 * that are deferred by then.
 *
 * Only copies on the legacy stream are deferred, at a time those of one context.  All copies of a
 * burst share one event, which is recorded before other work follows them.  An event that is
 * recorded after a later kernel might never complete.
 *
 *	IDLE       no copy is in flight
 *	OPEN       a copy has been enqueued, and no other work since
 *	RECORDING  other work is about to follow: a thread records the event
 *	RECORDED   the event has been recorded; once it is complete the stream is IDLE again
 *
 * One word has the state, and ALONE until deferral has ended.  Only the first thread opens the
 * stream, and only while ALONE is set, so a state needs no sequence number (test/model/README.md).
 */
#ifndef HP_ENGINE_TRACKER_H
#define HP_ENGINE_TRACKER_H

#include "real/real.h"

#include <stdbool.h>

#define TRACKER_CONTEXTS 16

enum tracker_state { TRACKER_IDLE, TRACKER_OPEN, TRACKER_RECORDING, TRACKER_RECORDED };

/* The context whose legacy stream is tracked; NULL: none is.  Any thread. */
CUcontext tracker_context(void);

/* The event of that context, or NULL. */
CUevent tracker_event(void);

/* Gives a context its event.  False: there are too many contexts.  Called by the first thread. */
bool tracker_make(CUcontext context, CUevent event);
bool tracker_knows(CUcontext context);

/*
 * Tracks the legacy stream of `context`.  False: the context has no event, or copies on the stream
 * of another one are in flight.  Called by the first thread.
 */
bool tracker_follow(CUcontext context);

/* True if the calling thread is the first one.  The first thread that asks becomes that. */
bool tracker_is_first(void);

/* True until deferral has ended. */
bool tracker_is_alone(void);

enum tracker_state tracker_state(void);

/* True if a deferred copy is in flight: then GATE_DEFERRED is set.  One load. */
static inline bool tracker_any(void)
{
	return tracker_state() != TRACKER_IDLE;
}

/*
 * Called by the first thread after it has enqueued a copy.  False: deferral has ended, so the
 * caller must wait for the copy.
 */
bool tracker_publish(void);

/* Ends deferral for good. */
void tracker_end(void);

/* Sets RECORDING.  True: this thread must record the event and call tracker_recorded(). */
bool tracker_record(void);

/* Ends RECORDING; if not `recorded`, the stream is open again. */
void tracker_recorded(bool recorded);

/* Called when the copies are complete.  No effect if the state is no longer `state`. */
void tracker_complete(enum tracker_state state);

/* Called when a context has ended, which destroys its events. */
void tracker_context_gone(CUcontext context);

/* In the child of fork(): nothing is in flight, and nothing will be deferred. */
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

/* Returns how to order the work behind the copies of that context.  Pure. */
enum tracker_order tracker_order_of(CUcontext context, const struct tracker_work *work);

#endif
