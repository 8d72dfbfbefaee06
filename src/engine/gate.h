/*
 * The gate: one word that every driver call loads before it continues to the driver.
 */
#ifndef HP_ENGINE_GATE_H
#define HP_ENGINE_GATE_H

#include "real/real.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Why a driver call may not continue at once.  Zero: it may. */
enum gate_bit {
	GATE_UNREADY = 1 << 0,  /* the driver's functions have not been looked up */
	GATE_TIMED = 1 << 1,    /* calls are timed for the profile */
	GATE_LAUNCH = 1 << 2,   /* launches are reported to the profile */
	GATE_IDLE = 1 << 3,     /* the device was idle; the next work clears this bit */
	GATE_DEFERRED = 1 << 4, /* deferred copies are in flight (engine/defer.h) */
	GATE_UNPIN = 1 << 5,    /* with QUIET: the housekeeper unpins, and work waits */
};
extern _Atomic uint32_t gate_word;

void gate_clear(enum gate_bit bit); /* clears the bit */
void gate_set(enum gate_bit bit);   /* sets it */

/* In place of a call's stream: the stream is unknown, or the call has none. */
#define GATE_NO_STREAM ((CUstream)-1)

/* Likewise: the call is an empty copy, which enqueues nothing and waits for nothing. */
#define GATE_NO_WORK   ((CUstream)-2)

#endif
