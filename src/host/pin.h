/*
 * What is pinned, by whom, and how much of it there may be.
 *
 * The only way to cuMemHostRegister and cuMemHostUnregister for blocks.  Staging memory is
 * registered by copy/own.c, out of the same budget.  To the program a promoted block stays
 * pageable; the shim answers its questions so.
 *
 * Copies are promote.c's, contexts that end ending.c's, what the program registers or changes
 * itself foreign.c's and altered.c's, what the housekeeper calls behind.c's and demote.c's, the
 * rest pin.c's.
 */
#ifndef HP_HOST_PIN_H
#define HP_HOST_PIN_H

#include "host/block.h"

#include <stddef.h>
#include <stdint.h>

/*
 * `budget`: most bytes ever pinned by us at once, cached blocks and staging memory included.  Once;
 * until then nothing is pinned.
 */
void pin_start(uint64_t budget);

/* The budget; 0 before pin_start(), and where nothing may be pinned.  Any thread. */
uint64_t pin_budget(void);

/*
 * Takes `bytes` of the budget for pinned memory that is no block: staging memory, at most half of
 * the budget in all.  False: the budget has no room; freed blocks that hold the room are then
 * evicted soon, so a later call may succeed.  Any thread, no lock above `pin` held, no driver call.
 */
bool pin_take_staging(size_t bytes);

/* Gives `bytes` of such memory back: the registration failed, or its context has ended. */
void pin_give_staging(size_t bytes);

/*
 * Nothing more is pinned from now on (the driver refuses everything, or the device reads the host's
 * page tables); what is, stays.  `why` is for the log.  Any thread.
 */
void pin_stop(const char *why);

/*
 * In the child of fork(): nothing is pinned here and nothing will be; the blocks, also those whose
 * pins or registrations are the parent's, are plain memory.  After hp_locks_after_fork_child().
 */
void pin_after_fork_child(void);

/*
 * One more capture lives, or one less.  While any does nothing is pinned, and unpinned only for the
 * sake of a call of the program's.  Any thread.
 */
void pin_hold(void);
void pin_release(void);

/*
 * Around a call of the driver's that would show whether memory is pinned: between them no block
 * begins to be, so what the caller has seen pageable after the first is pageable to the driver.
 * Any thread; one atomic operation each, and a section without cancellation.  Short calls only:
 * others' pins wait for their next copy.
 */
void pin_ask_begin(void);
void pin_ask_end(void);

/*
 * A block that is being pinned piece by piece, while the pieces that are pinned already are copied.
 * One thread's, from pin_before_copy() to pin_pieces_end().
 */
struct pin_pieces {
	struct block *block; /* NULL: none */
	uintptr_t context;   /* the current one */
	uint64_t gain, price, ns;
	size_t done; /* bytes from its base on that are registered */
	int refused; /* a CUresult */
};

/*
 * A copy of `bytes` between `block` and the device is about to run in this thread, whose current
 * context may be used.  Counts it, and pins the block if that has become worth it.  Returns true
 * if the block is pinned by us when the copy runs.  Calls the driver (never waits for the device),
 * holding no lock.
 *
 * `ret_pieces` is NULL, or all zero: then the copy can be cut, and instead of being pinned at once
 * the block may be handed over in it, not pinned yet.  Only between pin_use_begin() and
 * pin_use_end().
 */
bool pin_before_copy(struct block *block, bool to_device, size_t bytes,
		     struct pin_pieces *ret_pieces);

/* Could that be?  A few loads; then the copy should say whether it can be cut. */
bool pin_would_hand_over(const struct block *block);

/* Pins it as far as the piece that holds `address`.  False: the driver refuses that. */
bool pin_pieces_reach(struct pin_pieces *pieces, const void *address);

/*
 * Pins what is left of it.  True: the block is pinned.  Where the driver refuses, or has refused
 * before, none of it is; that waits for the copies that are on their way.
 */
bool pin_pieces_end(struct pin_pieces *pieces);

/* Shorter copies say more about the call than about the rate: they need not be told. */
#define PIN_LEARNS_FROM ((size_t)1 << 20)

/* A copy of `bytes` took `ns`; feeds the rates.  `pinned` as pin_before_copy() answered. */
void pin_after_copy(bool to_device, size_t bytes, bool pinned, uint64_t ns);

