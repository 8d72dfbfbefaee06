/*
 * ledger.c - lanes in a fixed table; their words change by compare and exchange.
 *
 * The lock defer makes one step of "the first lane is no longer idle" and "the gate is closed",
 * and of their opposites.  A copy that finds its lane open need not take it, but counts: whoever
 * marks the lane says so before the event is recorded, so the copy is covered, or opens it again.
 */
#include "defer/ledger.h"
#include "base/lock.h"
#include "base/protections.h"

#include <stddef.h>

static struct ledger_lane lanes[LEDGER_LANES];
static _Atomic unsigned busy; /* lanes that are not idle; changed under the lock defer */
static void (*tell_gate)(bool any);

static ledger_word next_of(ledger_word word, enum ledger_state state)
{
	return ((word >> 2) + 1) << 2 | (ledger_word)state;
}

void ledger_start(void (*tell)(bool any))
{
	tell_gate = tell;
}

bool ledger_any(void)
{
	return atomic_load_explicit(&busy, memory_order_relaxed) != 0;
}

struct ledger_lane *ledger_find(CUcontext context, uint32_t thread)
{
	for (size_t i = 0; i < LEDGER_LANES; i++)
		if (atomic_load(&lanes[i].context) == context &&
		    atomic_load(&lanes[i].thread) == thread)
			return &lanes[i];
	return NULL;
}

/* Under the lock.  A free lane, else an idle one of another thread. */
static struct ledger_lane *lane_for(CUcontext context, uint32_t thread)
{
	for (size_t i = 0; i < LEDGER_LANES; i++)
		if (atomic_load(&lanes[i].context) == NULL)
			return &lanes[i];
	for (size_t i = 0; thread != 0 && i < LEDGER_LANES; i++)
		if (atomic_load(&lanes[i].context) == context &&
		    atomic_load(&lanes[i].thread) != 0 &&
		    ledger_state_of(atomic_load(&lanes[i].word)) == LEDGER_IDLE)
			return &lanes[i];
	return NULL;
}

struct ledger_lane *ledger_make(CUcontext context, uint32_t thread, CUevent event,
				CUevent *ret_spare)
{
	*ret_spare = event;
	hp_lock(HP_LOCK_defer);
	struct ledger_lane *lane = ledger_find(context, thread);
	if (lane == NULL && (lane = lane_for(context, thread)) != NULL) {
		*ret_spare = atomic_load(&lane->context) != NULL ? event : NULL;
		if (*ret_spare == NULL)
			lane->event = event;
		atomic_store(&lane->word, next_of(atomic_load(&lane->word), LEDGER_IDLE));
		atomic_store(&lane->thread, thread);
		atomic_store(&lane->context, context);
	}
	hp_unlock(HP_LOCK_defer);
	return lane;
}

struct ledger_lane *ledger_each(struct ledger_lane *after)
{
	if (after == NULL)
		return &lanes[0];
	return after + 1 < lanes + LEDGER_LANES ? after + 1 : NULL;
}

/* What is not idle is not taken over, and once it is its word is another. */
static bool is_lost(const struct ledger_lane *lane, uint32_t thread)
{
	return atomic_load(&lane->thread) != thread;
}

bool ledger_add(struct ledger_lane *lane, uint32_t thread)
{
	ledger_word word = atomic_load(&lane->word);

	/* Open again all the same: somebody may be about to say that what was there is over. */
	if (ledger_state_of(word) == LEDGER_OPEN && !hp_keeps(copies_meanwhile))
		return true;
	while (ledger_state_of(word) == LEDGER_OPEN && !is_lost(lane, thread))
		if (atomic_compare_exchange_weak(&lane->word, &word, next_of(word, LEDGER_OPEN)))
			return true;
	hp_lock(HP_LOCK_defer);
	if (is_lost(lane, thread) && hp_keeps(taken_over_noted)) {
		hp_unlock(HP_LOCK_defer);
		return false;
	}
	do
		word = atomic_load(&lane->word);
	while (!atomic_compare_exchange_strong(&lane->word, &word, next_of(word, LEDGER_OPEN)));
	if (ledger_state_of(word) == LEDGER_IDLE && atomic_fetch_add(&busy, 1) == 0)
		tell_gate(true);
	hp_unlock(HP_LOCK_defer);
	return true;
}

bool ledger_look(const struct ledger_lane *lane, uint32_t thread, ledger_word *ret_word)
{
	/* In this order: the word of one that is lost may be of another thread's copies. */
	*ret_word = atomic_load(&lane->word);
	return !is_lost(lane, thread) || !hp_keeps(taken_over_seen);
}

bool ledger_mark(struct ledger_lane *lane, ledger_word *word)
{
	ledger_word marking = next_of(*word, LEDGER_MARKING);

	if (!atomic_compare_exchange_strong(&lane->word, word, marking))
		return false;
	*word = marking;
	return true;
}

void ledger_marked(struct ledger_lane *lane, ledger_word word, bool recorded)
{
	/* Fails where a copy has come meanwhile: then the lane is open, as it should be. */
	atomic_compare_exchange_strong(&lane->word, &word,
				       next_of(word, recorded ? LEDGER_MARKED : LEDGER_OPEN));
}

void ledger_over(struct ledger_lane *lane, ledger_word word)
{
	if (ledger_state_of(word) == LEDGER_IDLE)
		return;
	hp_lock(HP_LOCK_defer);
	if (atomic_compare_exchange_strong(&lane->word, &word, next_of(word, LEDGER_IDLE)) &&
	    atomic_fetch_sub(&busy, 1) == 1)
		tell_gate(false);
	hp_unlock(HP_LOCK_defer);
}

void ledger_context_gone(CUcontext context)
{
	for (size_t i = 0; i < LEDGER_LANES; i++) {
		if (atomic_load(&lanes[i].context) != context)
			continue;
		ledger_over(&lanes[i], atomic_load(&lanes[i].word));
		hp_lock(HP_LOCK_defer);
		atomic_store(&lanes[i].context, NULL);
		hp_unlock(HP_LOCK_defer);
	}
}

void ledger_after_fork_child(void)
{
	for (size_t i = 0; i < LEDGER_LANES; i++) {
		atomic_store(&lanes[i].context, NULL);
		atomic_store(&lanes[i].word, LEDGER_IDLE);
	}
	if (atomic_exchange(&busy, 0) != 0)
		tell_gate(false);
}

enum ledger_order ledger_order_of(CUcontext context, uint32_t thread,
				  const struct ledger_work *work)
{
	if (!work->known)
		return hp_keeps(order_unknown) ? LEDGER_JOIN : LEDGER_INHERENT;
	if (work->context != context && hp_keeps(order_contexts))
		return LEDGER_JOIN;
	/* The legacy stream and every other but the non-blocking ones wait for each other. */
	if (thread == 0)
		return work->non_blocking && hp_keeps(order_non_blocking) ? LEDGER_EVENT
									  : LEDGER_INHERENT;
	if (work->legacy || (work->own && (work->thread == thread || !hp_keeps(order_threads))))
		return LEDGER_INHERENT;
	return hp_keeps(order_own_streams) ? LEDGER_EVENT : LEDGER_INHERENT;
}
