/*
 * Unpins blocks while the device has nothing to do.
 */
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
 * Returns about when freed blocks will be due, by hp_now_ns(); UINT64_MAX: never, unless one is
 * freed. One load.
 */
uint64_t pin_due_ns(void);

/*
 * Unpins about `bytes`, freed blocks first, then blocks in use, least recently copied first.
 * Called when memory is short or before a fork(); the caller knows that the device is idle.  Calls
 * the driver, holding no lock.  Returns the bytes unpinned.
 */
size_t pin_evict(size_t bytes);

#endif
