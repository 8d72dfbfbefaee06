/*
 * Operations that the shim reports to the profile: copies and launches.
 */
#ifndef HP_TRACE_OPERATION_H
#define HP_TRACE_OPERATION_H

#include "base/profile_fields.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum trace_direction { TRACE_H2D, TRACE_D2H, TRACE_D2D, TRACE_H2H, TRACE_P2P, TRACE_DIRECTIONS };

/*
 * The memory at the host's end of a copy, as far as hotpin or CUPTI know.  To CUPTI all but
 * pageable memory is pinned.  Between devices CUPTI tells the source's memory.
 */
enum trace_memory {
	TRACE_PAGEABLE,
	TRACE_PROMOTED, /* pinned by us */
	TRACE_STAGED,   /* pageable to the program, sent through staging memory */
	TRACE_PINNED,   /* pinned by the program */
	TRACE_DEVICE,   /* no host memory at all */
	TRACE_UNKNOWN,  /* not checked: pageable or pinned; not on the heap, or registered there */
	TRACE_ARRAY,    /* of CUPTI alone, as the next one */
	TRACE_MANAGED,
	TRACE_MEMORIES
};

/* One copy that went through the shim; times from hp_now_ns(). */
struct trace_copy {
	enum trace_direction direction;
	enum trace_memory memory;
	bool synchronous;
	bool deferred; /* synchronous, and returned before the transfer completed */
	bool in_graph; /* recorded into a graph: no data moved yet */
	uint8_t route; /* as HOTPIN_ROUTE numbers them, then "unpin"; 0: unknown */
	uint64_t bytes;
	uint64_t enter_ns, leave_ns;
	bool linear;     /* contiguous on both sides */
	uint64_t device; /* its address on the device; 0: unknown */
	/*
	 * The host side: its address, the allocation site of its block (heap/site.h; 0: not ours),
	 * and the size of that block.
	 */
	const void *host;
	uint32_t allocator;
	uint64_t block_bytes;
	uint64_t gain_ns;  /* time that pinning saves, or saved, this copy */
	const void *frame; /* __builtin_frame_address(0) of the exported function; NULL: unknown */
};

/*
 * True if the host side was read or written before the call returned: the copy was synchronous, or
 * its memory is pageable to the program.
 */
static inline bool trace_copy_touched_host(const struct trace_copy *copy)
{
	return copy->synchronous || (copy->memory != TRACE_PINNED && copy->memory != TRACE_UNKNOWN);
}

/*
 * A call of the driver: the low half of pthread_self(); the time, on our clock; the place of a
 * launch, by its number in launches.h.
 */
struct correlation_caller {
	uint32_t thread, place;
	uint64_t at_ns;
};

/* The calling thread's number, as CUPTI numbers threads by default. */
static inline uint32_t trace_thread(void)
{
	return (uint32_t)(uintptr_t)pthread_self();
}

/* Route numbers are below this. */
#define TRACE_ROUTES 7

/* Copies, and of these the synchronous ones. */
struct trace_sum {
	uint64_t count, bytes, host_ns;
	uint64_t sync_count, sync_bytes, sync_ns;
};

static inline void trace_sum_add(struct trace_sum *sum, const struct trace_copy *copy)
{
	uint64_t took = copy->leave_ns - copy->enter_ns;

	sum->count++;
	sum->bytes += copy->bytes;
	sum->host_ns += took;
	if (!copy->synchronous)
		return;
	sum->sync_count++;
	sum->sync_bytes += copy->bytes;
	sum->sync_ns += took;
}

static inline void trace_sum_add_sum(struct trace_sum *to, const struct trace_sum *sum)
{
	to->count += sum->count;
	to->bytes += sum->bytes;
	to->host_ns += sum->host_ns;
	to->sync_count += sum->sync_count;
	to->sync_bytes += sum->sync_bytes;
	to->sync_ns += sum->sync_ns;
}

static inline void trace_flow_add(struct profile_sum *flow, const struct trace_copy *copy)
{
	flow->count++;
	flow->bytes += copy->bytes;
	flow->host_ns += copy->leave_ns - copy->enter_ns;
}

enum trace_launch {
	TRACE_LAUNCH_KERNEL,
	TRACE_LAUNCH_CAPTURED, /* of a kernel, while a stream capture is active */
	TRACE_LAUNCH_GRAPH,    /* a graph may hold many kernels */
	TRACE_LAUNCHES
};

#endif
