/*
 * correlation.c - a table by the low bits of the number, since numbers are consecutive.
 */
#include "trace/collect/correlation.h"
#include "base/arena.h"

#include <errno.h>

static struct slot {
	uint32_t number;  /* 0: free */
	uint32_t waiting; /* the first waiter plus 1; 0: none */
	bool has_call;
	struct correlation_caller caller;
} * slots; /* NULL: not used */

static struct waiter {
	uint32_t next;   /* plus 1 */
	uint32_t number; /* 0: free */
	uint32_t turn;   /* in which it arrived */
	struct correlation_work work;
} * waiters;
static uint32_t unused;       /* the first free waiter plus 1, among those used before */
static uint32_t waiters_used; /* so far */
static uint32_t waiting;      /* now */
static uint32_t turn;         /* number of ended turns */

int correlation_start(void)
{
	slots = hp_arena_alloc(CORRELATION_NUMBERS * sizeof(*slots));
	waiters = hp_arena_alloc(CORRELATION_WAITING * sizeof(*waiters));
	if (waiters == NULL)
		slots = NULL;
	return slots != NULL ? 0 : -ENOMEM;
}

bool correlation_is_known(void)
{
	return slots != NULL;
}

/* Passes on all work that waits in a slot. */
static void give(struct slot *slot, correlation_take_fn take, void *arg)
{
	while (slot->waiting != 0) {
		uint32_t index = slot->waiting;
		struct waiter *waiter = &waiters[index - 1];

		take(arg, &waiter->work, slot->has_call ? &slot->caller : NULL);
		slot->waiting = waiter->next;
		waiter->number = 0;
		waiter->next = unused;
		unused = index;
		waiting--;
	}
}

/* Returns the slot of a number.  Work of an older number in the slot goes to `take`. */
static struct slot *slot_of(uint32_t number, correlation_take_fn take, void *arg)
{
	struct slot *slot = &slots[number % CORRELATION_NUMBERS];

	if (slot->number == number)
		return slot;
	give(slot, take, arg);
	*slot = (struct slot){ .number = number };
	return slot;
}

void correlation_called(uint32_t number, const struct correlation_caller *caller,
			correlation_take_fn take, void *arg)
{
	if (slots == NULL || number == 0)
		return;
	struct slot *slot = slot_of(number, take, arg);

	slot->caller = *caller;
	slot->has_call = true;
	give(slot, take, arg);
}

/* False: there is no room. */
static bool wait_for_call(struct slot *slot, const struct correlation_work *work)
{
	uint32_t index = unused;

	if (index == 0 && waiters_used == CORRELATION_WAITING)
		return false;
	if (index != 0)
		unused = waiters[index - 1].next;
	else
		index = ++waiters_used;
	waiters[index - 1] = (struct waiter){ slot->waiting, slot->number, turn, *work };
	slot->waiting = index;
	waiting++;
	return true;
}

void correlation_worked(uint32_t number, const struct correlation_work *work,
			correlation_take_fn take, void *arg)
{
	struct slot *slot = slots != NULL && number != 0 ? slot_of(number, take, arg) : NULL;

	/* A call may make several copies, and a graph has many kernels. */
	if (slot == NULL || slot->has_call || !wait_for_call(slot, work))
		take(arg, work, slot != NULL && slot->has_call ? &slot->caller : NULL);
}

void correlation_turn(bool all, correlation_take_fn take, void *arg)
{
	turn++;
	for (uint32_t i = 0; waiting > 0 && i < waiters_used; i++)
		if (waiters[i].number != 0 && (all || turn - waiters[i].turn > 2))
			give(&slots[waiters[i].number % CORRELATION_NUMBERS], take, arg);
}
