/*
 * Which allocations the big-block heap serves.
 */
#ifndef HP_SHIM_LIBC_LARGE_H
#define HP_SHIM_LIBC_LARGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Lets the heap serve large allocations from now on, by HOTPIN_HEAP_MIN.  Does nothing if another
 * allocator would be given hotpin's blocks to free.  Called once, at the start.
 */
void shim_large_start(void);

/* Adapts the heap to a process with, or without, a device.  Any thread, any time. */
void shim_large_with_device(void);
void shim_large_without_device(void);

/*
 * Makes the heap serve nothing from now on; blocks in use stay valid.  Any thread, any time, also
 * before shim_large_start().  `why` is for the log.
 */
void shim_large_stop(const char *why);

/*
 * Returns a block of the heap for the caller at `caller`.  NULL: the next allocator must serve the
 * request, for instance because it is small.  errno is kept.
 */
void *shim_large_alloc(size_t bytes, size_t alignment, bool zeroed, const void *caller);

/* The caller of the exported function in which this macro stands. */
#define CALLER() __builtin_return_address(0)

/* The size of the largest block that was freed, as far as glibc takes note of it. */
extern _Atomic size_t shim_large_freed_most __attribute__((visibility("hidden")));
void shim_large_raise(size_t bytes);

/* Called when a block of `bytes` was freed, for the thresholds of glibc.  One compare. */
static inline void shim_large_freed(size_t bytes)
{
	if (bytes > atomic_load_explicit(&shim_large_freed_most, memory_order_relaxed))
		shim_large_raise(bytes);
}

#endif
