/*
 * Which host memory was copied, by who allocated it, and did pinning it pay?
 */
#ifndef HP_TRACE_HOST_BUFFERS_H
#define HP_TRACE_HOST_BUFFERS_H

#include "trace/callers.h"
#include "trace/operation.h"

#define OWNERS_MOST 512

enum owner_kind { OWNER_HEAP, OWNER_STATIC, OWNER_OTHER };

struct owner {
	enum owner_kind kind;
	bool named; /* `way` was looked for */
	struct callers_way way;
	uint64_t largest_bytes;    /* 0: not known */
	struct trace_flow flow[2]; /* TRACE_H2D, TRACE_D2H */
	uint64_t promoted_bytes;
	uint64_t pins, pin_ns;
	uint64_t saved_ns, could_save_ns;
};

/* 0 or -ENOMEM.  Once a process. */
int owners_start(void);

#define OWNERS_UNSEEN UINT32_MAX

/*
 * As owners_copied(), with the lock `trace` held.  OWNERS_UNSEEN: nothing was added, it has to be
 * looked for.
 */
uint32_t owners_add(const struct trace_copy *copy);

/*
 * One copy between host and device.  Returns its owner's index.  Any thread, no lock of ours held:
 * at first sight of an owner the loader is asked.
 */
uint32_t owners_copied(const struct trace_copy *copy);

/* A block of `allocator` was pinned, or unpinned, which took `ns`.  Any thread. */
void owners_pinned(uint32_t allocator, bool begins, uint64_t ns);

/* Take the lock `trace`. */
size_t owners_count(void);
void owners_read(size_t index, struct owner *ret);

#endif
