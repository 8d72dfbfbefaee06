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

/* Called after free() has cached a block.  One to three loads, unless the thread must be woken. */
extern _Atomic bool housekeeper_sleeps;
void housekeeper_wake(void);
static inline void housekeeper_note_free(void)
{
	if (__builtin_expect(atomic_load(&housekeeper_sleeps), 0) && heap_needs_expiry())
		housekeeper_wake();
}

/* Wakes the thread unconditionally.  False: the thread does not exist. */
bool housekeeper_call(void);

/* Called when an idle bounce buffer stays mapped.  Usually one atomic exchange. */
void housekeeper_note_bounce(void);

/* Called after a copy, which may have pinned its block.  Usually one load. */
void housekeeper_note_copy(void);

/*
 * True if a call that shows an idle device should say so: a block is due and no hint is pending, or
 * blocks are pinned and the driver cannot be asked.  With such a driver, never true while there are
 * several contexts.
 */
bool housekeeper_awaits_idle(void);

/*
 * Called when a call of the program shows that all submitted work is complete.  Sets GATE_IDLE if
 * the housekeeper awaits that.
 */
void housekeeper_device_idle(void);

/*
 * Called before work is submitted to the device.  Clears GATE_IDLE.  Waits while the housekeeper
 * unpins 64 MiB or one block: about a millisecond for each 64 MiB, a second at most.
 */
void housekeeper_work_submitted(void);

/* In the child of fork(): there is no housekeeper. */
void housekeeper_forget(void);

#endif
