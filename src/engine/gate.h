/*
 * The gate: one word that each intercepted driver call loads before it continues to the driver.
 *
 * Only these files write the word, each its own bits, and always by an atomic operation:
 *
 *	UNREADY   shim/driver/libcuda.c, once the driver's functions are known
 *	PROFILE   shim/load/device.c, when a profile starts
 *	WATCHED   engine/housekeeper.c
 *	DEFERRED  engine/tracker.c
 *	CLOSED    engine/housekeeper.c
 *	LOADED    shim/libc/dlopen_entry.S; shim/driver/unknown.c clears it
 *
 * test/model/gate.pml is the protocol of WATCHED and CLOSED.
 */
#ifndef HP_ENGINE_GATE_H
#define HP_ENGINE_GATE_H

#include "engine/state.h"
#include "real/real.h"

#include <stdatomic.h>
#include <stdint.h>

/* Why a driver call may not continue at once.  Zero: it may. */
enum gate_bit {
	GATE_UNREADY = 1 << 0,  /* the driver's functions have not been looked up */
	GATE_PROFILE = 1 << 1,  /* calls are timed and launches reported to the profile */
	GATE_WATCHED = 1 << 2,  /* the housekeeper watches for new work, which clears the bit */
	GATE_DEFERRED = 1 << 3, /* deferred copies are in flight (engine/defer.h) */
	GATE_CLOSED = 1 << 4,   /* the housekeeper unpins, and new work waits */
	GATE_LOADED = 1 << 5,   /* a library was opened, which may link unknown functions */
};

static inline void gate_clear(uint32_t bits)
{
	atomic_fetch_and(&gate_word, ~bits);
}

static inline void gate_set(enum gate_bit bit)
{
	atomic_fetch_or(&gate_word, (uint32_t)bit);
}

/* Stands for the stream of a call whose stream is unknown, or that has none. */
#define GATE_NO_STREAM ((CUstream)-1)

/* Stands for the stream of an empty copy, which enqueues nothing and waits for nothing. */
#define GATE_NO_WORK   ((CUstream)-2)

#endif
