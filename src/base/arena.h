/*
 * Memory for our own tables: from mmap(), never from the malloc() that we replace.
 */
#ifndef HP_BASE_ARENA_H
#define HP_BASE_ARENA_H

#include <stddef.h>

/*
 * Zeroed memory, aligned to 16 bytes; NULL when there is none (counted).  Takes the lock `arena`,
 * so it may be called under any other.
 */
void *hp_arena_alloc(size_t bytes);

/* Gives back what hp_arena_alloc(bytes) returned; `bytes` must be the same.  NULL is allowed. */
void hp_arena_free(void *memory, size_t bytes);

#endif
