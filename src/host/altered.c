/*
 * altered.c - what the program does to the pages of a block, past malloc().
 *
 * Such pages cannot be described any more: they may be read-only, a file's, left out by fork().
 * For the rest of its life the block is copied as pageable memory is.  Freed, it gives its
 * addresses back to be mapped anew (pages.c), as libc would have unmapped them.
 */
#include "base/counters.h"
#include "base/lock.h"
#include "host/inside.h"
#include "host/pin.h"
#include "host/register.h"
#include "host/span.h"

#include <sched.h>

/* Takes our pin off the block for good.  Waits for running kernels, as the driver does. */
static void alter(struct block *block)
{
	hp_lock(HP_LOCK_pin);
	while (block->pin == BLOCK_PINNING) {
		hp_unlock(HP_LOCK_pin);
		sched_yield();
		hp_lock(HP_LOCK_pin);
	}
	bool ours = heap_set_altered(block) && block->pin == BLOCK_PINNED;
	if (ours) {
		uintptr_t owner = pin_ending(block);

		hp_unlock(HP_LOCK_pin);
		int error = register_end(block, owner);
		hp_count(unpins);
		hp_lock(HP_LOCK_pin);
		pin_ended(block, error, BLOCK_REFUSED);
	}
	hp_unlock(HP_LOCK_pin);
}

void pin_altered(const void *address, size_t bytes)
{
	uintptr_t at = (uintptr_t)address;
	uintptr_t end = bytes < UINTPTR_MAX - at ? at + bytes : UINTPTR_MAX;

	for (struct block *block; (block = span_walk(&at, end)) != NULL;)
		if (!atomic_load_explicit(&block->altered, memory_order_acquire))
			alter(block);
}
