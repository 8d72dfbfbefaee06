/*
 * test_ledger.c - what has to wait for what, and when the gate is open.
 */
#include "base/parse.h"
#include "defer/exposure.h"
#include "defer/ledger.h"

#include "check.h"

#define HERE  ((CUcontext)0x1000)
#define THERE ((CUcontext)0x2000)
#define EVENT ((CUevent)0x3000)

enum { LEGACY, BLOCKING, NON_BLOCKING, OWN };

/* A lane of the legacy stream (0) or of thread 1; work of a thread on a kind of stream. */
static const struct {
	uint32_t lane;
	CUcontext context;
	uint32_t thread;
	int stream;
	enum ledger_order order;
} table[] = {
	{ 0, HERE, 1, LEGACY, LEDGER_INHERENT },    { 0, HERE, 2, LEGACY, LEDGER_INHERENT },
	{ 0, HERE, 1, BLOCKING, LEDGER_INHERENT },  { 0, HERE, 1, OWN, LEDGER_INHERENT },
	{ 0, HERE, 1, NON_BLOCKING, LEDGER_EVENT }, { 0, THERE, 1, LEGACY, LEDGER_JOIN },
	{ 0, THERE, 1, NON_BLOCKING, LEDGER_JOIN }, { 1, HERE, 1, OWN, LEDGER_INHERENT },
	{ 1, HERE, 2, OWN, LEDGER_EVENT },          { 1, HERE, 2, LEGACY, LEDGER_INHERENT },
	{ 1, HERE, 1, BLOCKING, LEDGER_EVENT },     { 1, HERE, 1, NON_BLOCKING, LEDGER_EVENT },
	{ 1, THERE, 1, OWN, LEDGER_JOIN },
};

TEST(every_order)
{
	for (size_t i = 0; i < HP_LEN(table); i++) {
		struct ledger_work work = {
			.context = table[i].context,
			.thread = table[i].thread,
			.known = true,
			.legacy = table[i].stream == LEGACY,
			.own = table[i].stream == OWN,
			.non_blocking = table[i].stream == NON_BLOCKING,
		};

		if (!CHECK_EQ(ledger_order_of(HERE, table[i].lane, &work), table[i].order))
			printf("# row %zu\n", i);
		work.known = false;
		CHECK_EQ(ledger_order_of(HERE, table[i].lane, &work), LEDGER_JOIN);
	}
}

static int told; /* how often the gate was told, and what last */
static bool closed;

static void tell(bool any)
{
	told++;
	closed = any;
}

static struct ledger_lane *make(CUcontext context, uint32_t thread)
{
	CUevent spare;

	return ledger_make(context, thread, EVENT, &spare);
}

TEST(a_burst_is_told_once_and_marked_once)
{
	ledger_start(tell);
	CHECK(ledger_find(HERE, 0) == NULL);
	struct ledger_lane *lane = make(HERE, 0);
	CHECK(ledger_find(HERE, 0) == lane);
	CHECK(!ledger_any());
	for (int i = 0; i < 3; i++)
		ledger_add(lane, 0);
	CHECK_EQ(told, 1);
	CHECK(closed && ledger_any());

	ledger_word word = atomic_load(&lane->word), other = word;
	CHECK(ledger_mark(lane, &word));
	CHECK(!ledger_mark(lane, &other));
	ledger_marked(lane, word, true);
	word = atomic_load(&lane->word);
	CHECK_EQ(ledger_state_of(word), LEDGER_MARKED);
	ledger_over(lane, word);
	CHECK_EQ(told, 2);
	CHECK(!closed && !ledger_any());
	ledger_over(lane, word);
	CHECK_EQ(told, 2);
}

/* A copy that comes while its lane is marked is not covered by that event. */
TEST(a_copy_while_the_lane_is_marked)
{
	ledger_start(tell);
	struct ledger_lane *lane = make(HERE, 0);
	ledger_add(lane, 0);
	ledger_word word = atomic_load(&lane->word);
	CHECK(ledger_mark(lane, &word));
	ledger_add(lane, 0);
	ledger_marked(lane, word, true);
	CHECK_EQ(ledger_state_of(atomic_load(&lane->word)), LEDGER_OPEN);

	word = atomic_load(&lane->word);
	CHECK(ledger_mark(lane, &word));
	ledger_marked(lane, word, true);
	ledger_word seen = atomic_load(&lane->word);
	ledger_add(lane, 0);
	ledger_over(lane, seen);
	CHECK(ledger_any());
	CHECK_EQ(ledger_state_of(atomic_load(&lane->word)), LEDGER_OPEN);
	CHECK_EQ(told, 1);
}

