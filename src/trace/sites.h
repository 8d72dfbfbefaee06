/*
 * Which calls of the program copied, what, and for how long?
 *
 * A site is such a call here and in events.h; who allocated a block, host/site.h's site, is its
 * `allocator` in this folder.
 */
#ifndef HP_TRACE_SITES_H
#define HP_TRACE_SITES_H

#include "trace/frames.h"
#include "trace/modules.h"
#include "trace/trace.h"

#define SITES_MOST    1024
#define SITES_NOWHERE FRAMES_NAMELESS

struct sites_row {
	uint64_t count, bytes, host_ns, sync_count, sync_ns;
};

struct site {
	uint64_t hash;
	size_t depth;
	struct module_place frame[FRAMES_MOST];
	struct sites_row row[TRACE_DIRECTIONS][TRACE_MEMORIES];
};

/* 0 or -ENOMEM.  Once a process; frames_start() is its own affair. */
int sites_start(void);

/* As frames_walk(); `frame` may be NULL: not known. */
bool sites_walk(const void *frame, struct frames_way *ret);

/* One copy, with the lock `trace` held.  SITES_NOWHERE: not seen before, sites_copied() it is. */
uint32_t sites_add(const struct frames_way *way, const struct trace_copy *copy);

/*
 * One copy by the function whose __builtin_frame_address(0) is `frame`; NULL: not known.  Returns
 * its site, or SITES_NOWHERE, and counts that.  As frames_walk().
 */
uint32_t sites_copied(const struct trace_copy *copy, const void *frame);

/* Take the lock `trace`.  What is lost are copies. */
size_t sites_count(uint64_t *ret_lost);
void sites_read(size_t index, struct site *ret);

#endif
