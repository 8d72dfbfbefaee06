/*
 * The switch of the allocation functions, and what libc has behind all of ours.
 */
#ifndef HP_SHIM_LIBC_H
#define HP_SHIM_LIBC_H

#include <stdbool.h>
#include <stddef.h>

/* Allocations of `bytes_min` and more come from the heap from now on; 0: none do. */
void shim_libc_use_heap(size_t bytes_min);

/*
 * Looks up what real_libc is to hold.  Any thread, any time; may call dlsym().  False: it cannot
 * be known yet, for this very thread is looking.
 */
bool shim_libc_find(void);

/* The limits that this process, and no child of its vfork(), sets are the heap's.  After fork()
 * too.
 */
void shim_limits_are_ours(void);

#endif
