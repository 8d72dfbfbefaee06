/*
 * test_word.c - the word of a block: every transition from every state.
 */
#include "heap/word.h"
#include "base/clock.h"

#include "check.h"

#include <stdio.h>

#define BITS       (WORD_TAKEN | WORD_MARKED | WORD_WAITED | WORD_PINNED | WORD_ALTERED | WORD_REGISTERED)
#define GENERATION (5 * WORD_ONE_GENERATION)
#define PASSED     1 /* a word_until that is over */

static uint32_t saw;

/* The transitions.  Each returns its result as a number. */
static int enter(hp_word *word)
{
	return word_enter(word, WORD_TAKEN, &saw);
}

static int ask(hp_word *word)
{
	return word_enter(word, WORD_TAKEN | WORD_PINNED, &saw);
}

static int leave(hp_word *word)
{
	return word_leave(word, GENERATION);
}

static int leave_late(hp_word *word)
{
	return word_leave(word, GENERATION - WORD_ONE_GENERATION);
}

static int try_pin(hp_word *word)
{
	return word_try_pin(word);
}

static int try_unpin(hp_word *word)
{
	return word_try_unpin(word);
}

static int try_clear(hp_word *word)
{
	return word_try_clear(word);
}

static int look(hp_word *word)
{
	return (int)word_look(word);
}

static int alter(hp_word *word)
{
	return word_alter(word, WORD_ALTERED);
}

static int take(hp_word *word)
{
	word_until until = PASSED;

	return word_take(word, &until);
}

static int wait_once(hp_word *word)
{
	word_until until = PASSED;

	return word_wait(word, &until);
}

static int drain(hp_word *word)
{
	word_until until = PASSED;

	return word_drain(word, &until);
}

static int release_pinned(hp_word *word)
{
	return word_release(word, true, NULL);
}

static int release_plain(hp_word *word)
{
	return word_release(word, false, NULL);
}

static int release_inside(hp_word *word)
{
	return word_release(word, false, &saw);
}

static int reset(hp_word *word)
{
	word_reset(word);
	return 0;
}

enum { NONE = 1, ONE = 2, TWO = 4, SOME = ONE | TWO, ANY = NONE | SOME };

/*
 * A row says what a transition does from the states with (word & mask) == value and as many users.
 * The first row that fits counts.
 */
static const struct row {
	int (*transition)(hp_word *word);
	uint32_t mask, value;
	int users; /* a set of the numbers above */
	uint32_t sets, clears;
	int more; /* users that enter; -9: all are forgotten */
	int result;
} rows[] = {
	{ enter, WORD_TAKEN, 0, ANY, 0, 0, 1, true },
	{ enter, 0, 0, ANY, 0, 0, 0, false },
	{ ask, WORD_TAKEN | WORD_PINNED, 0, ANY, 0, 0, 1, true },
	{ ask, 0, 0, ANY, 0, 0, 0, false },
	{ leave, WORD_TAKEN, WORD_TAKEN, ONE, 0, WORD_WAITED, -1, false },
	{ leave, WORD_MARKED, WORD_MARKED, ONE, WORD_TAKEN, 0, -1, true },
	{ leave, 0, 0, SOME, 0, 0, -1, false },
	{ leave_late, 0, 0, ANY, 0, 0, 0, false },
	{ try_pin, WORD_TAKEN | WORD_PINNED | WORD_FOREIGN, 0, NONE, WORD_TAKEN, 0, 0, true },
	{ try_pin, 0, 0, ANY, 0, 0, 0, false },
	{ try_unpin, WORD_TAKEN | WORD_PINNED, WORD_PINNED, NONE, WORD_TAKEN, 0, 0, true },
	{ try_unpin, 0, 0, ANY, 0, 0, 0, false },
	{ try_clear, WORD_TAKEN | WORD_PINNED | WORD_REGISTERED, 0, NONE, WORD_TAKEN, 0, 0, true },
	{ try_clear, 0, 0, ANY, 0, 0, 0, false },
	{ look, WORD_TAKEN | WORD_MARKED, WORD_TAKEN | WORD_MARKED, ANY, 0, 0, 0, WORD_ALONE },
	{ look, WORD_TAKEN, WORD_TAKEN, ANY, 0, 0, 0, WORD_DROPPED },
	{ look, WORD_PINNED, WORD_PINNED, ANY, 0, 0, 0, WORD_DROPPED },
	{ look, WORD_FOREIGN, 0, NONE, WORD_TAKEN, 0, 0, WORD_ALONE },
	{ look, WORD_FOREIGN, 0, SOME, WORD_MARKED, 0, 0, WORD_LEFT },
	{ look, 0, 0, ANY, 0, 0, 0, WORD_DROPPED },
	{ alter, WORD_TAKEN, WORD_TAKEN, ANY, WORD_ALTERED, 0, 0, false },
	{ alter, WORD_PINNED, WORD_PINNED, ANY, WORD_ALTERED | WORD_TAKEN, 0, 0, true },
	{ alter, 0, 0, ANY, WORD_ALTERED, WORD_MARKED, 0, false },
	{ take, WORD_TAKEN, WORD_TAKEN, ANY, WORD_WAITED, 0, 0, false },
	{ take, WORD_PINNED, WORD_PINNED, ANY, WORD_TAKEN, 0, 0, true },
	{ take, 0, 0, ANY, 0, 0, 0, false },
	{ wait_once, WORD_TAKEN, WORD_TAKEN, ANY, WORD_WAITED, 0, 0, false },
	{ wait_once, 0, 0, ANY, 0, 0, 0, true },
	{ drain, WORD_TAKEN, WORD_TAKEN, NONE, 0, 0, 0, true },
	{ drain, WORD_TAKEN, WORD_TAKEN, SOME, WORD_WAITED, 0, -9, false },
	{ release_pinned, WORD_TAKEN | WORD_FOREIGN, WORD_TAKEN, NONE, WORD_PINNED,
	  WORD_TAKEN | WORD_MARKED | WORD_WAITED, 0, true },
	{ release_pinned, WORD_TAKEN, WORD_TAKEN, NONE, 0, 0, 0, false },
	{ release_plain, WORD_TAKEN, WORD_TAKEN, NONE, 0,
	  WORD_TAKEN | WORD_MARKED | WORD_WAITED | WORD_PINNED, 0, true },
	{ release_inside, WORD_TAKEN, WORD_TAKEN, NONE, 0,
	  WORD_TAKEN | WORD_MARKED | WORD_WAITED | WORD_PINNED, 1, true },
	{ reset, 0, 0, ANY, 0, BITS & ~WORD_ALTERED, -9, 0 },
};

