/*
 * Memory for hotpin's own tables, from mmap(), never from the malloc() that hotpin replaces.
 */
#ifndef HP_BASE_ARENA_H
#define HP_BASE_ARENA_H

#include <stddef.h>

/*
 * Returns zeroed memory, aligned to 16 bytes, or NULL (counted) if the kernel refuses; errno
 * stays as it is.  Takes the lock `arena`, which may be taken under any other lock.
 */
void *hp_arena_alloc(size_t bytes);

/* Frees memory of hp_arena_alloc(bytes); `bytes` must be the same.  NULL is allowed. */
void hp_arena_free(void *memory, size_t bytes);

#endif
