/*
 * Operations that are reported to the profile: copies, launches.
 */
#ifndef HP_TRACE_OPERATION_H
#define HP_TRACE_OPERATION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum trace_direction { TRACE_H2D, TRACE_D2H, TRACE_D2D, TRACE_H2H, TRACE_P2P, TRACE_DIRECTIONS };

/* What host memory a copy used, as far as we know. */
enum trace_memory {
	TRACE_PAGEABLE,
	TRACE_PROMOTED, /* pinned by us */
	TRACE_STAGED,   /* pageable to the program, sent through staging memory */
	TRACE_PINNED,   /* pinned by the program */
	TRACE_DEVICE,   /* no host memory at all */
	TRACE_UNKNOWN,  /* not looked at: not the heap's, could be either */
	TRACE_MEMORIES
};

/* One copy that went through the shim; times from hp_now_ns(). */
struct trace_copy {
	enum trace_direction direction;
	enum trace_memory memory;
	bool synchronous;
	bool deferred; /* synchronous, and returned before the device had it */
	bool captured; /* recorded into a graph: nothing moved yet */
	uint8_t route; /* as HOTPIN_ROUTE numbers them, then "unpin"; 0: unknown */
	uint64_t bytes;
	uint64_t enter_ns, leave_ns;
	bool linear;     /* one run of bytes on either side */
	uint64_t device; /* where on the device; 0: not known */
	/*
	 * The host side: where, who allocated its block (heap/site.h; 0: not ours), how large it
	 * is.
	 */
	const void *host;
	uint32_t allocator;
	uint64_t block_bytes;
	uint64_t gain_ns;  /* what pinning spares such a copy, or spared it */
	const void *frame; /* __builtin_frame_address(0) of the exported function; NULL: unknown */
};

/* Who called the driver for a copy: the low half of pthread_self(), and when, on our clock. */
struct correlation_caller {
	uint32_t thread;
	uint64_t at_ns;
};

/* The calling thread, as CUPTI numbers it unless told otherwise. */
static inline uint32_t trace_thread(void)
{
	return (uint32_t)(uintptr_t)pthread_self();
}

/* Numbers of routes are below this. */
#define TRACE_ROUTES 11

/* Copies added up; the time is that of their calls. */
struct trace_flow {
	uint64_t count, bytes, host_ns;
};

static inline void trace_flow_add(struct trace_flow *flow, const struct trace_copy *copy)
{
	flow->count++;
	flow->bytes += copy->bytes;
	flow->host_ns += copy->leave_ns - copy->enter_ns;
}

enum trace_launch {
	TRACE_LAUNCH_KERNEL,
	TRACE_LAUNCH_CAPTURED, /* of a kernel, while a stream capture is active */
	TRACE_LAUNCH_GRAPH,    /* which may hold many kernels */
	TRACE_LAUNCHES
};

#endif
