/*
 * Compares the parts of the heap with each other, and the pinned blocks with their sum.
 */
#ifndef HP_HARNESS_HEAP_CHECK_H
#define HP_HARNESS_HEAP_CHECK_H

#include "heap/limits.h"

/*
 * Walks all blocks: their order, the map, the sums.  Returns 0 or the line that failed.  Other
 * threads may use the heap meanwhile.  Takes the lock heap.
 */
int heap_check(void);

/* The same for pinned blocks.  Takes the lock pin. */
int pin_check(void);

/* Tells the heap facts of this level, without a cgroup. */
void heap_set_level(enum pressure_level level);

#endif
