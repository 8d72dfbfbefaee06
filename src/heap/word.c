/*
 * word.c - the transitions of the word of a block.  All are sequentially consistent, because
 * threads that take a word look at pin_hold()'s count afterwards, and the other way round.
 */
#include "heap/word.h"
#include "base/clock.h"

#include <assert.h>
#include <limits.h>
#include <stddef.h>

/* Replaces *seen by `value`.  False: another thread was faster, and *seen is the new value. */
static bool change(hp_word *word, uint32_t *seen, uint32_t value)
{
	assert((value & (WORD_WAITED | WORD_TAKEN)) != WORD_WAITED);
	return atomic_compare_exchange_weak(word, seen, value);
}

bool word_enter(hp_word *word, uint32_t refuse, uint32_t *ret_saw)
{
	uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);

	do {
		if (seen & refuse)
			return false;
	} while (!change(word, &seen, seen + 1));
	*ret_saw = seen;
	return true;
}

bool word_leave(hp_word *word, uint32_t saw)
{
	uint32_t seen = atomic_load_explicit(word, memory_order_relaxed), value;

	do {
		if (((seen ^ saw) & WORD_GENERATION) != 0)
			return false;
		assert((seen & WORD_USERS) != 0);
		value = seen - 1;
		if ((value & WORD_USERS) == 0 && (value & WORD_TAKEN))
			value &= ~WORD_WAITED;
		else if ((value & WORD_USERS) == 0 && (value & WORD_MARKED))
			value |= WORD_TAKEN;
	} while (!change(word, &seen, value));
	if (seen & ~value & WORD_WAITED)
		hp_wake(word, INT_MAX);
	return (~seen & value & WORD_TAKEN) != 0;
}

bool word_try(hp_word *word, uint32_t look, uint32_t state)
{
	uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);

	do {
		if ((seen & (WORD_TAKEN | WORD_USERS | look)) != state)
			return false;
	} while (!change(word, &seen, seen | WORD_TAKEN));
	return true;
}

enum word_look word_look(hp_word *word)
{
	uint32_t seen = atomic_load_explicit(word, memory_order_relaxed), value;

	do {
		if (seen & WORD_TAKEN)
			return seen & WORD_MARKED ? WORD_ALONE : WORD_DROPPED;
		if (seen & (WORD_PINNED | WORD_FOREIGN))
			return WORD_DROPPED;
		value = seen | (seen & WORD_USERS ? WORD_MARKED : WORD_TAKEN);
	} while (!change(word, &seen, value));
	return value & WORD_MARKED ? WORD_LEFT : WORD_ALONE;
}

bool word_alter(hp_word *word, uint32_t bit)
{
	uint32_t seen = atomic_load_explicit(word, memory_order_relaxed), value;

	do {
		value = seen | bit;
		if ((seen & (WORD_TAKEN | WORD_PINNED)) == WORD_PINNED)
			value |= WORD_TAKEN;
		else if ((seen & WORD_TAKEN) == 0)
			value &= ~WORD_MARKED;
	} while (!change(word, &seen, value));
	return (~seen & value & WORD_TAKEN) != 0;
}

void word_restore(hp_word *word, uint32_t bit)
{
	atomic_fetch_and(word, ~bit);
}

/*
 * Sleeps while the word is `seen`, with WORD_WAITED.  False: the wait has ended.  The caller judges
 * the word again in both cases.
 */
static bool sleep_on(hp_word *word, uint32_t seen, word_until *until)
{
	if (*until == 0)
		*until = hp_now_ns() + WORD_PATIENCE_NS;
	if ((seen & WORD_WAITED) == 0 && !change(word, &seen, seen | WORD_WAITED))
		return true;
	return hp_wait_until(word, seen | WORD_WAITED, *until);
}

bool word_wait(hp_word *word, word_until *until)
{
	uint32_t seen;

	while ((seen = atomic_load(word)) & WORD_TAKEN)
		if (!sleep_on(word, seen, until))
			return false;
	return true;
}

bool word_take(hp_word *word, word_until *until)
{
	uint32_t seen = atomic_load(word);

	for (;;) {
		if (seen & WORD_TAKEN) {
			if (!word_wait(word, until))
				return false;
			seen = atomic_load(word);
		} else if ((seen & WORD_PINNED) == 0) {
			return false;
		} else if (change(word, &seen, seen | WORD_TAKEN)) {
			return true;
		}
	}
}

/* Forgets the users of a word that this thread has taken. */
static void forget(hp_word *word)
{
	uint32_t seen = atomic_load(word);

	while (!change(word, &seen,
		       (seen & ~(WORD_USERS | WORD_GENERATION)) |
			       ((seen + WORD_ONE_GENERATION) & WORD_GENERATION)))
		continue;
}

bool word_drain(hp_word *word, word_until *until)
{
	uint32_t seen;

	while ((seen = atomic_load(word)) & WORD_USERS) {
		if (sleep_on(word, seen, until))
			continue;
		forget(word);
		return false;
	}
	return true;
}

bool word_release(hp_word *word, bool pinned, uint32_t *ret_saw)
{
	const uint32_t users = ret_saw != NULL;
	uint32_t seen = atomic_load_explicit(word, memory_order_relaxed), value;

	do {
		if (pinned && (seen & WORD_FOREIGN))
			return false;
		assert((seen & WORD_TAKEN) && (seen & WORD_USERS) == 0);
		value = seen & (WORD_FOREIGN | WORD_GENERATION);
		value |= pinned ? WORD_PINNED : 0;
	} while (!change(word, &seen, value + users));
	if (seen & WORD_WAITED)
		hp_wake(word, INT_MAX);
	if (ret_saw != NULL)
		*ret_saw = value;
	return true;
}

void word_keep(hp_word *word)
{
	uint32_t seen = atomic_load(word);

	while (!change(word, &seen, (seen & (WORD_FOREIGN | WORD_GENERATION)) | WORD_PINNED))
		continue;
	if (seen & WORD_WAITED)
		hp_wake(word, INT_MAX);
}

void word_reset(hp_word *word)
{
	uint32_t seen = atomic_load(word), value;

	do {
		value = (seen & WORD_ALTERED) | ((seen + WORD_ONE_GENERATION) & WORD_GENERATION);
	} while (!change(word, &seen, value));
}
