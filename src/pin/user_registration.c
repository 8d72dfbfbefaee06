/*
 * user_registration.c - the program's registrations of memory of the heap.
 *
 * hotpin unpins the blocks there and does not touch them until the program has unregistered them.
 * A block that is freed before that is held: its pages must not go back under a registration, and
 * no allocation may get memory that copies would treat as pinned.  A registration ends with the
 * context that was current when it was made.
 */
#include "pin/user_registration.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/protections.h"
#include "heap/cache.h"
#include "heap/map.h"
#include "pin/pin.h"
#include "pin/unpin.h"
#include "pin/use.h"
#include "real/real.h"

/* A registration by the program that touches the heap.  Under the lock pin. */
struct user_registration {
	uintptr_t address;
	size_t bytes;
	uintptr_t owner; /* the context; 0: not known */
	bool ending;     /* that context is ending; another one may be at its address soon */
	struct user_registration *next; /* of the same bucket */
};

#define BUCKET_BITS 10

/* By address.  Under the lock pin. */
static struct user_registration *buckets[1 << BUCKET_BITS];

/* Unpins the block and leaves it to the program. */
static void claim(struct block *block, word_until *until)
{
	uint32_t bit = hp_keeps(registered_untouched) ? WORD_REGISTERED : 0;
	bool taken;

	hp_lock(HP_LOCK_pin);
	bool live = heap_alter(block, bit, &taken);
	if (live)
		block->user_registrations++;
	hp_unlock(HP_LOCK_pin);
	if (!live)
		return;
	hp_debug("the program registers memory of the block at %p", (void *)block->base);
	/* Otherwise the block is not pinned, or the thread that has its word unpins it. */
	if (taken)
		unpin_block(block, true, until);
	else
		pin_wait(block);
}

/* Removes one registration from each block of the range.  Requires the lock pin. */
static void release(const void *address, size_t bytes)
{
	for (struct block *block = NULL; (block = range_next(block, address, bytes)) != NULL;) {
		if (block->user_registrations == 0 || --block->user_registrations != 0)
			continue;
		hp_debug("the block at %p has no registration of the program left",
			 (void *)block->base);
		heap_unhold(block);
	}
}

/* Removes the registration at *link, which has ended.  Requires the lock pin. */
static void remove_ended(struct user_registration **link)
{
	struct user_registration *entry = *link;

	*link = entry->next;
	release((const void *)entry->address, entry->bytes);
	hp_arena_free(entry, sizeof(*entry));
}

/* Removes the registration that started at `address`, if there was one.  Requires the lock pin. */
static void forget(uintptr_t address)
{
	struct user_registration **link = &buckets[hp_hash(address, BUCKET_BITS)];

	while (*link != NULL && (*link)->address != address)
		link = &(*link)->next;
	if (*link != NULL)
		remove_ended(link);
}

/*
 * Notes a registration whose blocks count it already.  Requires the lock pin.  Without an entry the
 * blocks stay registered for good, which does no harm.
 */
static void note(uintptr_t address, size_t bytes, uintptr_t owner)
{
	/* An entry that is still here has ended with its context. */
	forget(address);

	struct user_registration **first = &buckets[hp_hash(address, BUCKET_BITS)];
	struct user_registration *entry = hp_arena_alloc(sizeof(*entry));
	if (entry == NULL)
		return;
	*entry = (struct user_registration){
		.address = address, .bytes = bytes, .owner = owner, .next = *first
	};
	*first = entry;
}

/* True if the range touches the heap. */
static bool concerns_us(const void *address, size_t bytes)
{
	return range_next(NULL, address, bytes) != NULL;
}

void pin_before_user_registration(const void *address, size_t bytes)
{
	word_until until = 0;

	for (struct block *block = NULL; (block = range_next(block, address, bytes)) != NULL;)
		claim(block, &until);
}

void pin_after_user_registration(const void *address, size_t bytes, bool succeeded)
{
	CUcontext owner = NULL;

	if (!concerns_us(address, bytes))
		return;
	if (succeeded)
		REAL(cuCtxGetCurrent)(&owner);
	hp_lock(HP_LOCK_pin);
	if (succeeded)
		note((uintptr_t)address, bytes, (uintptr_t)owner);
	else
		release(address, bytes);
	hp_unlock(HP_LOCK_pin);
}

void pin_user_registration_ended(const void *address)
{
	hp_lock(HP_LOCK_pin);
	forget((uintptr_t)address);
	hp_unlock(HP_LOCK_pin);
}

void user_registrations_ending(uintptr_t owner)
{
	hp_lock(HP_LOCK_pin);
	for (size_t i = 0; i < HP_LEN(buckets); i++)
		for (struct user_registration *entry = buckets[i]; entry != NULL;
		     entry = entry->next)
			entry->ending = entry->ending || entry->owner == owner;
	hp_unlock(HP_LOCK_pin);
}

void user_registrations_ended(uintptr_t owner, bool gone)
{
	hp_lock(HP_LOCK_pin);
	for (size_t i = 0; i < HP_LEN(buckets); i++) {
		struct user_registration **link = &buckets[i];

		while (*link != NULL) {
			bool ends = (*link)->owner == owner && (*link)->ending;

			(*link)->ending = (*link)->ending && !ends;
			if (ends && gone)
				remove_ended(link);
			else
				link = &(*link)->next;
		}
	}
	hp_unlock(HP_LOCK_pin);
}
