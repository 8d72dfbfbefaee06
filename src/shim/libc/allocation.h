/*
 * What the allocation functions share: libc.c, aligned.c, and first.c before the next definitions
 * are known.
 */
#ifndef HP_SHIM_LIBC_ALLOCATION_H
#define HP_SHIM_LIBC_ALLOCATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define unlikely(condition) __builtin_expect(condition, 0)

/* Who called the exported function that this is written in. */
#define CALLER()            __builtin_return_address(0)

/*
 * What every call reads, with heap_owns()'s words behind it.  A read waits for the write before it
 * whose address has the same low 12 bits, above all for a lock's, and glibc's arenas but for one
 * begin at such addresses: their locks at 0x30, then their bins.  Here they have the last of those,
 * of blocks that are ours.
 */
struct shim_malloc {
	char room[0x840];
	_Atomic size_t heap_min; /* the smallest that is ours; SIZE_MAX: none, see shim_start() */

	/*
	 * Where small ones go.  Not at once to real_libc's, which would have to be looked at
	 * before; and nobody has to ask whether an address is early where none ever was.
	 */
	void *(*_Atomic malloc_next)(size_t bytes);
	void *(*_Atomic calloc_next)(size_t count, size_t each);
	void (*_Atomic free_next)(void *address);
};
extern struct shim_malloc shim_malloc __attribute__((visibility("hidden")));

#define NEXT(name) atomic_load_explicit(&shim_malloc.name##_next, memory_order_relaxed)

static inline size_t shim_malloc_least(void)
{
	return atomic_load_explicit(&shim_malloc.heap_min, memory_order_relaxed);
}

/*
 * A large block for `caller`, or NULL where the next allocator has to serve it: also because it is
 * not large.  errno is untouched.
 */
void *shim_large(size_t bytes, size_t alignment, bool zeroed, const void *caller);

/* What the next definitions are until they are known. */
void *shim_malloc_first(size_t bytes);
void *shim_calloc_first(size_t count, size_t each);
void shim_free_first(void *address);

/* What was served meanwhile is never given back. */
#define SHIM_EARLY_BYTES ((size_t)32 << 10)
extern char shim_early[SHIM_EARLY_BYTES] __attribute__((visibility("hidden")));

static inline bool shim_is_early(const void *address)
{
	return (size_t)((const char *)address - shim_early) < SHIM_EARLY_BYTES;
}

static inline size_t shim_early_size(const void *address)
{
	return *(const size_t *)((const char *)address - 16);
}

#endif
