/*
 * queue.c - a few blocks.  A block whose word is marked stays in the queue until it no longer is:
 * its last user leaves the word to the housekeeper.
 */
#include "pin/queue.h"
#include "base/lock.h"
#include "heap/pin_state.h"
#include "pin/pin.h"
#include "pin/pinning.h"
#include "pin/registration.h"

#include <string.h>

#define QUEUED_MOST 8

/* Under the lock pin. */
static struct {
	struct block *block;
	uintptr_t context; /* 0: it has ended */
} queued[QUEUED_MOST];
static unsigned count;

static _Atomic bool due; /* any thread */
static void (*_Atomic wake)(void);

void pin_set_queue(void (*by)(void))
{
	atomic_store(&wake, by);
}

bool pin_has_queued(void)
{
	return atomic_load(&due);
}

void queue_wake(void)
{
	void (*by)(void) = atomic_load(&wake);

	if (!atomic_exchange(&due, true) && by != NULL)
		by();
}

bool queue_add(struct block *block, uintptr_t context)
{
	bool there = false;

	if (atomic_load_explicit(&wake, memory_order_relaxed) == NULL)
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
		queue_wake();
	return true;
}

/*
 * Takes the word of a queued block, and its room out of the budget.  *ret_room is 0 if the word must
 * be given back.  The context cannot end before that.  NULL: no block can be pinned now.
 */
static struct block *next(uintptr_t *ret_context, size_t *ret_room)
{
	struct block *found = NULL;

	hp_lock(HP_LOCK_pin);
	for (unsigned i = 0; i < count && found == NULL;) {
		struct block *block = queued[i].block;
		uintptr_t context = queued[i].context;
		bool may = context != 0 && pin_is_worth_it(block) && pin_allowed();
		bool marked = (atomic_load(&block->word) & WORD_MARKED) != 0;
		enum word_look look =
			may || marked ? heap_take_queued(block, ret_room) : WORD_DROPPED;

		if (look == WORD_LEFT) {
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
	uintptr_t context;
	size_t bytes = 0, room;

	atomic_store(&due, false);
	for (struct block *block; (block = next(&context, &room)) != NULL;) {
		if (room != 0 && !registration_enter(context)) {
			pin_room_ended(room, true);
			room = 0;
		}
		if (pin_alone(block, room, context, false) == PIN_PINNED)
			bytes += room;
		registration_leave();
		if (bytes < bytes_most)
			continue;
		atomic_store(&due, true);
		break;
	}
	return bytes;
}

void queue_forget(uintptr_t context)
{
	hp_lock(HP_LOCK_pin);
	for (unsigned i = 0; i < count; i++)
		if (queued[i].context == context)
			queued[i].context = 0;
	hp_unlock(HP_LOCK_pin);
}

void queue_after_fork_child(void)
{
	count = 0;
	atomic_store(&due, false);
	atomic_store(&wake, NULL);
}
