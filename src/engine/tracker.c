/*
 * tracker.c - a word that changes by compare-and-exchange.
 *
 * GATE_DEFERRED is set before the stream is opened, and cleared after it has become idle.  Only the
 * first thread sets the bit.
 */
#include "engine/tracker.h"
#include "base/protections.h"
#include "engine/gate.h"

#include <stddef.h>

#define ALONE       1u
#define STATE_SHIFT 1

static _Atomic uint32_t tracked_word = ALONE;

/* The event of each context.  An entry is free if its context is NULL. */
static struct stream {
	CUcontext _Atomic context;
	CUevent event; /* written before `context` */
} streams[TRACKER_CONTEXTS];
static struct stream *_Atomic tracked;

static _Atomic bool has_first;
static __thread bool is_first __attribute__((tls_model("initial-exec")));

static enum tracker_state state_of(uint32_t word)
{
	return (enum tracker_state)(word >> STATE_SHIFT);
}

static uint32_t word_of(uint32_t alone, enum tracker_state state)
{
	return alone | (uint32_t)state << STATE_SHIFT;
}

CUcontext tracker_context(void)
{
	struct stream *stream = atomic_load(&tracked);

	return stream != NULL ? atomic_load(&stream->context) : NULL;
}

CUevent tracker_event(void)
{
	struct stream *stream = atomic_load(&tracked);

	return stream != NULL ? stream->event : NULL;
}

static struct stream *stream_of(CUcontext context)
{
	for (size_t i = 0; i < TRACKER_CONTEXTS; i++)
		if (atomic_load(&streams[i].context) == context)
			return &streams[i];
	return NULL;
}

bool tracker_make(CUcontext context, CUevent event)
{
	struct stream *stream = stream_of(NULL);

	if (stream == NULL)
		return false;
	stream->event = event;
	atomic_store(&stream->context, context);
	return true;
}

bool tracker_knows(CUcontext context)
{
	return stream_of(context) != NULL;
}

bool tracker_follow(CUcontext context)
{
	struct stream *stream = stream_of(context);

	if (stream == NULL || (stream != atomic_load(&tracked) && tracker_any()))
		return false;
	atomic_store(&tracked, stream);
	return true;
}

bool tracker_is_first(void)
{
	if (!is_first && !atomic_load_explicit(&has_first, memory_order_relaxed) &&
	    !atomic_exchange(&has_first, true))
		is_first = true;
	return is_first;
}

bool tracker_is_alone(void)
{
	return (atomic_load(&tracked_word) & ALONE) != 0;
}

enum tracker_state tracker_state(void)
{
	return state_of(atomic_load(&tracked_word));
}

bool tracker_publish(void)
{
	uint32_t word = atomic_load(&tracked_word);

	gate_set(GATE_DEFERRED);
	while ((word & ALONE) != 0)
		if (atomic_compare_exchange_weak(&tracked_word, &word,
						 word_of(ALONE, TRACKER_OPEN)))
			return true;
	/* Otherwise the thread that sets IDLE clears the bit. */
	if (state_of(word) == TRACKER_IDLE)
		gate_clear(GATE_DEFERRED);
	return false;
}

void tracker_end(void)
{
	atomic_fetch_and(&tracked_word, ~ALONE);
}

static bool change(enum tracker_state from, enum tracker_state to)
{
	uint32_t word = atomic_load(&tracked_word);

	while (state_of(word) == from)
		if (atomic_compare_exchange_weak(&tracked_word, &word, word_of(word & ALONE, to)))
			return true;
	return false;
}

bool tracker_record(void)
{
	return change(TRACKER_OPEN, TRACKER_RECORDING);
}

void tracker_recorded(bool recorded)
{
	change(TRACKER_RECORDING, recorded ? TRACKER_RECORDED : TRACKER_OPEN);
}

void tracker_complete(enum tracker_state state)
{
	if (state != TRACKER_IDLE && change(state, TRACKER_IDLE))
		gate_clear(GATE_DEFERRED);
}

void tracker_context_gone(CUcontext context)
{
	struct stream *stream = stream_of(context);

	if (stream == NULL)
		return;
	if (stream == atomic_load(&tracked)) {
		tracker_complete(tracker_state());
		atomic_store(&tracked, NULL);
	}
	atomic_store(&stream->context, NULL);
}

void tracker_after_fork_child(void)
{
	tracker_end();
	tracker_complete(tracker_state());
	atomic_store(&tracked, NULL);
	for (size_t i = 0; i < TRACKER_CONTEXTS; i++)
		atomic_store(&streams[i].context, NULL);
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
