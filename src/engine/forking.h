/*
 * Unpins blocks before the program forks.
 *
 * The kernel shares the pages of a process with its child until one of them writes.  Since Linux
 * 5.9 it copies pinned pages at once; 5.8 and older moved the parent's to new pages while the
 * device used the old ones.  The time that this takes: doc/measurements.md#fork.
 */
#ifndef HP_ENGINE_FORKING_H
#define HP_ENGINE_FORKING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * In the thread that is about to fork, with no lock held: where much is pinned and the device is
 * idle, it is unpinned first.  The housekeeper does that: the forking thread may be anywhere,
 * inside the driver too.  Waits for at most 50 ms and a fraction of the time saved; errno is kept.
 */
void fork_unpin(void);

/* For the housekeeper: true if a thread waits for that.  One load. */
bool fork_waits(void);

/* What was asked for up to the first call has been done, or cannot be, when the second is made. */
uint32_t fork_asked(void);
void fork_answer(uint32_t asked);

/* In the child: nobody waits. */
void fork_forget(void);

#endif
