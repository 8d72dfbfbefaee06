/*
 * Copies that access pinned blocks directly.  No pin of a block in use ends during such a copy.
 */
#ifndef HP_PIN_USE_H
#define HP_PIN_USE_H

#include <stdbool.h>

/*
 * Bracket each driver call that may read or write a block's memory.  pin_use_begin() waits if a
 * block is being unpinned.  One atomic operation each; they disable cancellation.
 */
void pin_use_begin(void);
void pin_use_end(void);

/* The functions from here on are for src/pin only. */

/* True if only the calling thread, between pin_use_begin() and pin_use_end(), copies. */
bool pin_is_only_user(void);

/*
 * Closes the gate: copies that begin now wait until use_open().  False: another thread has closed
 * it. Takes no lock.
 */
bool use_close(void);
void use_open(void);

/* True if no copy runs. */
bool use_is_over(void);

/* In the child of fork().  Requires the lock pin. */
void use_after_fork_child(void);

#endif
