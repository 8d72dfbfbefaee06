/*
 * Raises glibc's mmap threshold as the blocks that hotpin serves would have raised it.
 */
#ifndef HP_HEAP_MMAP_THRESHOLD_H
#define HP_HEAP_MMAP_THRESHOLD_H

#include "heap/heap.h"

#include <stdatomic.h>
#include <stddef.h>

/* glibc's DEFAULT_MMAP_THRESHOLD_MAX. */
#define MMAP_THRESHOLD_MOST ((size_t)32 << 20)

/*
 * The value that glibc's threshold was raised to, a power of two; 0: not raised yet.  Any thread.
 */
extern _Atomic size_t mmap_threshold __attribute__((visibility("hidden")));

/* A block of glibc's that the next raise will free, or NULL.  Any thread. */
extern void *_Atomic mmap_threshold_block __attribute__((visibility("hidden")));

/* After hotpin has served a block: true if mmap_threshold_prepare() must be called. */
static inline bool mmap_threshold_wants_block(void)
{
	return atomic_load_explicit(&mmap_threshold_block, memory_order_relaxed) == NULL &&
	       atomic_load_explicit(&mmap_threshold, memory_order_relaxed) < MMAP_THRESHOLD_MOST;
}

/* After a block of hotpin's was freed: true if mmap_threshold_raise() must be called. */
static inline bool mmap_threshold_is_low(void)
{
	size_t now = atomic_load_explicit(&mmap_threshold, memory_order_relaxed);

	return now < MMAP_THRESHOLD_MOST &&
	       atomic_load_explicit(&heap_freed_most, memory_order_relaxed) / 2 >= now;
}

/* Allocates the block for the next raise; raises the threshold; frees the block for good. */
void mmap_threshold_prepare(void); /* errno is kept by all three */
void mmap_threshold_raise(void);
void mmap_threshold_end(void);

#endif
