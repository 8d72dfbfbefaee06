/*
 * Pinned staging memory.  Each context has its own, which ends with the context.
 *
 * The registration of a context's memory ends with the context, and so does all work that uses the
 * memory.  A thread may still be inside a copy then; the mapping lasts until it has put its part
 * back.  So the end of a context waits for no thread, and no context uses the memory of another.
 *
 * Staging memory counts against the pin budget from before its registration until that has failed
 * or ended (pin_take_staging()).
 */
#ifndef HP_STAGE_MEMORY_H
#define HP_STAGE_MEMORY_H

#include "real/real.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum memory_kind {
	MEMORY_AREA, /* stage/area.h */
	MEMORY_RING, /* stage/ring.h */
	MEMORY_KINDS
};

/* The first member of an area or a ring. */
struct memory {
	char *at;         /* aligned to 2 MiB; constant */
	size_t bytes;     /* constant */
	size_t room;      /* bytes of the struct that begins here; constant */
	unsigned holders; /* threads that hold a part; under the lock staging */
	bool ended;       /* the context has ended; under the lock staging */
};

struct memory_context {
	CUcontext context;
	unsigned long long id;
};

/*
 * Allows memory of a kind: `bytes` for each context, made when the gains that its copies have
 * missed reach `price`.  `room`: bytes of its struct.  0 bytes: none.  Called once for each kind.
 */
void memory_allow(enum memory_kind kind, size_t bytes, size_t room, uint64_t price);

/* False: there will be no memory of this kind.  One load. */
bool memory_may_be(enum memory_kind kind);

/* Finds the current context.  False: there is none. */
bool memory_current(struct memory_context *ret);

/*
 * Returns the memory of the context, which is the current one; NULL: none now.  `gain` is what the
 * calling copy misses without it, in the unit of the price.  0: the memory is not made now.
 *
 * Requires the lock staging.  Gives it up while it makes the memory, in some milliseconds;
 * meanwhile other threads continue without.
 */
struct memory *memory_get(enum memory_kind kind, const struct memory_context *of, uint64_t gain);

/* Note that a thread holds a part, or has put it back.  Require the lock staging. */
void memory_hold(struct memory *memory);
void memory_put(struct memory *memory);

/* Creates the event in the current context if it does not exist.  False: the driver refuses. */
bool memory_make_event(CUevent *event);

/*
 * Called before and after the driver destroys, resets or releases a context.  If the context is
 * `gone`, so are the registrations of its memory, its events and its work.
 */
void memory_context_ending(CUcontext context);
void memory_context_ended(CUcontext context, bool gone);

/*
 * Ends the memory of all contexts that no thread is inside, which waits for running kernels.
 * Returns the bytes.  A copy makes it again when that pays.  No lock may be held.
 */
size_t memory_give_back(void);

/* In the child of fork(): there will be no staging memory.  Takes no lock. */
void memory_after_fork_child(void);

#endif