/* The invariants of test/model/README.md. */
static bool is_possible(uint32_t word)
{
	bool users = (word & WORD_USERS) != 0;

	if ((word & (WORD_WAITED | WORD_TAKEN)) == WORD_WAITED)
		return false;
	if ((word & WORD_PINNED) && (word & WORD_FOREIGN) && (word & WORD_TAKEN) == 0)
		return false;
	if ((word & WORD_MARKED) == 0)
		return true;
	return word & WORD_TAKEN ? !users : users && (word & (WORD_PINNED | WORD_FOREIGN)) == 0;
}

static bool fits(const struct row *row, uint32_t word)
{
	return (word & row->mask) == row->value && (row->users >> (word & WORD_USERS) & 1) != 0;
}

static uint32_t after(const struct row *row, uint32_t word)
{
	uint32_t value = (word & ~row->clears) | row->sets;

	if (row->more == -9)
		return (value & ~WORD_USERS) + WORD_ONE_GENERATION;
	return value + (uint32_t)row->more;
}

static const struct row *row_of(const struct row *first, uint32_t word)
{
	const struct row *end = rows + sizeof(rows) / sizeof(rows[0]);

	for (const struct row *row = first; row < end && row->transition == first->transition;
	     row++)
		if (fits(row, word))
			return row;
	return NULL;
}

static void try_one(const struct row *first, uint32_t state)
{
	const struct row *row = row_of(first, state);
	hp_word word = state;

	if (row == NULL)
		return;
	int result = row->transition(&word);
	if (!CHECK(result == row->result && word == after(row, state) && is_possible(word)))
		printf("# row %d from %08x: %08x and %d\n", (int)(row - rows), state,
		       (unsigned)word, result);
}

TEST(every_transition_from_every_state)
{
	int states = 0;

	for (uint32_t bits = 0; bits <= BITS; bits += WORD_TAKEN)
		for (uint32_t users = 0; users <= 2; users++) {
			uint32_t state = bits | users | GENERATION;

			if ((bits & ~BITS) != 0 || !is_possible(state))
				continue;
			states++;
			for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
				if (i == 0 || rows[i].transition != rows[i - 1].transition)
					try_one(&rows[i], state);
		}
	CHECK(states > 60);
}

TEST(the_generation_wraps)
{
	hp_word word = WORD_GENERATION | WORD_TAKEN | 1;
	word_until until = PASSED;

	CHECK(!word_drain(&word, &until));
	CHECK_EQ(word & (WORD_GENERATION | WORD_USERS), 0);
	word = WORD_GENERATION | WORD_ALTERED;
	word_reset(&word);
	CHECK_EQ(word, WORD_ALTERED);
}

/* One limit for all words of a call. */
TEST(the_second_word_finds_the_limit_passed)
{
	hp_word first = WORD_TAKEN | 1, second = WORD_TAKEN | 1;
	word_until until = 0;
	uint64_t begun = hp_now_ns();

	CHECK(!word_drain(&first, &until));
	CHECK(until >= begun + WORD_PATIENCE_NS);
	begun = until;
	CHECK(!word_drain(&second, &until));
	CHECK_EQ(until, begun);
}

CHECK_MAIN()
