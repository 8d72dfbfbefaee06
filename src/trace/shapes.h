/*
 * The shapes that kernels were launched in: grid, block, registers, shared memory.
 *
 * A program has few of them, so an event of the timeline has an index.  Of the thread that reads
 * records alone, until it has ended.
 */
#ifndef HP_TRACE_SHAPES_H
#define HP_TRACE_SHAPES_H

#include "trace/cupti_min.h"

#include <stddef.h>

#define SHAPES_MOST    4096u
#define SHAPES_UNKNOWN UINT32_MAX

struct shape {
	int32_t grid[3], block[3];
	int32_t registers; /* of a thread */
	int32_t static_shared, dynamic_shared;
};

/* The index of a kernel's shape; SHAPES_UNKNOWN: it has none, or there are too many. */
uint32_t shapes_index(const struct cupti_kernel *record);

size_t shapes_count(void);
const struct shape *shapes_at(size_t index);

#endif
