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

struct tracker_stream *tracker_find(CUcontext context, uint32_t thread)
{
	for (size_t i = 0; i < TRACKER_STREAMS; i++)
		if (atomic_load(&tracker_streams[i].context) == context &&
		    atomic_load(&tracker_streams[i].thread) == thread)
			return &tracker_streams[i];
	return NULL;
}

/*
 * Returns a free entry, or the entry of an idle stream of another thread.  Requires the lock defer.
 */
static struct tracker_stream *entry_for(CUcontext context, uint32_t thread)
{
	for (size_t i = 0; i < TRACKER_STREAMS; i++)
		if (atomic_load(&tracker_streams[i].context) == NULL)
			return &tracker_streams[i];
	for (size_t i = 0; thread != 0 && i < TRACKER_STREAMS; i++)
		if (atomic_load(&tracker_streams[i].context) == context &&
		    atomic_load(&tracker_streams[i].thread) != 0 &&
		    (atomic_load(&tracker_streams[i].word) & TRACKER_STATE) == TRACKER_IDLE)
			return &tracker_streams[i];
	return NULL;
}

struct tracker_stream *tracker_make(CUcontext context, uint32_t thread, CUevent event,
				    CUevent *ret_spare)
{
	*ret_spare = event;
	hp_lock(HP_LOCK_defer);
	struct tracker_stream *tracked = tracker_find(context, thread);
	if (tracked == NULL && (tracked = entry_for(context, thread)) != NULL) {
		*ret_spare = atomic_load(&tracked->context) != NULL ? event : NULL;
		if (*ret_spare == NULL)
			tracked->event = event;
		atomic_store(&tracked->word, next_of(atomic_load(&tracked->word), TRACKER_IDLE));
		atomic_store(&tracked->thread, thread);
		atomic_store(&tracked->context, context);
	}
	hp_unlock(HP_LOCK_defer);
	return tracked;
}

bool tracker_add(struct tracker_stream *tracked, uint32_t thread)
{
	tracker_word word = atomic_load(&tracked->word);

	/*
	 * An open stream gets a new word, too: another thread may be about to report that the older
	 * copies are complete.
	 */
	if ((word & TRACKER_STATE) == TRACKER_OPEN && !hp_keeps(copies_meanwhile))
		return true;
	while ((word & TRACKER_STATE) == TRACKER_OPEN && atomic_load(&tracked->thread) == thread)
		if (atomic_compare_exchange_weak(&tracked->word, &word,
						 next_of(word, TRACKER_OPEN)))
			return true;
	hp_lock(HP_LOCK_defer);
	/* A stream that is not idle keeps its entry. */
	if (atomic_load(&tracked->thread) != thread && hp_keeps(reassigned_waits)) {
		hp_unlock(HP_LOCK_defer);
		return false;
	}
	do
		word = atomic_load(&tracked->word);
	while (!atomic_compare_exchange_strong(&tracked->word, &word, next_of(word, TRACKER_OPEN)));
	if ((word & TRACKER_STATE) == TRACKER_IDLE && atomic_fetch_add(&busy, 1) == 0)
		gate_set(GATE_DEFERRED);
	hp_unlock(HP_LOCK_defer);
	return true;
}

bool tracker_read(const struct tracker_stream *tracked, uint32_t thread, tracker_word *ret_word)
{
	/*
	 * In this order: if another thread has taken the entry, the word is new and describes that
	 * thread's copies.
	 */
	*ret_word = atomic_load(&tracked->word);
	return atomic_load(&tracked->thread) == thread || !hp_keeps(reassigned_settles_nothing);
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

enum tracker_order tracker_order_of(CUcontext context, uint32_t thread,
				    const struct tracker_work *work)
{
	if (!work->known)
		return hp_keeps(order_unknown) ? TRACKER_JOIN : TRACKER_INHERENT;
	if (work->context != context && hp_keeps(order_contexts))
		return TRACKER_JOIN;
	/* The legacy stream and all blocking streams wait for each other. */
	if (thread == 0)
		return work->non_blocking && hp_keeps(order_non_blocking) ? TRACKER_EVENT
									  : TRACKER_INHERENT;
	if (work->legacy || (work->own && (work->thread == thread || !hp_keeps(order_threads))))
		return TRACKER_INHERENT;
	return hp_keeps(order_own_streams) ? TRACKER_EVENT : TRACKER_INHERENT;
}
