/*
 * How much of a large range has its pages?
 *
 * Inside host/ only.  No lock is needed; errno is kept.
 */
#ifndef HP_HOST_TOUCHED_H
#define HP_HOST_TOUCHED_H

#include <stdbool.h>
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

/*
 * Are seven in eight of the pages in [from, to) in memory?  At most 2 MiB of them are looked at.
 * False where the kernel will not say: whoever asks would do more for a yes.
 */
bool touched_densely(uintptr_t from, uintptr_t to);

#endif
