/*
 * Sorts items, since libc's qsort() takes memory from malloc().
 */
#ifndef HP_TRACE_SORT_H
#define HP_TRACE_SORT_H

#include <stddef.h>

/*
 * Sorts `count` items in place by their first word.  An item has `words` words of 64 bits.  Items
 * with equal first words end in any order.
 */
void sort_by_first(void *items, size_t count, size_t words);

#endif
