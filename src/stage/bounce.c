/*
 * bounce.c - a table of mapped buffers.  A copy that finds the table full maps its own buffer.
 *
 * A buffer belongs to the thread that has set its slot's `taken`.  Low slots are tried first, so
 * that few threads share few buffers, which stay in the CPU caches.
 */
#include "stage/bounce.h"
#include "base/counters.h"
#include "base/kernel.h"
#include "base/parse.h"
#include "base/protections.h"

#include <errno.h>
#include <stdatomic.h>

/* Sizes are powers of two, so that a buffer serves the copies of a loop whose size varies. */
#define LEAST ((size_t)64 << 10)

/* The most buffers that stay mapped, one for each thread inside the driver. */
#define SLOTS 64

static struct slot {
	_Alignas(64) _Atomic bool taken;
	bool used;    /* since the last bounce_age(); only the thread that has taken the slot */
	char *memory; /* only the thread that has taken the slot; NULL: not mapped */
	size_t bytes; /* size of memory */
} slots[SLOTS];

static _Atomic size_t mapped; /* bytes of all buffers; any thread */

static char *map(size_t bytes)
{
	int saved = errno;
	char *memory = hp_map(NULL, bytes, PROT_READ | PROT_WRITE, 0);

	errno = saved;
	if ((void *)memory == MAP_FAILED) {
		hp_count(arena_refused);
		return NULL;
	}
	atomic_fetch_add(&mapped, bytes);
	return memory;
}

static void unmap(char *memory, size_t bytes)
{
	int saved = errno;

	hp_unmap(memory, bytes);
	errno = saved;
	atomic_fetch_sub(&mapped, bytes);
}

static bool take(struct slot *slot)
{
	return !atomic_load_explicit(&slot->taken, memory_order_relaxed) &&
	       !atomic_exchange_explicit(&slot->taken, true, memory_order_acquire);
}

static void put(struct slot *slot)
{
	atomic_store_explicit(&slot->taken, false, memory_order_release);
}

/* Unmaps the buffer of a slot that the calling thread has taken. */
static void empty(struct slot *slot)
{
	if (slot->memory == NULL)
		return;
	unmap(slot->memory, slot->bytes);
	slot->memory = NULL;
	slot->bytes = 0;
}

/* Takes a slot.  Returns SLOTS if all are taken. */
static unsigned find(void)
{
	for (unsigned i = 0; i < SLOTS; i++)
		if (take(&slots[i]) || !hp_keeps(bounce_of_one_copy))
			return i;
	return SLOTS;
}

bool bounce_take(size_t bytes, struct bounce *ret, bool *ret_kept)
{
	size_t room = LEAST;
	unsigned at = find();

	while (room < bytes)
		room *= 2;
	*ret = (struct bounce){ .slot = at };
	if (at == SLOTS) {
		ret->memory = map(room);
		ret->bytes = room;
		return ret->memory != NULL;
	}

	struct slot *slot = &slots[at];
	if (slot->bytes < bytes) {
		empty(slot);
		slot->memory = map(room);
		if (slot->memory == NULL) {
			put(slot);
			return false;
		}
		slot->bytes = room;
		if (ret_kept != NULL)
			*ret_kept = true;
	}
	slot->used = true;
	ret->memory = slot->memory;
	ret->bytes = slot->bytes;
	return true;
}

void bounce_put(struct bounce *bounce)
{
	if (bounce->memory == NULL)
		return;
	if (bounce->slot == SLOTS) {
		unmap(bounce->memory, bounce->bytes);
	} else {
		struct slot *slot = &slots[bounce->slot];

		if (bounce_mapped() > BOUNCE_KEPT_MOST)
			empty(slot);
		put(slot);
	}
	bounce->memory = NULL;
}

size_t bounce_mapped(void)
{
	return atomic_load_explicit(&mapped, memory_order_relaxed);
}

static void unmap_idle(bool used_too)
{
	for (struct slot *slot = slots; slot < slots + SLOTS; slot++) {
		if (!take(slot))
			continue;
		if (used_too || !slot->used)
			empty(slot);
		slot->used = false;
		put(slot);
	}
}

void bounce_age(void)
{
	unmap_idle(false);
}

void bounce_give_back(void)
{
	unmap_idle(true);
}
