/*
 * Compares the parts of the heap with each other, and the pinned blocks with their sum.
 */
#ifndef HP_HARNESS_HEAP_CHECK_H
#define HP_HARNESS_HEAP_CHECK_H

#include "heap/limits.h"

#include <stddef.h>

/*
 * Walks all blocks: their order, the map, the sums.  Returns 0 or the line that failed.  Other
 * threads may use the heap meanwhile.  Takes the lock heap.
 */
int heap_check(void);

/* The same for pinned blocks.  Takes the lock pin. */
int pin_check(void);

/* Returns the bytes in use, and those of cached blocks.  Takes the lock heap. */
void heap_stats(size_t *ret_live, size_t *ret_kept);

/* Tells the heap facts of this level, without a cgroup. */
void heap_set_level(enum pressure_level level);

/* A test of a heap that is sound at the end. */
#define HEAP_TEST(id) TEST_BETWEEN(id, (void)0, CHECK_EQ(heap_check(), 0))

#endif
