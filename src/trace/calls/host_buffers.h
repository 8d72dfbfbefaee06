/*
 * Host buffers: copies by the allocation site of their host memory, and whether pinning that memory
 * paid off; memory that the program pins itself, by the site of that call; mapped files.
 */
#ifndef HP_TRACE_CALLS_HOST_BUFFERS_H
#define HP_TRACE_CALLS_HOST_BUFFERS_H

#include "trace/calls/round_trips.h"
#include "trace/operation.h"
#include "trace/places/callers.h"
#include "trace/places/mapped_files.h"

#define HOST_BUFFERS_MOST   512 /* a power of two */
/* Blocks that the program has pinned at the same time; further ones are not held, nor ever used. */
#define HOST_BUFFERS_PINNED 16384

struct host_buffer {
	bool named;   /* `place` has been resolved, or could not be */
	bool guessed; /* as callers_find() says */
	struct frames_place place;
	char file[MAPPED_FILES_NAME]; /* only of kind file */
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
 * Adds one copy between host and device at a copy site (sites_add()), with the lock `trace` held.
 * Returns its buffer's index.  HOST_BUFFERS_UNSEEN: nothing was added, since the allocation site is
 * new; call host_buffers_copied() without the lock.
 */
uint32_t host_buffers_add(const struct trace_copy *copy, uint32_t site);

/* Looks up the allocation site of the copy in the loader, then adds the copy.  No lock is held. */
uint32_t host_buffers_copied(const struct trace_copy *copy, uint32_t site);

/* Notes that pinning (`begins`) or unpinning a block of `allocator` took `ns`.  Any thread. */
void host_buffers_pinned(uint32_t allocator, bool begins, uint64_t ns);

/*
 * Notes that the program has pinned a block from `way`, in a call that took `ns`.  The call does
 * not count if it was outside the capture range.  Any thread, no lock of ours held.
 */
void host_buffers_program_pinned(const struct frames_way *way, const void *block, uint64_t bytes,
				 bool registered, bool counts, uint64_t ns);
/* Notes that the program has freed or unregistered that block. */
void host_buffers_program_unpinned(const void *block, uint64_t ns);

/* Notes that the program has ended: nothing will wait for its downloads. */
void host_buffers_ended(void);

/* Reads a buffer, from 0 on.  False: there is none.  Takes the lock `trace`. */
bool host_buffers_read(size_t index, struct host_buffer *ret);

#endif
