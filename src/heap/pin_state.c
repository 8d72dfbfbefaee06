/*
 * pin_state.c - what src/pin does to blocks under the lock heap.  Words change there, too, if the
 * block must be in use, or if the lists of freed blocks depend on its pin.
 */
#include "heap/pin_state.h"
#include "base/lock.h"
#include "heap/cache.h"
#include "heap/map.h"

/* Requires the lock heap. */
static bool may_pin(const struct block *block)
{
	return block->state == BLOCK_LIVE && !cache_is_pinned_over();
}

size_t heap_try_pin(struct block *block)
{
	size_t room = 0;

	hp_lock(HP_LOCK_heap);
	if (may_pin(block) && word_try_pin(&block->word))
		room = block->room;
	hp_unlock(HP_LOCK_heap);
	return room;
}

enum word_look heap_take_queued(struct block *block, size_t *ret_room)
{
	const uint32_t handed = WORD_MARKED | WORD_TAKEN;
	enum word_look look;

	hp_lock(HP_LOCK_heap);
	uint32_t word = atomic_load(&block->word);
	if (may_pin(block) || (word & handed) == handed)
		look = word_look(&block->word);
	else
		look = word & WORD_MARKED ? WORD_LEFT : WORD_DROPPED;
	*ret_room = look == WORD_ALONE && may_pin(block) ? block->room : 0;
	hp_unlock(HP_LOCK_heap);
	return look;
}

bool heap_alter(struct block *block, uint32_t bit, bool *ret_taken)
{
	hp_lock(HP_LOCK_heap);
	bool live = block->state == BLOCK_LIVE;
	if (live)
		*ret_taken = word_alter(&block->word, bit);
	hp_unlock(HP_LOCK_heap);
	return live;
}

bool heap_release(struct block *block, bool pinned, uint32_t *ret_saw)
{
	hp_lock(HP_LOCK_heap);
	bool done = word_release(&block->word, pinned, ret_saw);
	if (done)
		cache_note_pin(block);
	hp_unlock(HP_LOCK_heap);
	return done;
}

void heap_keep(struct block *block)
{
	hp_lock(HP_LOCK_heap);
	word_keep(&block->word);
	cache_note_pin(block);
	hp_unlock(HP_LOCK_heap);
}

void heap_return(struct block *block)
{
	hp_lock(HP_LOCK_heap);
	block->next = NULL;
	cache_purge(block);
}

void heap_unhold(struct block *block)
{
	hp_lock(HP_LOCK_heap);
	word_restore(&block->word, WORD_REGISTERED);
	cache_note_pin(block);
	hp_unlock(HP_LOCK_heap);
}
