/*
 * Host buffers: copies by the allocation site of their host memory, and whether pinning that memory
 * paid off.
 */
#ifndef HP_TRACE_CALLS_HOST_BUFFERS_H
#define HP_TRACE_CALLS_HOST_BUFFERS_H

#include "trace/calls/round_trips.h"
#include "trace/operation.h"
#include "trace/places/callers.h"

#define HOST_BUFFERS_MOST 512 /* a power of two */

struct host_buffer {
	bool named; /* `way` has been resolved, or could not be */
	struct callers_way way;
	/*
	 * Without frames, and with ids of copy sites in place of indices.  largest_bytes is 0 if
	 * it is not known.
	 */
	struct profile_buffer sums;
};

/* Returns 0 or -ENOMEM.  Once a process. */
int host_buffers_start(void);

#define HOST_BUFFERS_UNSEEN UINT32_MAX

/*
 * As host_buffers_copied(), with the lock `trace` held.  HOST_BUFFERS_UNSEEN: nothing was added,
 * since the buffer is new; call host_buffers_copied() without the lock.
 */
uint32_t host_buffers_add(const struct trace_copy *copy, uint32_t site);

/*
 * Adds one copy between host and device at a copy site (sites_add()).  Returns its buffer's index.
 * Any thread, no lock of ours held, since a new buffer is looked up in the loader.
 */
uint32_t host_buffers_copied(const struct trace_copy *copy, uint32_t site);

/* Notes that pinning (`begins`) or unpinning a block of `allocator` took `ns`.  Any thread. */
void host_buffers_pinned(uint32_t allocator, bool begins, uint64_t ns);

/* Take the lock `trace`. */
size_t host_buffers_count(void);
void host_buffers_read(size_t index, struct host_buffer *ret);

#endif
