/*
 * What would glibc have learnt from the blocks that we serve?
 */
#ifndef HP_SHIM_LIBC_LESSON_H
#define HP_SHIM_LIBC_LESSON_H

#include "heap/heap.h"

#include <stdatomic.h>
#include <stddef.h>

#define LESSON_MOST ((size_t)32 << 20)

extern _Atomic size_t lesson_taught __attribute__((visibility("hidden"))); /* a power of two */
/* glibc's block, for the next lesson */
extern void *_Atomic lesson_of_mapped __attribute__((visibility("hidden")));

/* A large block has been served: is it time to ask glibc for one?  Then lesson_prepare(). */
static inline bool lesson_is_wanted(void)
{
	return atomic_load_explicit(&lesson_of_mapped, memory_order_relaxed) == NULL &&
	       atomic_load_explicit(&lesson_taught, memory_order_relaxed) < LESSON_MOST;
}

/* One has been freed: is there anything new to learn?  Then lesson_teach(). */
static inline bool lesson_is_due(void)
{
	return atomic_load_explicit(&heap_freed_most, memory_order_relaxed) / 2 >=
		       atomic_load_explicit(&lesson_taught, memory_order_relaxed) &&
	       atomic_load_explicit(&lesson_taught, memory_order_relaxed) < LESSON_MOST;
}

/* errno is kept by all of them. */
void lesson_prepare(void);
void lesson_teach(void);

/* No more lessons: what is kept for the next is given back. */
void lesson_end(void);

#endif
