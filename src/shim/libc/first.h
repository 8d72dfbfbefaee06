/*
 * The functions that small allocations continue to, and the static area that serves them before the
 * next allocator is known.
 */
#ifndef HP_SHIM_LIBC_FIRST_H
#define HP_SHIM_LIBC_FIRST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define unlikely(condition) __builtin_expect(condition, 0)

/* Values of heap_min at which the heap serves nothing: not yet, and no more. */
#define SHIM_MALLOC_OFF     SIZE_MAX
#define SHIM_MALLOC_CLOSED  (SIZE_MAX - 1)

/*
 * The words that every allocation reads; those of heap_owns() follow them.
 *
 * A load stalls behind an earlier store whose address has the same low 12 bits.  Allocators store
 * to their locks most of all, and all but one of glibc's arenas begin at a page: lock at 0x30, then
 * the bins.  `padding` gives these words the low bits of the last bins, whose blocks are so large
 * that hotpin serves them.
 */
struct shim_malloc {
	char padding[0x840];
	_Atomic size_t heap_min; /* hotpin serves allocations of so many bytes */

	/*
	 * The next allocator's functions; until they are known, functions of first.c.  So the fast
	 * path neither checks for NULL nor asks whether an address is early.
	 */
	void *(*_Atomic malloc_next)(size_t bytes);
	void *(*_Atomic calloc_next)(size_t count, size_t each);
	void (*_Atomic free_next)(void *address);
};
extern struct shim_malloc shim_malloc __attribute__((visibility("hidden")));

#define NEXT(name) atomic_load_explicit(&shim_malloc.name##_next, memory_order_relaxed)

/* Returns heap_min.  One load. */
static inline size_t shim_malloc_least(void)
{
	return atomic_load_explicit(&shim_malloc.heap_min, memory_order_relaxed);
}

/*
 * Finds the functions behind hotpin's own and fills in shim_malloc.  May call dlsym().  False: they
 * cannot be known yet, because this thread is finding them.  Any thread, any time.
 */
bool shim_libc_find(void);

/* A static area for allocations that come before shim_libc_find().  It is never reused. */
#define SHIM_EARLY_BYTES ((size_t)32 << 10)
extern char shim_early[SHIM_EARLY_BYTES] __attribute__((visibility("hidden")));

/* True if `address` is in that area. */
static inline bool shim_is_early(const void *address)
{
	return (size_t)((const char *)address - shim_early) < SHIM_EARLY_BYTES;
}

/* Returns the bytes of the block of that area that starts at `address`. */
static inline size_t shim_early_size(const void *address)
{
	return *(const size_t *)((const char *)address - 16);
}

#endif
