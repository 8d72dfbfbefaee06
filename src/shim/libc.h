/*
 * The switch of the allocation functions.
 */
#ifndef HP_SHIM_LIBC_H
#define HP_SHIM_LIBC_H

#include <stddef.h>

/* Allocations of `bytes_min` and more come from the heap from now on; 0: none do. */
void shim_libc_use_heap(size_t bytes_min);

#endif
