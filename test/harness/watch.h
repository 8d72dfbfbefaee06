/*
 * The bytes that the library pins, observed from another process.
 *
 * In each process that inherits STANDIN_PINS, the stand-in driver updates a page that it shares
 * with us.  The highest figure of each process stays there even after its end.
 */
#ifndef HP_HARNESS_WATCH_H
#define HP_HARNESS_WATCH_H

#include "../standin/pins.h"

#include <stdbool.h>

/* Applies to all processes that are started from here on. */
void watch_begin(void);

/* True if each process since the last call kept to its limit. */
bool watch_is_kept(void);

/* Returns what the stand-in counts in this process, which has called it. */
const struct standin_pins *watch_own(void);

#endif
