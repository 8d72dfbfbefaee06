/* Unpins blocks that the program has freed, or still uses, while the device is idle. */
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

/* True if pin_evict_due() has work.  Takes the lock heap. */
bool pin_eviction_due(void);

/*
 * Unpins about `bytes`: first freed blocks, then blocks in use.
 * Called under severe memory pressure (unpin() in engine/housekeeper.c) or before a fork(),
 * while the device is idle.  Calls the driver, holding no lock.  Returns the bytes unpinned.
 */
size_t pin_evict(size_t bytes);

#endif
