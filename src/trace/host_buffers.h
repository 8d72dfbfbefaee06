/*
 * Which host memory was copied, by who allocated it, and did pinning it pay?
 */
#ifndef HP_TRACE_HOST_BUFFERS_H
#define HP_TRACE_HOST_BUFFERS_H

#include "trace/callers.h"
#include "trace/operation.h"
#include "trace/round_trips.h"

#define HOST_BUFFERS_MOST 512

enum host_buffer_kind { HOST_BUFFER_HEAP, HOST_BUFFER_STATIC, HOST_BUFFER_OTHER };

struct host_buffer {
	enum host_buffer_kind kind;
	bool named; /* `way` was looked for */
	struct callers_way way;
	uint64_t largest_bytes;    /* 0: not known */
	struct trace_flow flow[2]; /* TRACE_H2D, TRACE_D2H */
	uint64_t promoted_bytes;
	uint64_t pins, pin_ns;
	uint64_t saved_ns, could_save_ns;
	struct round_trip_sum round_trips;
	struct round_trip_sum follows; /* went up when the buffer `after` had come down */
	uint32_t after;                /* the latest one */
};

/* 0 or -ENOMEM.  Once a process. */
int host_buffers_start(void);

#define HOST_BUFFERS_UNSEEN UINT32_MAX

/*
 * As host_buffers_copied(), with the lock `trace` held.  HOST_BUFFERS_UNSEEN: nothing was added, it
 * has to be looked for.
 */
uint32_t host_buffers_add(const struct trace_copy *copy);

/*
 * One copy between host and device.  Returns its buffer's index.  Any thread, no lock of ours held:
 * for a new buffer the loader is asked.
 */
uint32_t host_buffers_copied(const struct trace_copy *copy);

/* A block of `allocator` was pinned, or unpinned, which took `ns`.  Any thread. */
void host_buffers_pinned(uint32_t allocator, bool begins, uint64_t ns);

/* Take the lock `trace`. */
size_t host_buffers_count(void);
void host_buffers_read(size_t index, struct host_buffer *ret);

#endif
