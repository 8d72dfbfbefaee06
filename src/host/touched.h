/*
 * How much of a large range has its pages?
 *
 * Inside host/ only.  No lock is needed; errno is kept.
 */
#ifndef HP_HOST_TOUCHED_H
#define HP_HOST_TOUCHED_H

#include <stddef.h>
#include <stdint.h>

/* Smaller blocks are not worth the question. */
#define TOUCHED_WORTH_ASKING ((size_t)256 << 20)

/* To register less than this share of a block would grow the process, percent. */
#define TOUCHED_LEAST        50

/*
 * Percent of the pages of [from, from + bytes) that are in memory, by a sample; 100 is all of it.
 */
unsigned touched_percent(uintptr_t from, size_t bytes);

#endif
