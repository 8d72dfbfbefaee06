/*
 * pinning.c - decides which copy pins its block, and registers the block: before the copy, or from
 * the queue.
 *
 * A block whose word is marked stays in the queue until it no longer is: its last user leaves the
 * word to the housekeeper.  The queue does not keep a block alive.
 */
#include "pin/pinning.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/protections.h"
#include "heap/huge_pages.h"
#include "heap/pages.h"
#include "heap/cache.h"
#include "pin/cost.h"
#include "pin/pin.h"

#include <string.h>

#define QUEUED_MOST 8

/* Under the lock pin. */
static struct {
	struct block *block;
	uintptr_t context; /* 0: it has ended */
} queued[QUEUED_MOST];
static unsigned count;

/* True if copies of the block have lost as much time as pinning it costs. */
static bool is_worth_it(const struct block *block)
{
	return atomic_load_explicit(&block->copied_bytes, memory_order_relaxed) >=
	       cost_pays_from(block->room, block->huge);
}

/* True if enough of the block is resident: a pin makes untouched pages resident. */
static bool is_resident(const struct block *block)
{
	return block->huge || block->room < RESIDENT_WORTH_ASKING || !hp_keeps(sparse_unpinned) ||
	       pages_resident_percent(block->start, block->size) >= RESIDENT_LEAST;
}

/* False: the driver refuses. */
static bool registers(struct block *block, size_t room)
{
	uint64_t begun = hp_now_ns();
	CUresult refused = registration_begin(block->base, room);

	if (refused != CUDA_SUCCESS) {
		pin_refused();
		hp_count(pins_refused);
		hp_debug("%zu bytes at %p not pinned: CUDA error %d", room, (void *)block->base,
			 (int)refused);
		/* The driver is not asked again about these pages. */
		if (refused != CUDA_ERROR_OUT_OF_MEMORY)
			word_alter(&block->word, WORD_ALTERED);
		return false;
	}
	hp_count(pins);
	pin_tell(block, true, hp_now_ns() - begun);
	return true;
}

/*
 * Pins a block whose word this thread has alone, and whose `room` is reserved, and gives the word
 * back; with room 0 it only does the latter.  `inside`: as for use_release().  PIN_TAKEN: the block
 * was unpinned again, and the thread is not inside.
 */
static enum pin_use pin_alone(struct block *block, size_t room, uintptr_t context, bool inside)
{
	bool dense = room != 0 && is_resident(block);
	bool pinned = dense && registers(block, room);

	if (room != 0)
		block->copied_bytes = 0;
	if (room != 0 && !pinned)
		pin_room_ended(room);
	if (pinned) {
		atomic_store(&block->pin_owner, context);
		hp_debug("pinned %zu bytes at %p in context %p", room, (void *)block->base,
			 (void *)context);
	}
	if (use_release(block, pinned, inside))
		return pinned ? PIN_PINNED : PIN_PAGEABLE;
	/* The program has changed the pages meanwhile. */
	use_unpin(block);
	return PIN_TAKEN;
}

/* Takes the word of the block to pin it.  Returns the room, which is reserved, or 0. */
static size_t begin(struct block *block, const void *frame)
{
	if (!use_begin(frame))
		return 0;
	size_t room = heap_try_pin(block);
	if (room == 0) {
		use_end();
		return 0;
	}
	bool reserved = hp_locked(HP_LOCK_pin, pin_reserve(room));
	use_alone(block);
	if (reserved)
		return room;
	use_release(block, false, false);
	return 0;
}

/*
 * True if the housekeeper pins the block, with `context` current.  A copy that is short compared
 * with the pin does not wait for it.  False: there is no thread for that, or no room.  A full queue
 * drops the block; a later copy queues it again.
 */
