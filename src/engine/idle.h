/*
 * Asks the driver whether the device is idle.  Called by the housekeeper only.  No work waits for
 * what this puts on the device.
 */
#ifndef HP_ENGINE_IDLE_H
#define HP_ENGINE_IDLE_H

#include <stdbool.h>

/*
 * Begins a question about the work that all contexts have now.  False: it cannot be asked now.  A
 * driver that cannot answer (before CUDA 12.5) is not asked: true if there is one context only.
 */
bool idle_ask(void);

/*
 * True if all that work is complete, or the driver was not asked.  It cannot be complete a few
 * microseconds after idle_ask(), since it includes the events of the question itself.
 */
bool idle_is(void);

#endif
