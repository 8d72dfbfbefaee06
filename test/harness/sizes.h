/*
 * Sizes of memory, in bytes.
 */
#ifndef HP_HARNESS_SIZES_H
#define HP_HARNESS_SIZES_H

#include <stddef.h>

#define KIB  ((size_t)1 << 10)
#define MIB  ((size_t)1 << 20)
#define GIB  ((size_t)1 << 30)
#define PAGE ((size_t)4096)

#endif
