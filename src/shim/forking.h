/*
 * What is pinned when the program forks.
 *
 * The kernel shares a process's pages with its child until one of them writes; those that are
 * pinned it copies at once (since Linux 5.9; 5.8 and older moved the parent's to new pages, under
 * the device's feet).  src/README.md has what that takes.
 */
#ifndef HP_SHIM_FORKING_H
#define HP_SHIM_FORKING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * In the thread that is about to fork, with no lock held: where much is pinned and the device is
 * idle, it is unpinned first.  By the housekeeper: who forks may be anywhere, inside the driver
 * too.  Waits for that, 50 ms and a fraction of what it saves at most; errno is kept.
 */
void shim_fork_unpin(void);

/* The housekeeper's: does anybody wait for that?  A load. */
bool shim_fork_waits(void);

/* What was asked for up to the first call has been done, or cannot be, when the second is made. */
uint32_t shim_fork_asked(void);
void shim_fork_answer(uint32_t asked);

/* In the child: nobody waits. */
void shim_fork_forget(void);

#endif
