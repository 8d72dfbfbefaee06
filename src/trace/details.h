/*
 * What events of the timeline point into: the shapes that kernels were launched in, and the places
 * of samples.  A place that was called has an index of its caller, so chains share their callers.
 *
 * A program has few of them, so an event has an index.  Of the thread that reads records alone,
 * until it has ended.
 */
#ifndef HP_TRACE_DETAILS_H
#define HP_TRACE_DETAILS_H

#include "trace/cupti_min.h"
#include "trace/modules.h"

#include <stddef.h>

#define DETAILS_MOST        16384u /* of each kind */
/* Of these, for places that have a caller: the others stay for samples whose chain has no room. */
#define DETAILS_CALLED_MOST (DETAILS_MOST * 3 / 4)
#define DETAILS_UNKNOWN     UINT32_MAX

struct shape {
	int32_t grid[3], block[3];
	int32_t registers; /* of a thread */
	int32_t static_shared, dynamic_shared;
};

/* Indices; DETAILS_UNKNOWN: a kernel has no shape, or there are too many. */
uint32_t details_shape(const struct cupti_kernel *record);
/* Of a sample: the leaf and its likely callers, 1 at least. */
uint32_t details_chain(const struct module_place *frame, size_t depth);

size_t details_shapes(void);
const struct shape *details_shape_at(size_t index);
size_t details_places(void);
/* `ret_caller`: an index below this one; DETAILS_UNKNOWN: none. */
struct module_place details_place_at(size_t index, uint32_t *ret_caller);

#endif
