/* Unpins blocks that the program still uses, or has freed. */
#ifndef HP_PIN_EVICTION_H
#define HP_PIN_EVICTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Unpins up to `bytes_most` bytes of freed blocks that are due, oldest first.  The caller knows
 * that the device is idle.  Calls the driver, holding no lock.  Returns the bytes unpinned; 0:
 * nothing to do.
 */
size_t pin_evict_due(size_t bytes_most);

/* True if pin_evict_due() has work.  One load and the clock. */
bool pin_eviction_due(void);

/*
 * Returns about when the next freed block will be due, by hp_now_ns(); UINT64_MAX: no freed block
 * is pinned.  One load.
 */
uint64_t pin_due_ns(void);

/*
 * Unpins about `bytes`: first freed blocks, then blocks in use, least recently copied first.
 * Called under severe memory pressure (tend_pins() in engine/housekeeper.c) or before a fork(),
 * while the device is idle.  Calls the driver, holding no lock.  Returns the bytes unpinned.
 */
size_t pin_evict(size_t bytes);

/*
 * Unpins all blocks, also those in use, for a call of the program that cannot pin memory, and pins
 * nothing for a while.  Waits for copies that other threads have begun, a second at most,
 * and for running kernels.  Nothing is unpinned while a capture is active.  No lock may be held,
 * and the caller is not inside pin_copies.  Returns the bytes unpinned.
 */
size_t pin_evict_all(void);

/*
 * Disables pinning for good, and unpins all blocks: the program may copy them by functions that
 * hotpin does not know.  Waits for running kernels, as the driver does, and as long as
 * pin_change_begin() for copies.  `why` is for the log.  Any thread; no lock may be held.
 */
void pin_end(const char *why);

#endif
