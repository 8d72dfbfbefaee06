/*
 * test_word.c - the word of a block: every transition from every state, and threads that meet at
 * words with real futexes.
 */
#include "heap/word.h"
#include "base/clock.h"

#include "check.h"

#include <pthread.h>
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

/* Threads that meet.  `registered` and `changing` are what the driver would know. */
#define WORDS  2
#define ROUNDS 4000

static hp_word words[WORDS];
static _Atomic bool registered[WORDS], changing[WORDS];
static _Atomic int in_driver[WORDS];
static _Atomic long wrong, pins, unpins, handed, batches;
static _Atomic bool stop;
static _Atomic uint32_t bell;

static void expect(bool right)
{
	if (!right)
		atomic_fetch_add(&wrong, 1);
}

/* Registers or unregisters a block that this thread has alone. */
static void change(int i, bool to)
{
	expect(!atomic_exchange(&changing[i], true));
	expect(atomic_load(&in_driver[i]) == 0);
	atomic_store(&registered[i], to);
	expect(atomic_load(&in_driver[i]) == 0);
	atomic_store(&changing[i], false);
	atomic_fetch_add(to ? &pins : &unpins, 1);
}

static void call_driver(int i, bool pinned)
{
	atomic_fetch_add(&in_driver[i], 1);
	expect(!atomic_load(&changing[i]) && atomic_load(&registered[i]) == pinned);
	atomic_fetch_sub(&in_driver[i], 1);
}

static void leave_word(int i, uint32_t with)
{
	if (!word_leave(&words[i], with))
		return;
	atomic_fetch_add(&handed, 1);
	hp_ring(&bell);
}

static void *copies(void *arg)
{
	int i = (int)(uintptr_t)arg % WORDS;
	uint32_t mine;

	for (int turn = 0; turn < ROUNDS; turn++) {
		if (turn % 7 == 0 && word_try_pin(&words[i])) {
			change(i, true);
			if (word_release(&words[i], true, &mine)) {
				call_driver(i, true);
				leave_word(i, mine);
			} else {
				change(i, false);
				word_release(&words[i], false, NULL);
			}
		} else if (word_enter(&words[i], WORD_TAKEN, &mine)) {
			call_driver(i, (mine & WORD_PINNED) != 0);
			leave_word(i, mine);
		}
	}
	return NULL;
}

/* Enters all, or waits for the one that is taken, inside none. */
static void *batch(void *arg)
{
	word_until never = UINT64_MAX;
	uint32_t first, second;

	(void)arg;
	for (int turn = 0; turn < ROUNDS / 4;) {
		if (!word_enter(&words[0], WORD_TAKEN, &first)) {
			word_wait(&words[0], &never);
			continue;
		}
		if (!word_enter(&words[1], WORD_TAKEN, &second)) {
			leave_word(0, first);
			word_wait(&words[1], &never);
			continue;
		}
		call_driver(0, (first & WORD_PINNED) != 0);
		call_driver(1, (second & WORD_PINNED) != 0);
		leave_word(1, second);
		leave_word(0, first);
		atomic_fetch_add(&batches, 1);
		turn++;
	}
	return NULL;
}

/* Changes of the program, and captured copies. */
static void *changes(void *arg)
{
	word_until never = UINT64_MAX;

	(void)arg;
	for (int turn = 0; turn < ROUNDS / 4; turn++) {
		int i = turn % WORDS;
		bool alters = turn % 3 == 0;
		bool taken = alters && word_alter(&words[i], WORD_REGISTERED);

		if (taken || word_take(&words[i], &never)) {
			word_drain(&words[i], &never);
			change(i, false);
			word_release(&words[i], false, NULL);
		}
		if (alters)
			word_restore(&words[i], WORD_REGISTERED);
	}
	return NULL;
}

/* Takes all words, as the end of a context does. */
static void *ends(void *arg)
{
	word_until never = UINT64_MAX;
	bool mine[WORDS];

	(void)arg;
	for (int turn = 0; turn < ROUNDS / 8; turn++) {
		for (int i = 0; i < WORDS; i++)
			mine[i] = word_take(&words[i], &never);
		for (int i = 0; i < WORDS; i++)
			if (mine[i])
				word_drain(&words[i], &never);
		for (int i = 0; i < WORDS; i++) {
			if (!mine[i])
				continue;
			if (turn % 2 == 0 && word_release(&words[i], true, NULL))
				continue;
			change(i, false);
			word_release(&words[i], false, NULL);
		}
	}
	return NULL;
}

/* The housekeeper: the queue, and unpinning. */
static void *keeps(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop)) {
		uint32_t heard = atomic_load(&bell);

		for (int i = 0; i < WORDS; i++) {
			if (word_look(&words[i]) == WORD_ALONE) {
				change(i, true);
				if (!word_release(&words[i], true, NULL)) {
					change(i, false);
					word_release(&words[i], false, NULL);
				}
			}
			if (heard % 2 == 0 && word_try_unpin(&words[i])) {
				change(i, false);
				word_release(&words[i], false, NULL);
			}
		}
		hp_wait_until(&bell, heard, hp_now_ns() + 1000000);
	}
	return NULL;
}

TEST(threads_meet)
{
	void *(*const bodies[])(void *) = { copies, copies, copies, batch, changes, ends };
	const int count = sizeof(bodies) / sizeof(bodies[0]);
	pthread_t threads[sizeof(bodies) / sizeof(bodies[0])], keeper;

	pthread_create(&keeper, NULL, keeps, NULL);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, bodies[i], (void *)(uintptr_t)i);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&stop, true);
	hp_ring(&bell);
	pthread_join(keeper, NULL);
	printf("# %ld pins, %ld unpins, %ld left to the queue, %ld batches\n", (long)pins,
	       (long)unpins, (long)handed, (long)batches);
	CHECK_EQ(wrong, 0);
	CHECK_EQ(batches, ROUNDS / 4);
	for (int i = 0; i < WORDS; i++) {
		CHECK_EQ(words[i] & (WORD_USERS | WORD_WAITED | WORD_FOREIGN), 0);
		CHECK_EQ((words[i] & WORD_PINNED) != 0, registered[i]);
	}
}

CHECK_MAIN()
