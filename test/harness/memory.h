/*
 * The memory of this process, in bytes unless stated otherwise.
 */
#ifndef HP_HARNESS_MEMORY_H
#define HP_HARNESS_MEMORY_H

#include <stddef.h>

/* The following allocate nothing. */
size_t memory_resident(void);
size_t memory_mapped(void);

/* Returns the number in the line `name` of /proc/self/status, in KiB. */
size_t memory_status_kib(const char *name);

#endif
