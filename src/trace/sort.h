/*
 * Sorts in place, since libc's qsort() takes memory from malloc().
 */
#ifndef HP_TRACE_SORT_H
#define HP_TRACE_SORT_H

#include <stdbool.h>
#include <stddef.h>

#define SORT_SIZE_MOST 64

/*
 * Sorts `count` items of `size` bytes, at most SORT_SIZE_MOST.  Items of which neither is before
 * the other end in any order.  No order of the items slows it.
 */
void sort_heap(void *items, size_t count, size_t size,
	       bool (*is_before)(const void *, const void *));

#endif
