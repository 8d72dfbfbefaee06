/*
 * Finds candidates for redundant copies: the destination already holds the bytes, by their hash.
 *
 * hotpin does not see what kernels write.  So a second copy of the same bytes to the same address
 * may be necessary.
 */
#ifndef HP_TRACE_CALLS_REPEATS_H
#define HP_TRACE_CALLS_REPEATS_H

#include "trace/operation.h"

#include <stddef.h>

/* Smaller copies are not hashed. */
#define REPEATS_LEAST_BYTES ((uint64_t)64 << 10)
#define REPEATS_ROWS_MOST   512

/* Returns a hash: equal for equal bytes, and almost never equal for different bytes.  Pure. */
uint64_t repeats_hash(const void *bytes, size_t length);

/* Returns 0 or -ENOMEM.  Once a process. */
int repeats_start(void);

/*
 * Adds one completed copy between host and device, in the thread that made it.  Hashes its bytes if
 * the copy is large enough.  Takes the lock `trace`.
 */
void repeats_copied(const struct trace_copy *copy, uint32_t site, uint32_t buffer);

/*
 * Return the sums; a site, with its id for sites_index() in place of its index.  False: there is no
 * such site.  Both take the lock `trace`.
 */
void repeats_read(struct profile_repeats *ret);
bool repeats_read_row(size_t index, struct profile_repeat *ret);

#endif
