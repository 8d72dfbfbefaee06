/*
 * The pinned memory that staged copies go through: slots, and the events that say when the device
 * is done with them.
 *
 * One ring for all contexts, registered once (PORTABLE).  A copy holds its slots from begin to end,
 * so none is ever waited for: with all in use there is none, and the copy is passed.  What a copy
 * leaves behind on its way comes back when somebody looks and it is over.
 */
#ifndef HP_COPY_RING_H
#define HP_COPY_RING_H

#include "copy/plan.h"
#include "real/real.h"

#include <stdint.h>

#define RING_SLOT_BYTES  ((size_t)2 << 20)
#define RING_SLOT_PIECES (RING_SLOT_BYTES / COPY_PIECE_LEAST)
#define RING_SLOTS_MOST  64 /* more of HOTPIN_RING is not used */

/* One copy never holds more: 16 MiB are as fast as 64. */
#define RING_SHARE_MOST  8

/* What one copy holds. */
struct ring_share {
	unsigned slots;
	bool leaves; /* there is room for it among what is left */
	uint8_t slot[RING_SHARE_MOST];
	CUcontext context;
	unsigned long long id; /* of the context: its address may be another's one day */
	CUevent *events;       /* of the context, RING_SLOT_PIECES a slot */
};

/* Whole slots of `bytes` are used.  Once, before the others are called; 0: there is no ring. */
void ring_start(uint64_t bytes);

/* Is there one, and in use?  Could there be one?  One load each. */
bool ring_is_there(void);
bool ring_may_be(void);

/*
 * Makes it: address space, pages, registration in the current context; some milliseconds, once.
 * Any thread; one makes it, others go on without.  False: there is none, for now or for good.
 * Calls the driver, holding no lock.  The ring counts against the pin budget while it is
 * registered.
 */
bool ring_make(void);

/*
 * Takes as many slots as there are for the current context `context`, between `least` and `most`,
 * with their events; those first that were left in it and are free by now.  False: there are too
 * few, or events cannot be had, or what `leaves` could not be left by ring_leave() afterwards.
 */
bool ring_take(CUcontext context, unsigned least, unsigned most, bool leaves,
	       struct ring_share *ret);

/* Gives them back.  The device no longer uses them. */
void ring_put(const struct ring_share *share);

/*
 * Leaves them to the device: they come back some time after `event`, one of theirs, which has been
 * recorded behind all that uses them.  False: they are the caller's still, because no more than
 * half of the ring is left so, or because its context is about to end.
 */
bool ring_leave(const struct ring_share *share, CUevent event);

/* Where piece `index` of `bytes` each (a power of two) stands while it passes, and its event. */
char *ring_memory(const struct ring_share *share, size_t bytes, size_t index);
CUevent ring_event(const struct ring_share *share, size_t bytes, size_t index);

/* How many pieces the share holds at once. */
static inline size_t ring_room(const struct ring_share *share, size_t bytes)
{
	return share->slots * (RING_SLOT_BYTES / bytes);
}

/*
 * The program is about to destroy, reset or release `context`.  If the ring was registered there,
 * no copy takes a slot until ring_context_ended(), and those under way in other contexts, what
 * they left too, are waited for, ten seconds at most.
 */
void ring_context_ending(CUcontext context);

/* The driver came back: the context is `gone`, its events and registrations with it, or not. */
void ring_context_ended(CUcontext context, bool gone);

/*
 * For events of ours in the current context: without times, and where the program wants its threads
 * to sleep while they wait, so do we.
 */
unsigned ring_event_flags(void);

/* In the child of fork(): there is no ring, and there never will be. */
void ring_after_fork_child(void);

#endif
