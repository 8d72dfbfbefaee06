/*
 * The switch of the allocation functions, and what libc has behind all of ours.
 */
#ifndef HP_SHIM_LIBC_LIBC_H
#define HP_SHIM_LIBC_LIBC_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Allocations of `bytes_min` and more come from the heap from now on; 0: none do.  None do either
 * where another allocator would be given our blocks to free.
 */
void shim_libc_use_heap(size_t bytes_min);

/* The same for the future, if any do.  Any thread, any time; lock-free. */
void shim_libc_use_heap_from(size_t bytes_min);

/*
 * No allocation comes from the heap from now on; blocks in use stay what they are.  Any thread, any
 * time, also before shim_libc_use_heap().  `why` is for the log.
 */
void shim_libc_shut(const char *why);

/*
 * Looks up what real_libc is to hold.  Any thread, any time; may call dlsym().  False: it cannot
 * be known yet, for this very thread is looking.
 */
bool shim_libc_find(void);

/* heap_close(), for the sake of a limit that what else we hold counts for, too.  Any thread. */
void shim_libc_close_heap(void);

/*
 * From now on it is this process, and no child of its vfork(), whose limits are the heap's.  Again
 * in the child of fork().
 */
void shim_limits_are_ours(void);

#endif
