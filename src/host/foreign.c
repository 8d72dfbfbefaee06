/*
 * foreign.c - the program's own registrations of memory that comes from our heap.
 *
 * What the program registers is its own: we unpin what we had pinned there, and do not touch it
 * until it has unregistered it.  Freed before that, the block is held back: its pages must not go
 * under a living registration, and nobody else may get memory that copies treat as pinned.
 */
#include "host/pin.h"
#include "base/lock.h"
#include "base/protections.h"
#include "base/table.h"
#include "host/inside.h"
#include "host/range.h"
#include "host/span.h"

/* One registration of the program's that touches the heap.  Under the lock pin. */
struct foreign {
	uintptr_t address;
	size_t bytes;
	UT_hash_handle hh;
};

static struct foreign *registered;

/* Waits until nobody of us is at work on the block, and takes our pin off it. */
static void claim(struct block *block)
{
	hp_lock(HP_LOCK_pin);
	pin_settle(block);
	if (block->state == BLOCK_LIVE) {
		block->foreign++;
		if (block->pin == BLOCK_PINNED)
			pin_take_off(block, hp_keeps(registered_untouched) ? BLOCK_FOREIGN
									   : BLOCK_PAGEABLE);
		else
			heap_set_pin(block, hp_keeps(registered_untouched) ? BLOCK_FOREIGN
									   : BLOCK_PAGEABLE);
	}
	hp_unlock(HP_LOCK_pin);
}

/* One registration less in each block of the range.  The lock pin is held. */
static void release(const void *address, size_t bytes)
{
	uintptr_t at = (uintptr_t)address, end = range_end(address, bytes);

	for (struct block *block; (block = span_walk(&at, end)) != NULL;) {
		if (block->foreign == 0 || --block->foreign != 0)
			continue;
		heap_set_pin(block, BLOCK_PAGEABLE);
		heap_unhold(block);
	}
}

/* Forgets the registration that started at `address`, if there was one.  The lock pin is held. */
static void forget(uintptr_t address)
{
	struct foreign *entry;

	HASH_FIND(hh, registered, &address, sizeof(address), entry);
	if (entry == NULL)
		return;
	HASH_DEL(registered, entry);
	release((const void *)entry->address, entry->bytes);
	hp_arena_free(entry, sizeof(*entry));
}

bool foreign_any(void)
{
	return registered != NULL;
}

/* Does the range touch the heap? */
static bool concerns_us(const void *address, size_t bytes)
{
	uintptr_t at = (uintptr_t)address;

	return span_walk(&at, range_end(address, bytes)) != NULL;
}

void pin_before_foreign(const void *address, size_t bytes)
{
	uintptr_t at = (uintptr_t)address, end = range_end(address, bytes);

	for (struct block *block; (block = span_walk(&at, end)) != NULL;)
		claim(block);
}

void pin_after_foreign(const void *address, size_t bytes, bool succeeded)
{
	if (!concerns_us(address, bytes))
		return;
	hp_lock(HP_LOCK_pin);
	if (!succeeded) {
		release(address, bytes);
	} else {
		/* One that is still known here died with its context. */
		forget((uintptr_t)address);

		/* Without an entry it stays the program's for ever, which harms nobody. */
		struct foreign *entry = hp_arena_alloc(sizeof(*entry));
		if (entry != NULL) {
			entry->address = (uintptr_t)address;
			entry->bytes = bytes;
			HASH_ADD(hh, registered, address, sizeof(entry->address), entry);
			if (entry->hh.tbl == NULL)
				hp_arena_free(entry, sizeof(*entry));
		}
	}
	hp_unlock(HP_LOCK_pin);
}

void pin_foreign_gone(const void *address)
{
	hp_lock(HP_LOCK_pin);
	forget((uintptr_t)address);
	hp_unlock(HP_LOCK_pin);
}
