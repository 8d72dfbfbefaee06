/*
 * test_tracker.c - which copies must wait for which, and when waiting is unnecessary.
 */
#include "base/parse.h"
#include "engine/gate.h"
#include "engine/tracker.h"
#include "engine/visibility.h"

#include "check.h"

#define HERE  ((CUcontext)0x1000)
#define THERE ((CUcontext)0x2000)
#define EVENT ((CUevent)0x3000)

enum { LEGACY, BLOCKING, NON_BLOCKING, OWN };

/* Tracked streams of the legacy stream (0) or of thread 1; work of a thread on a kind of stream. */
static const struct {
	uint32_t tracked;
	CUcontext context;
	uint32_t thread;
	int stream;
	enum tracker_order order;
} table[] = {
	{ 0, HERE, 1, LEGACY, TRACKER_INHERENT },    { 0, HERE, 2, LEGACY, TRACKER_INHERENT },
	{ 0, HERE, 1, BLOCKING, TRACKER_INHERENT },  { 0, HERE, 1, OWN, TRACKER_INHERENT },
	{ 0, HERE, 1, NON_BLOCKING, TRACKER_EVENT }, { 0, THERE, 1, LEGACY, TRACKER_JOIN },
	{ 0, THERE, 1, NON_BLOCKING, TRACKER_JOIN }, { 1, HERE, 1, OWN, TRACKER_INHERENT },
	{ 1, HERE, 2, OWN, TRACKER_EVENT },          { 1, HERE, 2, LEGACY, TRACKER_INHERENT },
	{ 1, HERE, 1, BLOCKING, TRACKER_EVENT },     { 1, HERE, 1, NON_BLOCKING, TRACKER_EVENT },
	{ 1, THERE, 1, OWN, TRACKER_JOIN },
};

TEST(every_order)
{
	for (size_t i = 0; i < HP_LEN(table); i++) {
		struct tracker_work work = {
			.context = table[i].context,
			.thread = table[i].thread,
			.known = true,
			.legacy = table[i].stream == LEGACY,
			.own = table[i].stream == OWN,
			.non_blocking = table[i].stream == NON_BLOCKING,
		};

		if (!CHECK_EQ(tracker_order_of(HERE, table[i].tracked, &work), table[i].order))
			printf("# row %zu\n", i);
		work.known = false;
		CHECK_EQ(tracker_order_of(HERE, table[i].tracked, &work), TRACKER_JOIN);
	}
}

static bool closed(void)
{
	return (atomic_load(&gate_word) & GATE_DEFERRED) != 0;
}

static struct tracker_stream *make(CUcontext context, uint32_t thread)
{
	CUevent spare;

	return tracker_make(context, thread, EVENT, &spare);
}

TEST(a_burst_closes_the_gate_and_has_one_event)
{
	CHECK(tracker_find(HERE, 0) == NULL);
	struct tracker_stream *tracked = make(HERE, 0);
	CHECK(tracker_find(HERE, 0) == tracked);
	CHECK(!tracker_any());
	for (int i = 0; i < 3; i++)
		tracker_add(tracked, 0);
	CHECK(closed() && tracker_any());

	tracker_word word = atomic_load(&tracked->word), other = word;
	CHECK(tracker_record(tracked, &word));
	CHECK(!tracker_record(tracked, &other));
	tracker_recorded(tracked, word, true);
	word = atomic_load(&tracked->word);
	CHECK_EQ(word & TRACKER_STATE, TRACKER_RECORDED);
	tracker_complete(tracked, word);
	CHECK(!closed() && !tracker_any());
	tracker_complete(tracked, word);
	CHECK(!closed() && !tracker_any());
}

/* A copy that is added while its tracked stream is marked is not covered by that event. */
TEST(a_copy_while_the_event_is_recorded)
{
	struct tracker_stream *tracked = make(HERE, 0);
	tracker_add(tracked, 0);
	tracker_word word = atomic_load(&tracked->word);
	CHECK(tracker_record(tracked, &word));
	tracker_add(tracked, 0);
	tracker_recorded(tracked, word, true);
	CHECK_EQ(atomic_load(&tracked->word) & TRACKER_STATE, TRACKER_OPEN);

	word = atomic_load(&tracked->word);
	CHECK(tracker_record(tracked, &word));
	tracker_recorded(tracked, word, true);
	tracker_word seen = atomic_load(&tracked->word);
	tracker_add(tracked, 0);
	tracker_complete(tracked, seen);
	CHECK(tracker_any());
	CHECK_EQ(atomic_load(&tracked->word) & TRACKER_STATE, TRACKER_OPEN);
	CHECK(closed());
}

