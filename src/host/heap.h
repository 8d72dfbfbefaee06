/*
 * Large allocations come from here, because only memory whose birth and death are ours may stay
 * pinned.
 *
 * Works without CUDA and before it.  Nothing here calls malloc() or the driver.
 */
#ifndef HP_HOST_HEAP_H
#define HP_HOST_HEAP_H

#include "host/block.h"

#include <stddef.h>

/* Stands together with what else every malloc() and free() reads. */
#define HEAP_OFTEN_READ __attribute__((section("hp_often_read")))

/*
 * The one range of addresses that all blocks lie in; empty until the first block is asked for.
 * Hidden, so that they are read where they are and not through a table.
 */
extern _Atomic uintptr_t heap_base __attribute__((visibility("hidden")));
extern _Atomic uintptr_t heap_bytes __attribute__((visibility("hidden")));

/* The most bytes that a block had which has been freed. */
extern _Atomic size_t heap_freed_most __attribute__((visibility("hidden")));

/* Does `address` lie in the heap's range?  One compare: the test that every free() pays for. */
static inline bool heap_owns(const void *address)
{
	return (uintptr_t)address - atomic_load_explicit(&heap_base, memory_order_relaxed) <
	       atomic_load_explicit(&heap_bytes, memory_order_relaxed);
}

/*
 * Is `address`, in the heap's range, memory of nobody else?  Not so where a closed heap gave
 * addresses away, and in a block whose mapping the program has changed.
 */
bool heap_holds(const void *address);

/* Has [address, address + bytes) a byte in the heap's range?  One compare, two loads. */
static inline bool heap_touches(const void *address, size_t bytes)
{
	uintptr_t base = atomic_load_explicit(&heap_base, memory_order_relaxed);
	size_t room = atomic_load_explicit(&heap_bytes, memory_order_relaxed);

	return (uintptr_t)address + bytes - base - 1 < room + bytes - 1;
}

/* Called once, by the constructor.  Without it heap_alloc() returns NULL. */
void heap_start(void);

/*
 * Does this process use CUDA?  Then blocks from 2 MiB on get 2 MiB pages where copies have shown
 * that they pay (huge.h), as long as those that were never copied have no more than a sixteenth of
 * the memory there is, and more freed ones are kept.
 */
void heap_set_device(bool is_there);

/*
 * Does somebody call heap_expire() when it is due?  Taken for granted until this is called.  Where
 * nobody does, no more is kept than without a device: an idle process would never give it back.
 */
void heap_set_attended(bool is);

/*
 * Where nobody does, what is freed above that bound goes back, and a program that takes it again
 * pays for its pages each time.  Once it has gone back as often as is kept, blocks of less than
 * `bytes` get no new pages from us until somebody attends: heap_alloc() leaves them to the next
 * allocator, which keeps them or not, as without us.  0, as it is at first: none are left so.
 */
void heap_yield_below(size_t bytes);

/*
 * A block of at least `bytes`, at a multiple of `alignment` (a power of two; 0: the natural one),
 * cleared if `zeroed`, asked for at `site` (site.h; 0: unknown).  NULL, errno untouched, where it
 * cannot be had: the caller asks the next allocator.  Any thread; takes the lock heap.
 */
void *heap_alloc(size_t bytes, size_t alignment, bool zeroed, uint32_t site);

/*
 * Gives back a block; `address` is what heap_alloc() returned.  Pages and pin may be kept for the
 * next allocation of its size.  Never calls the driver, never waits for the device.  Returns 0, or
 * -EINVAL where `address` is not the start of a block in use (the caller does what libc would).
 */
int heap_free(void *address);

/* Bytes that may be used at `address`, or 0 where it is not the start of a block in use. */
size_t heap_usable(const void *address);

/* Makes the block `bytes` long where it stands.  False: it does not fit (or would waste half). */
bool heap_resize(void *address, size_t bytes);

/*
 * Makes it `bytes` long by moving its pages elsewhere, uncopied, for a realloc() that
 * heap_resize() could not serve.  Returns the new address; the old one is free then.  NULL:
 * nothing has changed, the caller allocates and copies.
 */
void *heap_move(void *address, size_t bytes);

/*
 * The process counts its addresses, or locks all of them into memory: what is free is unmapped,
 * and from now on what becomes free, as libc would.  Allocations are for the next allocator, but
 * where a freed block is pinned still.  Any thread, any time; errno is kept.
 */
void heap_close(void);

/*
 * Gives back the freed blocks that nothing pins and that have waited for a second by `now_ns`
 * (hp_now_ns()), but for the newest 32 MiB, which may stay for as long as the process lives.
 * Returns when the next is due, by the same clock: 0 means that some are due already, call again;
 * UINT64_MAX that none will be unless more are freed.  What is freed after the call is due a
 * second later at the earliest.  Any thread; takes the lock heap, but not while pages go back.
 * errno is kept.
 */
uint64_t heap_expire(uint64_t now_ns);

/*
 * Is more kept than heap_expire() has said may stay, or a freed block pinned?  What is freed and
 * taken again in a loop does not make it so each time.  Lock-free; called after heap_free() by
 * whoever wakes the thread that calls heap_expire().
 */
bool heap_wants_care(void);

/* How scarce memory is, to our knowledge. */
enum heap_pressure {
	HEAP_PRESSURE_NONE,
	HEAP_PRESSURE_SOME,   /* keep an eighth of what may be kept, and nothing for long */
	HEAP_PRESSURE_SEVERE, /* keep nothing */
};

/*
 * Memory has become scarce, or plentiful again: bounds what is kept from now on until the next call
 * says otherwise.  Freed blocks above the bound go back before it returns; those that are pinned
 * are due to be unpinned at once (pin_wants_idle()), and go back then.  Any thread; takes the lock
 * heap, but not while pages go back.  errno is kept.
 */
void heap_press(enum heap_pressure level);

/*
 * Gives back the freed blocks that nothing pins, but for about `left` bytes, whatever their age.
 * True: there were some.  Any thread; takes the lock heap, but not while pages go back.  errno is
 * kept.
 */
bool heap_trim(size_t left);

/* Adds to base/counters.h what is counted apart: called before those are read.  Any thread. */
void heap_count(void);

/*
 * In the child of a fork, after its locks were made anew: takes back what threads that are not
 * there were just freeing.
 */
void heap_after_fork_child(void);

/* Bytes in blocks in use, and bytes of freed blocks kept; takes as long as there are blocks. */
void heap_stats(size_t *ret_live, size_t *ret_kept);

/* Debug walk: every structure agrees with every other.  Returns 0 or the line that failed. */
int heap_check(void);

#endif
