/*
 * A pool of pinned bounce buffers, the places that small uploads leave from: what the device reads
 * by itself the driver takes in sooner than pageable memory, which it copies first.
 *
 * Each context has a pocket of its own, made once it has been asked for a few times.  A place
 * comes back when somebody looks and the device is done with it; with none free there is none, and
 * nobody waits.
 */
#ifndef HP_COPY_POCKET_H
#define HP_COPY_POCKET_H

#include "real/real.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Larger uploads have several in a row. */
#define POCKET_PLACE  ((size_t)64 << 10)
#define POCKET_PLACES 32

/* Places in a row that this thread has. */
struct pocket_hold {
	char *memory; /* NULL: none */
	CUstream stream;
	bool per_thread;

	/* Of pocket.c. */
	unsigned long long stream_id;
	unsigned pocket, place, count; /* the first of so many in a row */
	uint64_t owners;               /* that the pocket had had then */
};

/*
 * From here on there may be pockets.  Once; without HOTPIN_RING there are none.  One is made when
 * it is asked for after `wants` times in vain: POCKET_WANTS; 0 where HOTPIN_ROUTE forces it.  Each
 * counts against the pin budget while it is registered.
 */
#define POCKET_WANTS 8
void pocket_start(unsigned wants);

/*
 * Room for `bytes`, more than none, in the current context's pocket, for a copy on `stream`;
 * `per_thread`: by NULL the thread's own is meant.  Calls the driver, holding no lock; no capture
 * may live.  False: there is none now, or the stream is another context's.
 */
bool pocket_take(size_t bytes, CUstream stream, bool per_thread, struct pocket_hold *ret);

/* Gives it back: nothing that was enqueued reads it. */
void pocket_put(struct pocket_hold *hold);

/*
 * The last thing on its stream is a copy that reads it: it comes back after that.  Never fails:
 * what the driver refuses to watch is not used again while the context lives.
 */
void pocket_leave(struct pocket_hold *hold);

/* The context is gone: its registration, its events, and what was on its way there. */
void pocket_context_gone(CUcontext context);

/* In the child of fork(): there are none, and never will be. */
void pocket_after_fork_child(void);

#endif
