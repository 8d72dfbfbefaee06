/*
 * context_end.c - the blocks of a context that ends.  The driver ends its registrations, also the
 * program's; under a copy that would be error 719.
 *
 * The thread takes the words of all blocks that hotpin has pinned in the context, and waits until
 * the copies inside have left, of any context.  Only this thread waits while it holds words:
 * no thread inside a block, and no thread that has one alone, waits for another word.
 */
#include "pin/context_end.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/protections.h"
#include "heap/map.h"
#include "heap/pin_state.h"
#include "pin/pin.h"
#include "pin/pinning.h"
#include "pin/use.h"
#include "pin/user_registration.h"

/*
 * Takes the word of the block if it is pinned in the context.  The word is read before the owner.
 * Nothing is pinned meanwhile, except by a thread that has taken the word already.
 */
static bool close(struct block *block, uintptr_t owner)
{
	word_until never = UINT64_MAX;

	for (;;) {
		uint32_t word = atomic_load(&block->word);

		/* Another context that ends may hold its own blocks for long. */
		if (word & WORD_PINNED ? atomic_load(&block->pin_owner) != owner
				       : (word & WORD_TAKEN) == 0)
			return false;
		if (word & WORD_PINNED && word_take(&block->word, &never))
			return true;
		word_wait(&block->word, &never);
	}
}

/* True if this thread has closed the block. */
static bool is_closed(struct block *block, uintptr_t owner)
{
	const uint32_t both = WORD_TAKEN | WORD_PINNED;

	return (atomic_load(&block->word) & both) == both &&
	       atomic_load(&block->pin_owner) == owner;
}

static void drain(uintptr_t owner)
{
	word_until never = UINT64_MAX;
	uintptr_t at = 0;

	for (struct block *block; (block = range_walk(&at, UINTPTR_MAX)) != NULL;)
		if (is_closed(block, owner) && hp_keeps(context_end_waits))
			word_drain(&block->word, &never);
}

void pin_context_ending(uintptr_t owner)
{
	uintptr_t at = 0;
	unsigned count = 0;

	pin_hold();
	pin_queue_forget(owner);
	for (struct block *block; (block = range_walk(&at, UINTPTR_MAX)) != NULL;)
		count += close(block, owner);
	drain(owner);
	hp_lock(HP_LOCK_pin);
	user_registrations_ending(owner);
	hp_unlock(HP_LOCK_pin);
	hp_debug("context %p may end with %u pinned blocks", (void *)owner, count);
}

/* The registration has ended with its context. */
static void lose(struct block *block)
{
	block->copied_bytes = 0;
	atomic_store(&block->pin_owner, 0);
	pin_room_ended(block->room);
	heap_release(block, false, NULL);
}

void pin_context_ended(uintptr_t owner, bool gone)
{
	uintptr_t at = 0;

	for (struct block *block; (block = range_walk(&at, UINTPTR_MAX)) != NULL;) {
		if (!is_closed(block, owner))
			continue;
		if (gone)
			lose(block);
		else if (!heap_release(block, true, NULL))
			use_unpin(block);
	}
	hp_lock(HP_LOCK_pin);
	user_registrations_ended(owner, gone);
	hp_unlock(HP_LOCK_pin);
	pin_release();
	hp_debug("context %p %s", (void *)owner, gone ? "has ended" : "lives on");
}
