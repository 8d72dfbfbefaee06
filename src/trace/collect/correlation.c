/*
 * correlation.c - a table of calls by the low bits of the number, since numbers are consecutive,
 * and a list of the work that waits for its call.
 */
#include "trace/collect/correlation.h"
#include "base/arena.h"

#include <errno.h>

static struct call {
	uint32_t number; /* 0: none */
	struct correlation_caller caller;
} * calls; /* NULL: not used */

static struct waiter {
	uint32_t number;
	uint32_t turn; /* in which it arrived */
	struct correlation_work work;
} * waiters;
static uint32_t waiting;
static uint32_t turn;   /* number of ended turns */
static uint32_t passed; /* the number of the call at which all waiters were passed last */

int correlation_start(void)
{
	calls = hp_arena_alloc(CORRELATION_NUMBERS * sizeof(*calls));
	waiters = hp_arena_alloc(CORRELATION_WAITING * sizeof(*waiters));
	if (waiters == NULL)
		calls = NULL;
	return calls != NULL ? 0 : -ENOMEM;
}

bool correlation_is_known(void)
{
	return calls != NULL;
}

/* Returns the call of a number; NULL: it has not arrived. */
static const struct correlation_caller *caller_of(uint32_t number)
{
	const struct call *call = &calls[number % CORRELATION_NUMBERS];

	return call->number == number ? &call->caller : NULL;
}

/* Passes on the work whose call is known, and the work that has waited for `most` turns. */
static void pass(uint32_t most, correlation_take_fn take, void *arg)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < waiting; i++) {
		const struct correlation_caller *caller = caller_of(waiters[i].number);

		if (caller != NULL || turn - waiters[i].turn >= most)
			take(arg, &waiters[i].work, caller);
		else
			waiters[kept++] = waiters[i];
	}
	waiting = kept;
}

void correlation_called(uint32_t number, const struct correlation_caller *caller,
			correlation_take_fn take, void *arg)
{
	if (calls == NULL || number == 0)
		return;
	/* Before later calls take the places of those that work waits for. */
	if (number - passed >= CORRELATION_NUMBERS / 2) {
		pass(CORRELATION_TURNS, take, arg);
		passed = number;
	}
	calls[number % CORRELATION_NUMBERS] = (struct call){ number, *caller };
}

void correlation_worked(uint32_t number, const struct correlation_work *work,
			correlation_take_fn take, void *arg)
{
	bool has_call = calls != NULL && number != 0;
	const struct correlation_caller *caller = has_call ? caller_of(number) : NULL;

	/* A call may make several copies, and a graph has many kernels. */
	if (!has_call || caller != NULL) {
		take(arg, work, caller);
		return;
	}
	if (waiting == CORRELATION_WAITING)
		pass(0, take, arg);
	waiters[waiting++] = (struct waiter){ number, turn, *work };
}

void correlation_turn(bool all, correlation_take_fn take, void *arg)
{
	turn++;
	pass(all ? 0 : CORRELATION_TURNS, take, arg);
}
