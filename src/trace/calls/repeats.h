/*
 * Finds candidates for redundant copies: the destination already holds the bytes, by their hash.
 *
 * hotpin does not see what kernels write.  So a second copy of the same bytes to the same place may
 * be necessary.
 */
#ifndef HP_TRACE_CALLS_REPEATS_H
#define HP_TRACE_CALLS_REPEATS_H

#include "trace/operation.h"

#include <stddef.h>

/* Smaller copies are not hashed. */
#define REPEATS_LEAST_BYTES ((uint64_t)64 << 10)
#define REPEATS_ROWS_MOST   512

enum repeat_kind {
	REPEAT_DUPLICATE, /* an upload of the bytes last sent to that place */
	REPEAT_PING_PONG, /* an upload of bytes downloaded from there, unchanged since */
	REPEAT_KINDS
};

struct repeat_row {
	enum repeat_kind kind;
	uint32_t site, buffer; /* of sites.h, host_buffers.h */
	struct trace_flow flow;
};

struct repeats {
	uint64_t copies, bytes, hash_ns; /* of hashed copies */
	struct trace_flow all[REPEAT_KINDS];
	size_t rows;
};

/* Returns a hash: equal for equal bytes, and almost never equal for different bytes.  Pure. */
uint64_t repeats_hash(const void *bytes, size_t length);

/* Returns 0 or -ENOMEM.  Once a process. */
int repeats_start(void);

/*
 * Adds one completed copy between host and device, in the thread that made it.  Hashes its bytes if
 * the copy is large enough.  Takes the lock `trace`.
 */
void repeats_copied(const struct trace_copy *copy, uint32_t site, uint32_t buffer);

/* Both take the lock `trace`; `index` from 0 to rows - 1. */
void repeats_read(struct repeats *ret);
void repeats_read_row(size_t index, struct repeat_row *ret);

#endif
