/*
 * Gives freed blocks back to the kernel, and bounds how much of them stays.
 */
#ifndef HP_HEAP_RECLAIM_H
#define HP_HEAP_RECLAIM_H

#include "heap/block.h"
#include "heap/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Closes the heap: the process counts its addresses, or locks all of them into memory.  Unmaps
 * free memory now, and freed blocks from now on, as libc would.  Later allocations go to the next
 * allocator.  Any thread, any time; keeps errno.
 */
void heap_close(void);

/*
 * Gives back the unpinned blocks that have been free for a second at `now_ns` (hp_now_ns()), except
 * for the newest ones, up to struct cache_bound's floor; these too after ten seconds without an
 * allocation.  Called once a second while heap_needs_expiry().  Any thread; takes the lock heap,
 * but not while pages go back.  Keeps errno.
 */
void heap_expire(uint64_t now_ns);

/*
 * True if heap_expire() has something to do, now or later.  Lock-free; called after heap_free() to
 * decide whether to wake the thread that calls heap_expire().
 */
bool heap_needs_expiry(void);

/*
 * Bounds the cache by these facts until the next call.  If memory is short, unpinned blocks go back
 * before the call returns, and pinned ones are due at once (heap_any_due()).  Any thread; takes
 * the lock heap, but not while pages go back.  Keeps errno.
 */
void heap_set_memory(const struct limits *limits);

/* The same by what the cgroup leaves now. */
void heap_look(void);

/*
 * Says whether a thread calls heap_expire() when it is due; assumed until this is called.  Without
 * such a thread the cache is as small as without a device, because an idle process would never
 * give it back.  Blocks freed above that bound go back to the kernel, and reusing them costs page
 * faults each time.  Once as many bytes went back as the cache may hold, heap_alloc() returns NULL
 * for blocks below `yields_below` that would need new pages.  The next allocator then serves them.
 */
void heap_set_attended(bool attended, size_t yields_below);

/*
 * Gives back all but about `left` bytes of the unpinned cached blocks, of any age.  True if any
 * went back.  Any thread; takes the lock heap, but not while pages go back.  Keeps errno.
 */
bool heap_trim(size_t left);

/* The rest is for src/heap only.  These require the lock heap unless they say otherwise. */

/* Notes that a block was taken at `now`. */
void reclaim_note_taken(uint64_t now);

/* Returns old and excess blocks for cache_purge() if the cache exceeds its bound, else NULL. */
struct block *reclaim_sweep(uint64_t now);

/* True if a block of `bytes` gets no new pages now (heap_set_attended()). */
bool reclaim_yields(size_t bytes);

/* heap_look(), for the first time or if the cache has grown since.  No lock may be held. */
void reclaim_look(void);

#endif
