/*
 * Gives freed blocks back to the kernel.
 */
#ifndef HP_HEAP_RECLAIM_H
#define HP_HEAP_RECLAIM_H

#include "heap/quota.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Closes the heap: the process counts its addresses, or locks all of them into memory.  Unmaps
 * free memory now, and freed blocks from now on, as libc would.  Later allocations go to the next
 * allocator, unless a freed block is still pinned.  Any thread, any time; keeps errno.
 */
void heap_close(void);

/*
 * Gives back the unpinned blocks that have been free for a second at `now_ns` (hp_now_ns()),
 * except for the newest 32 MiB, which may stay.  Returns when the next one expires; 0: call again
 * at once; UINT64_MAX: none will until a block is freed.  Any thread; takes the lock heap, but not
 * while pages go back.  Keeps errno.
 */
uint64_t heap_expire(uint64_t now_ns);

/*
 * True if the cache has more to expire than heap_expire() has returned, or a freed block is
 * pinned. A loop of malloc() and free() does not make it true each time.  Lock-free; called after
 * heap_free() to decide whether to wake the thread that calls heap_expire().
 */
bool heap_needs_expiry(void);

/*
 * Called when memory becomes scarce, or plentiful again.  Bounds the cache until the next call.
 * Unpinned blocks above the bound go back before the call returns; pinned ones are due at once
 * (pin_eviction_due()).  Any thread; takes the lock heap, but not while pages go back.  Keeps
 * errno.
 */
void heap_set_pressure(enum heap_pressure level);

/*
 * Gives back all but about `left` bytes of the unpinned cached blocks, of any age.  True if any
 * went back.  Any thread; takes the lock heap, but not while pages go back.  Keeps errno.
 */
bool heap_trim(size_t left);

#endif
