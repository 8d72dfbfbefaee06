/*
 * Samples how much of a large range is resident in memory.
 *
 * Inside src/heap and src/pin.  Needs no lock; keeps errno.
 */
#ifndef HP_HEAP_RESIDENT_H
#define HP_HEAP_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sampling pays from this size on. */
#define RESIDENT_WORTH_ASKING ((size_t)256 << 20)

/* Registering a block of which less is resident, in percent, would grow the process. */
#define RESIDENT_LEAST        50

/*
 * Returns the percentage of the pages of [from, from + bytes) that are resident, by a sample; 100
 * means all of the sample.
 */
unsigned resident_percent(uintptr_t from, size_t bytes);

/*
 * True if seven in eight pages of [from, to) are resident; looks at 2 MiB at most.  False if the
 * kernel does not say.
 */
bool resident_densely(uintptr_t from, uintptr_t to);

#endif
