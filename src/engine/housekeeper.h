/*
 * The housekeeper: a thread that gives freed memory back, pins queued blocks, and unpins blocks
 * while the device is idle.
 */
#ifndef HP_ENGINE_HOUSEKEEPER_H
#define HP_ENGINE_HOUSEKEEPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Starts the thread, once, when there is a context. */
void housekeeper_start(void);

/*
 * Called after free() has cached a block, or a copy has pinned one.  One load, unless the thread
 * sleeps because nothing was kept.
 */
extern _Atomic bool housekeeper_sleeps;
void housekeeper_wake(void);
static inline void housekeeper_note_kept(void)
{
	if (__builtin_expect(atomic_load(&housekeeper_sleeps), 0))
		housekeeper_wake();
}

/* Wakes the thread unconditionally.  False: the thread does not exist. */
bool housekeeper_call(void);

/*
 * Called before work is submitted to the device.  The device is not idle any more.  Waits while the
 * housekeeper unpins 64 MiB or one block, about a millisecond for each 64 MiB; if memory is short,
 * until the device is idle and all is unpinned.  A second at most.
 */
void housekeeper_work_submitted(void);

/*
 * Waits until the housekeeper asks the driver about no context; `pins`: nor pins or unpins a block.
 * The caller has called pin_hold(), so the housekeeper begins neither again.
 */
void housekeeper_wait(bool pins, uint64_t until_ns);

/* In the child of fork(): there is no housekeeper. */
void housekeeper_forget(void);

#endif
