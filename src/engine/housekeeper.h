/*
 * The housekeeper: a thread that gives freed memory back and unpins blocks while the device is
 * idle.
 */
#ifndef HP_ENGINE_HOUSEKEEPER_H
#define HP_ENGINE_HOUSEKEEPER_H

#include "heap/reclaim.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Starts the thread, once, when there is a context. */
void housekeeper_start(void);

/* free() has put a block into the cache.  One to three loads, unless the thread has to be woken. */
extern _Atomic bool housekeeper_sleeps;
void housekeeper_wake(void);
static inline void housekeeper_note_free(void)
{
	if (__builtin_expect(atomic_load(&housekeeper_sleeps), 0) && heap_needs_expiry())
		housekeeper_wake();
}

/* Wakes the thread unconditionally.  False: there is none. */
bool housekeeper_call(void);

/* An idle bounce buffer is mapped from now on.  One exchange, mostly. */
void housekeeper_note_bounce(void);

/* A copy has ended, which may have shown that a block should be pinned.  One load, mostly. */
void housekeeper_note_copy(void);

/*
 * A call has shown that all work submitted so far is complete: the housekeeper may unpin until new
 * work comes, which opens GATE_IDLE.
 */
void housekeeper_device_idle(void);

/*
 * Work is about to be submitted: opens GATE_IDLE.  Waits while the housekeeper unpins, for at
 * most 64 MiB or one block: a millisecond for each 64 MiB.
 */
void housekeeper_work_submitted(void);

/* In the child of fork(): there is no housekeeper. */
void housekeeper_forget(void);

#endif
