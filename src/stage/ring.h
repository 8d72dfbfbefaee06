/*
 * The ring of a context: pinned memory that holds the sources of uploads, which return before the
 * device has read them.
 *
 * Parts are reused in the order in which they were taken, so a part behind a long kernel keeps
 * later ones.  No upload waits: if the ring is full, it takes its fallback.
 */
#ifndef HP_STAGE_RING_H
#define HP_STAGE_RING_H

#include "real/real.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_BYTES ((size_t)8 << 20)

/* The ring of a context is made at its eighth upload that wants one. */
#define RING_WANTS 8

struct ring;

/* The part that one upload holds.  Used only by the thread that makes the upload. */
struct ring_hold {
	char *memory; /* NULL: nothing is held */

	/* For ring.c only. */
	struct ring *ring;
	struct ring_entry *entry;
	CUstream stream;
	bool per_thread;
};

/* Allows rings, each made at upload `wants` of its context; 0: none.  Called once. */
void ring_start(uint32_t wants);

/*
 * Takes a part for an upload of `bytes` (not 0) on `stream`; `per_thread`: NULL means the thread's
 * own stream.  Calls the driver, holding no lock; no capture may be active.  False: there is no
 * room now, or the stream belongs to another context.
 */
bool ring_take(size_t bytes, CUstream stream, bool per_thread, struct ring_hold *ret);

/*
 * Gives the part back, if one is held.  `sent`: the upload is the last work on its stream, and the
 * device reads the part until then; otherwise it does not use it.
 */
void ring_put(struct ring_hold *hold, bool sent);

#endif
