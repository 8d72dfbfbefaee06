/*
 * Which copies brought what was there already?  Candidates, found by hashing what is copied.
 *
 * What kernels write is not seen: the same bytes sent twice to the same place may have been needed.
 */
#ifndef HP_TRACE_REPEATS_H
#define HP_TRACE_REPEATS_H

#include "trace/operation.h"

#include <stddef.h>

/* Smaller copies are not worth looking at. */
#define REPEATS_LEAST_BYTES ((uint64_t)64 << 10)
#define REPEATS_ROWS_MOST   512

enum repeat_kind {
	REPEAT_DUPLICATE, /* to the device, what was sent to the same place last */
	REPEAT_PING_PONG, /* to the device, what came from there and was not changed since */
	REPEAT_KINDS
};

struct repeat_row {
	enum repeat_kind kind;
	uint32_t site, buffer; /* of sites.h, host_buffers.h */
	struct trace_flow flow;
};

struct repeats {
	uint64_t copies, bytes, hash_ns; /* that were hashed */
	struct trace_flow all[REPEAT_KINDS];
	size_t rows;
};

/* Pure: equal for equal bytes, and for others as good as never. */
uint64_t repeats_hash(const void *bytes, size_t length);

/* 0 or -ENOMEM.  Once a process. */
int repeats_start(void);

/*
 * One copy between host and device that is over, in the thread that made it: reads its bytes if it
 * is worth it.  Takes the lock `trace`.
 */
void repeats_copied(const struct trace_copy *copy, uint32_t site, uint32_t buffer);

void repeats_read(struct repeats *ret);
void repeats_read_row(size_t index, struct repeat_row *ret);

#endif
