/*
 * unpin.c - unpins blocks whose users must leave first, evicts those without users, and keeps users
 * out while a context ends.
 *
 * hotpin cannot know the state of pages that the program has changed: they may be read-only, belong
 * to a file, or be left out by fork().  For the rest of its life such a block is copied as pageable
 * memory.  After free() its addresses are mapped again (heap/pages.c), as libc would have unmapped
 * them.
 *
 * The driver ends the registrations of a context with it, also the program's; under a copy that
 * would be error 719.  So the thread takes the words of all blocks that hotpin has pinned in the
 * context, and waits until the copies inside have left, of any context.  Only this thread waits
 * while it holds words: no thread inside a block, and no thread that has one alone, waits for
 * another word.
 */
#include "pin/unpin.h"
#include "base/log.h"
#include "base/protections.h"
#include "heap/cache.h"
#include "heap/map.h"
#include "pin/pin.h"
#include "pin/use.h"
#include "pin/user_registration.h"

size_t unpin_block(struct block *block, bool taken, word_until *until)
{
	const size_t room = block->room;
	bool listed = use_begin(__builtin_frame_address(0));

	if (!taken && !word_take(&block->word, until)) {
		if (listed)
			use_end();
		return 0;
	}
	if (listed)
		use_alone(block);
	if (hp_keeps(unpinned_between_copies) && !word_drain(&block->word, until))
		hp_debug("a thread stays inside the block at %p: its copy may fail",
			 (void *)block->base);
	return use_unpin(block) ? room : 0;
}

size_t pin_unpin(const void *address, size_t bytes)
{
	word_until until = 0;
	size_t done = 0;

	for (struct block *block = NULL; (block = range_next(block, address, bytes)) != NULL;)
		if (block_may_be_pinned(block))
			done += unpin_block(block, false, &until);
	return done;
}

void pin_altered(const void *address, size_t bytes)
{
	uint32_t bit = hp_keeps(altered_for_good) ? WORD_ALTERED : 0;
	word_until until = 0;

	for (struct block *block = NULL; (block = range_next(block, address, bytes)) != NULL;) {
		bool taken;

		if (block_is_altered(block) || !heap_alter(block, bit, &taken))
			continue;
		hp_debug("the program changes pages of the block at %p", (void *)block->base);
		unpin_block(block, taken, &until);
	}
}

size_t pin_unpin_all(void)
{
	pin_refused();
	return pin_is_held() ? 0 : pin_unpin(NULL, SIZE_MAX);
}

/* Unpins the block if it is pinned and no thread is inside.  Returns its room, or 0. */
static size_t evict(struct block *block)
{
	const size_t room = block->room;
	word_until never = UINT64_MAX;

	if (pin_is_held() || !(hp_keeps(no_unpin_during_copy) ? word_try_unpin(&block->word)
							      : word_take(&block->word, &never)))
		return 0;
	return use_unpin(block) ? room : 0;
}

size_t pin_evict_due(size_t bytes_most)
{
	size_t done = 0;

	while (done < bytes_most && !pin_is_held()) {
		struct block *block = heap_take_due();

		if (block == NULL)
			break;
		size_t room = evict(block);
		heap_return(block);
		if (room == 0)
			break;
		done += room;
	}
	return done;
}

size_t pin_evict(size_t bytes)
{
	heap_set_reclaim_target(bytes);
	size_t done = pin_evict_due(bytes);
	for (struct block *block = NULL;
	     done < bytes && (block = range_next(block, NULL, SIZE_MAX)) != NULL;)
		done += evict(block);
	return done;
}

/*
 * Takes the word of the block if it is pinned in the context.  The word is read before the owner.
 * Nothing is pinned meanwhile, except by a thread that has taken the word already.
 */
static bool close_block(struct block *block, uintptr_t owner)
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
	for (struct block *block = NULL; (block = range_next(block, NULL, SIZE_MAX)) != NULL;)
		if (is_closed(block, owner) && hp_keeps(context_end_waits))
			word_drain(&block->word, &never);
}

void pin_context_ending(uintptr_t owner)
{
	unsigned count = 0;

	pin_hold();
	for (struct block *block = NULL; (block = range_next(block, NULL, SIZE_MAX)) != NULL;)
		count += close_block(block, owner);
	drain(owner);
	user_registrations_ending(owner);
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
	for (struct block *block = NULL; (block = range_next(block, NULL, SIZE_MAX)) != NULL;) {
		if (!is_closed(block, owner))
			continue;
		if (gone)
			lose(block);
		else if (!heap_release(block, true, NULL))
			use_unpin(block);
	}
	user_registrations_ended(owner, gone);
	pin_release();
	hp_debug("context %p %s", (void *)owner, gone ? "has ended" : "lives on");
}
