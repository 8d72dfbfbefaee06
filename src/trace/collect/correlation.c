/*
 * correlation.c - a table by the low bits of the number, since numbers are consecutive.
 */
#include "trace/collect/correlation.h"
#include "base/arena.h"

#include <errno.h>

/* The largest error of CUPTI's clock. */
#define SLACK_NS 1000

static struct slot {
	uint32_t number; /* 0: free */
	bool has_call, has_copy;
	uint32_t turn; /* in which the copy arrived */
	struct correlation_caller caller;
	struct cupti_memcpy copy;
} * slots;             /* CORRELATION_MOST; NULL: not used */
static uint32_t turn;  /* number of ended turns */
static size_t waiting; /* copies */

int correlation_start(void)
{
	slots = hp_arena_alloc(CORRELATION_MOST * sizeof(*slots));
	return slots != NULL ? 0 : -ENOMEM;
}

bool correlation_is_within(const struct correlation_caller *caller, uint32_t thread,
			   uint64_t begin_ns, uint64_t end_ns)
{
	return caller->thread == thread && caller->at_ns + SLACK_NS >= begin_ns &&
	       (end_ns == UINT64_MAX || caller->at_ns <= end_ns + SLACK_NS);
}

static void give(struct slot *slot, correlation_take_fn take, void *arg)
{
	take(arg, &slot->copy, slot->has_call ? &slot->caller : NULL);
	slot->has_copy = false;
	waiting--;
}

/* Returns the slot of a number.  A copy in the slot with an older number goes to `take`. */
static struct slot *slot_of(uint32_t number, correlation_take_fn take, void *arg)
{
	struct slot *slot = &slots[number % CORRELATION_MOST];

	if (slot->number == number)
		return slot;
	if (slot->has_copy)
		give(slot, take, arg);
	*slot = (struct slot){ .number = number };
	return slot;
}

void correlation_called(const struct cupti_call *call, correlation_take_fn take, void *arg)
{
	if (slots == NULL || call->correlation == 0)
		return;
	struct slot *slot = slot_of(call->correlation, take, arg);

	slot->caller = (struct correlation_caller){ call->thread, call->start };
	slot->has_call = true;
	if (slot->has_copy)
		give(slot, take, arg);
}

void correlation_copied(const struct cupti_memcpy *copy, correlation_take_fn take, void *arg)
{
	if (slots == NULL || copy->kind != CUPTI_MEMCPY || copy->correlation == 0) {
		take(arg, copy, NULL);
		return;
	}
	struct slot *slot = slot_of(copy->correlation, take, arg);

	/* A call may make several copies. */
	if (slot->has_call) {
		take(arg, copy, &slot->caller);
		return;
	}
	if (slot->has_copy)
		give(slot, take, arg);
	slot->copy = *copy;
	slot->has_copy = true;
	slot->turn = turn;
	waiting++;
}

void correlation_turn(bool all, correlation_take_fn take, void *arg)
{
	turn++;
	for (size_t i = 0; i < CORRELATION_MOST && waiting > 0; i++)
		if (slots[i].has_copy && (all || turn - slots[i].turn > 2))
			give(&slots[i], take, arg);
}