static bool is_left_to_queue(struct block *block, uintptr_t context)
{
	bool there = false;

	if (!pin_has_thread() || block->room > pin_room_left())
		return false;
	hp_lock(HP_LOCK_pin);
	for (unsigned i = 0; i < count && !there; i++)
		there = queued[i].block == block;
	bool added = !there && count < QUEUED_MOST;
	if (added) {
		queued[count].block = block;
		queued[count++].context = context;
	}
	hp_unlock(HP_LOCK_pin);
	if (added)
		pin_set_queued(true);
	return true;
}

enum pin_use pin_before_copy(struct block *block, bool to_device, size_t bytes, const void *frame)
{
	uintptr_t context;

	huge_before_copy(block, to_device, bytes);
	bool first = atomic_load_explicit(&block->copied_ns, memory_order_relaxed) == 0;
	atomic_store_explicit(&block->copied_ns, hp_now_coarse_ns(), memory_order_relaxed);
	if (block_pin(block) != BLOCK_PAGEABLE)
		return pin_enter(block, frame);

	uint64_t counted = atomic_load_explicit(&block->copied_bytes, memory_order_relaxed);
	enum cost_verdict verdict =
		cost_decide(first, counted, bytes, cost_pays_from(block->room, block->huge));
	if (verdict != COST_STAY_PAGEABLE && pin_allowed() && registration_possible(&context) &&
	    !(verdict == COST_PIN_IN_BACKGROUND && is_left_to_queue(block, context))) {
		size_t room = begin(block, frame);
		enum pin_use use = room != 0 ? pin_alone(block, room, context, true) : PIN_TAKEN;

		if (use != PIN_TAKEN)
			return use;
	}
	atomic_fetch_add_explicit(&block->copied_bytes, bytes, memory_order_relaxed);
	return pin_enter(block, frame);
}

/*
 * Takes the word of a queued block, and its room out of the budget.  *ret_room is 0 if the word
 * must be given back.  The context cannot end before that.  NULL: no block can be pinned now.
 */
static struct block *next(bool may_pin, uintptr_t *ret_context, size_t *ret_room)
{
	struct block *found = NULL;

	hp_lock(HP_LOCK_pin);
	for (unsigned i = 0; i < count && found == NULL;) {
		struct block *block = queued[i].block;
		uintptr_t context = queued[i].context;
		bool may = may_pin && context != 0 && is_worth_it(block) && pin_allowed();
		bool marked = (atomic_load(&block->word) & WORD_MARKED) != 0;
		enum word_look look =
			may || marked ? heap_take_queued(block, ret_room) : WORD_DROPPED;

		if (look == WORD_LEFT) {
			if (!marked)
				hp_debug("the pin of the block at %p waits for copies",
					 (void *)block->base);
			i++;
			continue;
		}
		memmove(&queued[i], &queued[i + 1], (--count - i) * sizeof(queued[0]));
		if (look == WORD_DROPPED)
			continue;
		found = block;
		*ret_context = context;
		if (!may || *ret_room == 0 || !pin_reserve(*ret_room))
			*ret_room = 0;
	}
	hp_unlock(HP_LOCK_pin);
	return found;
}

size_t pin_queued(size_t bytes_most)
{
	struct block *block = NULL;
	uintptr_t context;
	size_t bytes = 0, room;

	pin_set_queued(false);
	do {
		block = next(bytes_most != 0, &context, &room);
		if (block == NULL)
			break;
		bool entered =
			room != 0 && REAL(cuCtxSetCurrent)((CUcontext)context) == CUDA_SUCCESS;
		if (room != 0 && !entered) {
			pin_room_ended(room);
			room = 0;
		}
		if (pin_alone(block, room, context, false) == PIN_PINNED)
			bytes += room;
		if (entered)
			REAL(cuCtxSetCurrent)(NULL);
	} while (bytes < bytes_most);
	if (hp_locked(HP_LOCK_pin, block != NULL && count != 0))
		pin_set_queued(true);
	return bytes;
}

void pin_queue_forget(uintptr_t context)
{
	hp_lock(HP_LOCK_pin);
	for (unsigned i = 0; i < count; i++)
		if (context == 0 || queued[i].context == context)
			queued[i].context = 0;
	hp_unlock(HP_LOCK_pin);
}
