/*
 * The bound of the free cache.
 *
 * Inside src/heap only.  Everything here requires the lock heap.
 */
#ifndef HP_HEAP_QUOTA_H
#define HP_HEAP_QUOTA_H

#include <stdbool.h>
#include <stddef.h>

/* Says how scarce memory is. */
enum heap_pressure {
	HEAP_PRESSURE_NONE,
	HEAP_PRESSURE_SOME,   /* an eighth of the usual bound, and blocks expire at once */
	HEAP_PRESSURE_SEVERE, /* nothing is cached */
};

/* Sets the bound of the free cache from the facts below, and from whether the heap is closed. */
void quota_update(void);
void quota_set_device(bool is_there);
void quota_set_attended(bool is);
void quota_set_pressure(enum heap_pressure level);
bool quota_has_pressure(void);

/* Sets the limit of heap_yield_below(). */
void quota_set_yielding(size_t below);

/* True if a block of `bytes` gets no new pages now. */
bool quota_yields(size_t bytes);

/* Notes that `bytes` above the bound go back to the kernel. */
void quota_note_given_back(size_t bytes);

#endif
