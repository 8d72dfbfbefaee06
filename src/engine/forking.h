/*
 * Unpins blocks before the program forks.
 *
 * The kernel shares the pages of a process with its child until one of them writes.  Since Linux
 * 5.9 it copies pinned pages at once; on older kernels nothing is pinned (shim/load/device.c).  The
 * cost is in doc/measurements.md#fork.
 */
#ifndef HP_ENGINE_FORKING_H
#define HP_ENGINE_FORKING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Called in the thread that is about to fork, with no lock held.  If much is pinned, asks the
 * housekeeper to unpin it while the device is idle: the forking thread itself may be inside the
 * driver.  Waits for at most 50 ms and a fraction of the time saved.  Keeps errno.
 */
void fork_unpin(void);

/* True if a thread waits in fork_unpin().  Called by the housekeeper.  One load. */
bool fork_waits(void);

/*
 * fork_answer() releases the threads whose request came before the fork_asked() that returned
 * `asked`: their blocks are unpinned, or cannot be.
 */
uint32_t fork_asked(void);
void fork_answer(uint32_t asked);

/* In the child of fork(): no thread waits. */
void fork_forget(void);

#endif