/* One that comes to an open lane is not over with what was there before. */
TEST(a_copy_on_top_of_others)
{
	ledger_start(tell);
	struct ledger_lane *lane = make(HERE, 0);
	ledger_add(lane, 0);
	ledger_word seen = atomic_load(&lane->word);
	ledger_add(lane, 0);
	ledger_over(lane, seen);
	CHECK(ledger_any());
	ledger_over(lane, atomic_load(&lane->word));
	CHECK(!ledger_any());
}

TEST(a_mark_that_fails_leaves_the_lane_open)
{
	ledger_start(tell);
	struct ledger_lane *lane = make(HERE, 0);
	ledger_add(lane, 0);
	ledger_word word = atomic_load(&lane->word);
	CHECK(ledger_mark(lane, &word));
	ledger_marked(lane, word, false);
	CHECK_EQ(ledger_state_of(atomic_load(&lane->word)), LEDGER_OPEN);
}

TEST(lanes_of_threads_are_taken_over_and_contexts_take_theirs_along)
{
	CUevent spare = NULL;

	ledger_start(tell);
	struct ledger_lane *legacy = make(HERE, 0);
	for (uint32_t i = 1; i < LEDGER_LANES; i++)
		CHECK(make(HERE, i) != NULL);
	/* Another context's are not for the taking, nor are busy ones. */
	CHECK(make(THERE, 0) == NULL);
	CHECK(ledger_add(ledger_find(HERE, 1), 1));
	struct ledger_lane *lane = ledger_make(HERE, 100, (CUevent)0x4000, &spare);
	CHECK(lane == ledger_find(HERE, 100) && lane != legacy);
	CHECK(ledger_find(HERE, 1) != NULL && ledger_find(HERE, 2) == NULL);
	CHECK(spare == (CUevent)0x4000 && lane->event == EVENT);

	/* An event is of its context. */
	CHECK(make(THERE, 5) == NULL);
	ledger_context_gone(HERE);
	CHECK(!ledger_any() && !closed);
	CHECK(make(THERE, 0) != NULL);
}

/* A thread may find its lane, and another take it over before that thread's copy is done. */
TEST(a_lane_that_was_taken_over)
{
	ledger_word seen;

	ledger_start(tell);
	for (uint32_t i = 1; i <= LEDGER_LANES; i++)
		CHECK(make(HERE, i) != NULL);
	struct ledger_lane *lane = ledger_find(HERE, 1);
	CHECK(ledger_look(lane, 1, &seen));
	CHECK(make(HERE, 100) == lane);
	/* What it noted would be among the other's copies, and waited for on the other's stream. */
	CHECK(!ledger_add(lane, 1) && ledger_state_of(atomic_load(&lane->word)) == LEDGER_IDLE);
	CHECK(ledger_add(lane, 100) && !ledger_add(lane, 1));
	/* And what it saw the end of would be the other's. */
	CHECK(!ledger_look(lane, 1, &seen));
	CHECK(ledger_look(lane, 100, &seen));
	CHECK_EQ(ledger_state_of(seen), LEDGER_OPEN);
}

/* A thread that still holds its lane would have its copies ordered as the legacy stream's. */
TEST(a_thread_s_lane_does_not_become_the_legacy_stream_s)
{
	ledger_start(tell);
	for (uint32_t i = 1; i <= LEDGER_LANES; i++)
		CHECK(make(HERE, i) != NULL);
	CHECK(make(HERE, 0) == NULL);
	CHECK(make(HERE, 100) != NULL);
}

TEST(a_child_has_nothing_outstanding)
{
	ledger_start(tell);
	ledger_add(make(HERE, 0), 0);
	ledger_after_fork_child();
	CHECK(!ledger_any() && !closed);
	CHECK(ledger_find(HERE, 0) == NULL);
}

TEST(pinned_memory_comes_and_goes)
{
	CHECK(!exposure_any());
	exposure_pinned(1);
	exposure_pinned(1);
	exposure_pinned(-1);
	CHECK(exposure_any());
	exposure_pinned(-1);
	CHECK(!exposure_any());
	/* What we never saw come. */
	exposure_pinned(-1);
	exposure_pinned(1);
	CHECK(exposure_any());
	exposure_pinned(-1);
	exposure_raise(REAL_UNSEEN);
	CHECK(!exposure_any());
	exposure_raise(REAL_SEEN_CALLBACK);
	CHECK_EQ(atomic_load(&exposure_now), 1u << REAL_SEEN_CALLBACK);
}

CHECK_MAIN()
