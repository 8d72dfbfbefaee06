/*
 * descriptor.c - allocates descriptors a page at a time.
 *
 * Descriptors are never freed and never become anything else, so a late reader still reads a
 * block.
 */
#include "heap/descriptor.h"
#include "base/arena.h"
#include "base/lock.h"

#include <assert.h>

/* Under the lock heap. */
static struct block *unused;

struct block *descriptor_take(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (unused == NULL) {
		const size_t batch = 4096 / sizeof(struct block);
		struct block *fresh = hp_arena_alloc(batch * sizeof(*fresh));

		for (size_t i = 0; fresh != NULL && i < batch; i++) {
			fresh[i].next = unused;
			unused = &fresh[i];
		}
	}

	struct block *block = unused;
	if (block != NULL)
		unused = block->next;
	return block;
}

void descriptor_begin(struct block *block, uintptr_t base, size_t room)
{
	atomic_store_explicit(&block->base, base, memory_order_relaxed);
	atomic_store_explicit(&block->room, room, memory_order_relaxed);
	atomic_store_explicit(&block->huge, false, memory_order_relaxed);
	atomic_store_explicit(&block->probe, 0, memory_order_relaxed);
	atomic_store_explicit(&block->start, 0, memory_order_relaxed);
	atomic_store_explicit(&block->size, 0, memory_order_relaxed);
	atomic_store_explicit(&block->copied_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&block->copied_ns, 0, memory_order_relaxed);
	word_reset(&block->word, 0);
	atomic_store_explicit(&block->has_slot, false, memory_order_relaxed);
	atomic_store_explicit(&block->turns, 0, memory_order_relaxed);
	block->moved = false;
	block->lengthened = false;
	block->turns_sparse = 0;
	block->home = 0;
	block->user_registrations = 0;
	block->pin_owner = 0;
	block->freed_ns = 0;
	block->next = block->previous = NULL;
	atomic_store_explicit(&block->state, BLOCK_LEAVING, memory_order_release);
}

void descriptor_give(struct block *block)
{
	atomic_store_explicit(&block->state, BLOCK_UNUSED, memory_order_release);
	block->next = unused;
	unused = block;
}
