/*
 * The memory of this process, in bytes.
 */
#ifndef HP_HARNESS_MEMORY_H
#define HP_HARNESS_MEMORY_H

#include <stddef.h>

/* Both allocate nothing. */
size_t memory_resident(void);
size_t memory_mapped(void);

#endif
