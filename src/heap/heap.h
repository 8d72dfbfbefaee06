/*
 * The big-block heap: it serves large allocations, because CUDA looks addresses up itself.
 *
 * The driver treats every copy from or to a registered range as pinned.  If a page is
 * unmapped under a registration and mapped again, copies use the old page without an error.  A
 * library like UCX flushes its cache of registrations when it sees munmap(); hotpin cannot, because
 * libc's own calls and the driver's look-ups pass it by.  So hotpin pins only memory that it
 * allocates and frees itself.  Works without CUDA and before it is used.  Calls neither malloc()
 * nor the driver.
 */
#ifndef HP_HEAP_HEAP_H
#define HP_HEAP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * True if `address`, in the heap's range, belongs to the heap.  False if a closed heap gave the
 * address away, or if the program has changed the mapping of the block.
 */
bool heap_holds(const void *address);

/*
 * Says whether this process uses CUDA.  If it does, more freed blocks stay cached, and blocks of 2
 * MiB or more may get 2 MiB pages (huge_pages.h).  Then the files that say what the heap may use
 * are read here; otherwise the first allocation opens them.
 */
void heap_set_device(bool is_there);

/*
 * Returns a block of at least `bytes` at a multiple of `alignment` (a power of two; 0: the natural
 * one), cleared if `zeroed`, for the allocation site `site` (site.h; 0: unknown).  NULL, with
 * errno untouched: the caller asks the next allocator.  That also serves alignments above a page,
 * or above 2 MiB for blocks of that size.  Any thread; takes the lock heap.
 */
void *heap_alloc(size_t bytes, size_t alignment, bool zeroed, uint32_t site);

/*
 * Frees the block that heap_alloc() returned as `address`.  Its pages and its pin may stay for the
 * next allocation of its size.  Never calls the driver, never waits for the device.  Returns 0, or
 * -EINVAL if no block in use starts at `address`.
 */
int heap_free(void *address);

/* Returns the bytes that may be used at `address`, or 0 if no block in use starts there. */
size_t heap_usable(const void *address);

/*
 * Changes the block to `bytes` in place.  False: it does not fit, or would waste most of its
 * room.
 */
bool heap_resize(void *address, size_t bytes);

/*
 * Changes the block to `bytes` by moving it elsewhere, for a realloc() that heap_resize() could not
 * serve.  A block that grows gets room to go on.  Returns the new address; the old one is free
 * then.  NULL: nothing has changed.
 */
void *heap_move(void *address, size_t bytes);

/*
 * Adds the counts of the shards to base/counters.h.  Called before the counters are read.  Any
 * thread.
 */
void heap_count(void);

/*
 * In the child of fork(), after its locks were reset: no block is registered, no thread is inside
 * any, and the blocks that threads of the parent were freeing are taken back.
 */
void heap_after_fork_child(void);

/* Returns the bytes of blocks in use, and their number.  Walks all blocks. */
size_t heap_live(size_t *ret_blocks);

#endif
