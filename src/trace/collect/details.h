/*
 * Details that events of the timeline refer to: launch shapes of kernels, and places of samples.  A
 * place with a known caller holds the index of that caller, so chains share their callers.
 *
 * A program has few different details, so an event holds an index.  Only the thread that reads
 * records uses this file, until that thread has ended.
 */
#ifndef HP_TRACE_COLLECT_DETAILS_H
#define HP_TRACE_COLLECT_DETAILS_H

#include "base/profile_fields.h"
#include "trace/collect/cupti_min.h"
#include "trace/places/modules.h"

#include <stddef.h>

#define DETAILS_MOST        16384u /* of each kind; a power of two */
/* Of these, for places with a caller.  The rest is reserved for samples whose chain has no room. */
#define DETAILS_CALLED_MOST (DETAILS_MOST * 3 / 4)
#define DETAILS_UNKNOWN     UINT32_MAX

/*
 * Returns the index of a kernel's shape.  DETAILS_UNKNOWN: it has no shape, or there are too many.
 */
uint32_t details_shape(const struct cupti_kernel *record);
/*
 * Returns the index of a sample's leaf.  `frame` holds the leaf and its likely callers, 1 at least.
 */
uint32_t details_chain(const struct module_place *frame, size_t depth);

/* Writes the lists of shapes and places, which stay in this file's memory. */
void details_read(struct profile_events *ret);

#endif
