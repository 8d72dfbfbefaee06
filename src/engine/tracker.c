/*
 * tracker.c - a table of fixed size; its words change by compare-and-exchange.
 *
 * Under the lock defer, the first stream that is no longer idle also sets GATE_DEFERRED, and the
 * last one that becomes idle clears it.  A copy that finds its stream open changes the word without
 * the lock.  A thread changes the word before it records the event.  So the event covers the copy,
 * or the copy opens the stream again.
 */
#include "engine/tracker.h"
#include "base/lock.h"
#include "base/protections.h"
#include "engine/gate.h"

#include <stddef.h>

struct tracker_stream tracker_streams[TRACKER_STREAMS];
static _Atomic unsigned busy; /* tracker_streams that are not idle; changed under the lock defer */

static tracker_word next_of(tracker_word word, enum tracker_state state)
{
	return ((word >> 2) + 1) << 2 | (tracker_word)state;
}

bool tracker_any(void)
{
	return atomic_load_explicit(&busy, memory_order_relaxed) != 0;
}

struct tracker_stream *tracker_find(CUcontext context)
{
	for (size_t i = 0; i < TRACKER_STREAMS; i++)
		if (atomic_load(&tracker_streams[i].context) == context)
			return &tracker_streams[i];
	return NULL;
}

struct tracker_stream *tracker_make(CUcontext context, CUevent event, CUevent *ret_spare)
{
	*ret_spare = event;
	hp_lock(HP_LOCK_defer);
	struct tracker_stream *tracked = tracker_find(context);
	if (tracked == NULL && (tracked = tracker_find(NULL)) != NULL) {
		*ret_spare = NULL;
		tracked->event = event;
		atomic_store(&tracked->word, next_of(atomic_load(&tracked->word), TRACKER_IDLE));
		atomic_store(&tracked->context, context);
	}
	hp_unlock(HP_LOCK_defer);
	return tracked;
}

void tracker_add(struct tracker_stream *tracked)
{
	tracker_word word = atomic_load(&tracked->word);

	/*
	 * An open stream gets a new word, too: another thread may be about to report that the older
	 * copies are complete.
	 */
	if ((word & TRACKER_STATE) == TRACKER_OPEN && !hp_keeps(copies_meanwhile))
		return;
	while ((word & TRACKER_STATE) == TRACKER_OPEN)
		if (atomic_compare_exchange_weak(&tracked->word, &word,
						 next_of(word, TRACKER_OPEN)))
			return;
	hp_lock(HP_LOCK_defer);
	do
		word = atomic_load(&tracked->word);
	while (!atomic_compare_exchange_strong(&tracked->word, &word, next_of(word, TRACKER_OPEN)));
	if ((word & TRACKER_STATE) == TRACKER_IDLE && atomic_fetch_add(&busy, 1) == 0)
		gate_set(GATE_DEFERRED);
	hp_unlock(HP_LOCK_defer);
}

bool tracker_record(struct tracker_stream *tracked, tracker_word *word)
{
	tracker_word recording = next_of(*word, TRACKER_RECORDING);

	if (!atomic_compare_exchange_strong(&tracked->word, word, recording))
		return false;
	*word = recording;
	return true;
}

void tracker_recorded(struct tracker_stream *tracked, tracker_word word, bool recorded)
{
	/* Fails if a copy was added since: then the stream stays open. */
	atomic_compare_exchange_strong(&tracked->word, &word,
				       next_of(word, recorded ? TRACKER_RECORDED : TRACKER_OPEN));
}

void tracker_complete(struct tracker_stream *tracked, tracker_word word)
{
	if ((word & TRACKER_STATE) == TRACKER_IDLE)
		return;
	hp_lock(HP_LOCK_defer);
	if (atomic_compare_exchange_strong(&tracked->word, &word, next_of(word, TRACKER_IDLE)) &&
	    atomic_fetch_sub(&busy, 1) == 1)
		gate_clear(GATE_DEFERRED);
	hp_unlock(HP_LOCK_defer);
}

void tracker_context_gone(CUcontext context)
{
	for (size_t i = 0; i < TRACKER_STREAMS; i++) {
		if (atomic_load(&tracker_streams[i].context) != context)
			continue;
		tracker_complete(&tracker_streams[i], atomic_load(&tracker_streams[i].word));
		hp_lock(HP_LOCK_defer);
		atomic_store(&tracker_streams[i].context, NULL);
		hp_unlock(HP_LOCK_defer);
	}
}

void tracker_after_fork_child(void)
{
	for (size_t i = 0; i < TRACKER_STREAMS; i++) {
		atomic_store(&tracker_streams[i].context, NULL);
		atomic_store(&tracker_streams[i].word, TRACKER_IDLE);
	}
	if (atomic_exchange(&busy, 0) != 0)
		gate_clear(GATE_DEFERRED);
}

enum tracker_order tracker_order_of(CUcontext context, const struct tracker_work *work)
{
	if (!work->known)
		return hp_keeps(order_unknown) ? TRACKER_JOIN : TRACKER_INHERENT;
	if (work->context != context && hp_keeps(order_contexts))
		return TRACKER_JOIN;
	/* The legacy stream and all blocking streams wait for each other. */
	return work->non_blocking && hp_keeps(order_non_blocking) ? TRACKER_EVENT
								  : TRACKER_INHERENT;
}