/* A copy that is added to an open tracked stream is not completed together with earlier ones. */
TEST(a_copy_on_top_of_others)
{
	struct tracker_stream *tracked = make(HERE, 0);
	tracker_add(tracked, 0);
	tracker_word seen = atomic_load(&tracked->word);
	tracker_add(tracked, 0);
	tracker_complete(tracked, seen);
	CHECK(tracker_any());
	tracker_complete(tracked, atomic_load(&tracked->word));
	CHECK(!tracker_any());
}

TEST(an_event_that_fails_leaves_the_stream_open)
{
	struct tracker_stream *tracked = make(HERE, 0);
	tracker_add(tracked, 0);
	tracker_word word = atomic_load(&tracked->word);
	CHECK(tracker_record(tracked, &word));
	tracker_recorded(tracked, word, false);
	CHECK_EQ(atomic_load(&tracked->word) & TRACKER_STATE, TRACKER_OPEN);
}

TEST(streams_of_threads_are_taken_over_and_contexts_take_theirs_along)
{
	CUevent spare = NULL;

	struct tracker_stream *legacy = make(HERE, 0);
	for (uint32_t i = 1; i < TRACKER_STREAMS; i++)
		CHECK(make(HERE, i) != NULL);
	/* Tracked streams of other contexts, and busy ones, cannot be reassigned. */
	CHECK(make(THERE, 0) == NULL);
	CHECK(tracker_add(tracker_find(HERE, 1), 1));
	struct tracker_stream *tracked = tracker_make(HERE, 100, (CUevent)0x4000, &spare);
	CHECK(tracked == tracker_find(HERE, 100) && tracked != legacy);
	CHECK(tracker_find(HERE, 1) != NULL && tracker_find(HERE, 2) == NULL);
	CHECK(spare == (CUevent)0x4000 && tracked->event == EVENT);

	/* An event belongs to its context. */
	CHECK(make(THERE, 5) == NULL);
	tracker_context_gone(HERE);
	CHECK(!tracker_any() && !closed());
	CHECK(make(THERE, 0) != NULL);
}

/*
 * A thread may find its tracked stream, which another thread takes over before the copy is added.
 */
TEST(a_stream_that_was_reassigned)
{
	tracker_word seen;

	for (uint32_t i = 1; i <= TRACKER_STREAMS; i++)
		CHECK(make(HERE, i) != NULL);
	struct tracker_stream *tracked = tracker_find(HERE, 1);
	CHECK(tracker_read(tracked, 1, &seen));
	CHECK(make(HERE, 100) == tracked);
	/*
	 * Its note would count as the other thread's copy, and be waited for on the other's stream.
	 */
	CHECK(!tracker_add(tracked, 1) &&
	      (atomic_load(&tracked->word) & TRACKER_STATE) == TRACKER_IDLE);
	CHECK(tracker_add(tracked, 100) && !tracker_add(tracked, 1));
	/* An end that it observed would be the other's. */
	CHECK(!tracker_read(tracked, 1, &seen));
	CHECK(tracker_read(tracked, 100, &seen));
	CHECK_EQ(seen & TRACKER_STATE, TRACKER_OPEN);
}

/*
 * Otherwise the copies of a thread that still holds its tracked stream would be ordered like the
 * legacy stream's.
 */
TEST(a_thread_s_stream_does_not_become_the_legacy_one)
{
	for (uint32_t i = 1; i <= TRACKER_STREAMS; i++)
		CHECK(make(HERE, i) != NULL);
	CHECK(make(HERE, 0) == NULL);
	CHECK(make(HERE, 100) != NULL);
}

TEST(a_child_has_nothing_outstanding)
{
	tracker_add(make(HERE, 0), 0);
	tracker_after_fork_child();
	CHECK(!tracker_any() && !closed());
	CHECK(tracker_find(HERE, 0) == NULL);
}

TEST(pinned_memory_comes_and_goes)
{
	CHECK(visibility_now == 0);
	visibility_pinned(1);
	visibility_pinned(1);
	visibility_pinned(-1);
	CHECK(visibility_now != 0);
	visibility_pinned(-1);
	CHECK(visibility_now == 0);
	/* Memory that we never saw being pinned. */
	visibility_pinned(-1);
	visibility_pinned(1);
	CHECK(visibility_now != 0);
	visibility_pinned(-1);
	visibility_raise(REAL_UNSEEN);
	CHECK(visibility_now == 0);
	visibility_raise(REAL_SEEN_CALLBACK);
	CHECK_EQ(atomic_load(&visibility_now), 1u << REAL_SEEN_CALLBACK);
}

CHECK_MAIN()
