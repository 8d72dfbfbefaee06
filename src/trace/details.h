/*
 * What events of the timeline point into: the shapes that kernels were launched in, and the places
 * of samples.
 *
 * A program has few of them, so an event has an index.  Of the thread that reads records alone,
 * until it has ended.
 */
#ifndef HP_TRACE_DETAILS_H
#define HP_TRACE_DETAILS_H

#include "trace/cupti_min.h"
#include "trace/modules.h"

#include <stddef.h>

#define DETAILS_MOST    4096u /* of each kind */
#define DETAILS_UNKNOWN UINT32_MAX

struct shape {
	int32_t grid[3], block[3];
	int32_t registers; /* of a thread */
	int32_t static_shared, dynamic_shared;
};

/* Indices; DETAILS_UNKNOWN: a kernel has no shape, or there are too many. */
uint32_t details_shape(const struct cupti_kernel *record);
uint32_t details_place(const struct module_place *place);

size_t details_shapes(void);
const struct shape *details_shape_at(size_t index);
size_t details_places(void);
struct module_place details_place_at(size_t index);

#endif