/*
 * Around each call of the driver that may read or write memory of a block, whose pin must not end
 * meanwhile.  The first may wait, for about as long as unpinning takes.  One atomic operation each,
 * and a section without cancellation.
 */
void pin_use_begin(void);
void pin_use_end(void);

/* Is any byte of [address, address + bytes) pinned by us?  Lock-free, a few loads. */
bool pin_covers_any(const void *address, size_t bytes);

/*
 * Does [address, address + bytes) touch what we pinned, and pass a border of one of our
 * registrations?  The driver refuses a call that names such a range.
 */
bool pin_crosses(const void *address, size_t bytes);

/*
 * The program is about to register [address, address + bytes) itself: what we pinned there is
 * unpinned first (waits for running kernels, as the program's own call may) and left to it.
 */
void pin_before_foreign(const void *address, size_t bytes);

/* Its call came back: `registered`, or it failed and the range is ours again. */
void pin_after_foreign(const void *address, size_t bytes, bool registered);

/* The program unregistered what it had registered at `address`. */
void pin_foreign_gone(const void *address);

/*
 * The program is about to change the mapping of [address, address + bytes): what we pinned there
 * is unpinned first (waits for running kernels), and never will be again until it has been freed
 * and mapped anew.  Any thread, errno is kept.
 */
void pin_altered(const void *address, size_t bytes);

/*
 * The program is about to destroy, reset or release the context `owner`, which may take its
 * registrations along: until pin_context_ended() copies take them for pageable, and the heap for
 * pinned.  No driver call.
 */
void pin_context_ending(uintptr_t owner);

/* The driver came back: they are `gone`, or it failed and they are what they were. */
void pin_context_ended(uintptr_t owner, bool gone);

/*
 * The device is known to be idle (everything enqueued so far is done): unpins up to `bytes_most`
 * bytes of freed blocks that are due, oldest first; where none is, blocks in use that a hotter one
 * shall replace in the budget.  Calls the driver, holding no lock.  Returns the bytes unpinned; 0:
 * nothing is left to do for now.
 */
size_t pin_when_idle(size_t bytes_most);

/* Is there anything for pin_when_idle() to do?  A few loads. */
bool pin_wants_idle(void);

/*
 * When freed blocks will be due, about, by hp_now_ns(); UINT64_MAX: not unless one is freed.  One
 * load.
 */
uint64_t pin_due_ns(void);

/* Does a thread call pin_in_background()?  Until this says so, copies pin or nobody does. */
void pin_set_background(bool is_there);

/*
 * Is a block worth pinning, but not worth holding up the copy that showed it?  One load.  Then a
 * thread of ours that may call the driver shall call pin_in_background(), at any time, idle or not.
 */
bool pin_wants_pinning(void);

/*
 * Pins such blocks until `bytes_most` bytes or more are done, or none is left.  Calls the driver,
 * which does not wait for the device, holding no lock.  Makes the context of the thread that made
 * the copy current meanwhile; none is current when it returns.  Returns the bytes pinned.
 */
size_t pin_in_background(size_t bytes_most);

/*
 * Memory is short, or a fork() to come, and the device known to be idle: unpins about `bytes` of
 * what we pinned, freed blocks first, then blocks in use, those first that were copied longest ago.
 * Calls the driver, holding no lock.  Returns the bytes unpinned.
 */
size_t pin_relieve(size_t bytes);

/* Memory is short, or plentiful again: while `pressed` nothing more is pinned.  Any thread. */
void pin_press(bool pressed);

/* What a copy of `bytes` of pageable memory takes longer here than one of pinned memory, about. */
uint64_t pin_gain_ns(bool to_device, size_t bytes);

/*
 * Told what a pin of a block of `site`, or its end, took.  Set once, by whoever wants to know;
 * called with no lock held.
 */
typedef void (*pin_told_fn)(uint32_t site, bool begins, uint64_t ns);
extern _Atomic(pin_told_fn) pin_told;

static inline void pin_tell(const struct block *block, bool begins, uint64_t ns)
{
	pin_told_fn tell = atomic_load_explicit(&pin_told, memory_order_acquire);

	if (tell != NULL)
		tell(atomic_load_explicit(&block->site, memory_order_relaxed), begins, ns);
}

/* Bytes of blocks pinned by us now, and the most there have ever been. */
void pin_stats(size_t *ret_now, size_t *ret_most);

/* Debug walk: what is pinned adds up and keeps to the budget.  0, or the line that failed. */
int pin_check(void);

#endif
