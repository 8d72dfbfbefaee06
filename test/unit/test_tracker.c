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

/* Work on a stream of a context, behind copies of the context HERE. */
static const struct {
	CUcontext context;
	bool non_blocking;
	enum tracker_order order;
} table[] = {
	{ HERE, false, TRACKER_INHERENT },
	{ HERE, true, TRACKER_EVENT },
	{ THERE, false, TRACKER_JOIN },
	{ THERE, true, TRACKER_JOIN },
};

TEST(every_order)
{
	for (size_t i = 0; i < HP_LEN(table); i++) {
		struct tracker_work work = {
			.context = table[i].context,
			.known = true,
			.non_blocking = table[i].non_blocking,
		};

		if (!CHECK_EQ(tracker_order_of(HERE, &work), table[i].order))
			printf("# row %zu\n", i);
		work.known = false;
		CHECK_EQ(tracker_order_of(HERE, &work), TRACKER_JOIN);
	}
}

static bool closed(void)
{
	return (atomic_load(&gate_word) & GATE_DEFERRED) != 0;
}

static struct tracker_stream *make(CUcontext context)
{
	CUevent spare;

	return tracker_make(context, EVENT, &spare);
}

TEST(a_burst_closes_the_gate_and_has_one_event)
{
	CHECK(tracker_find(HERE) == NULL);
	struct tracker_stream *tracked = make(HERE);
	CHECK(tracker_find(HERE) == tracked);
	CHECK(!tracker_any());
	for (int i = 0; i < 3; i++)
		tracker_add(tracked);
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
	struct tracker_stream *tracked = make(HERE);
	tracker_add(tracked);
	tracker_word word = atomic_load(&tracked->word);
	CHECK(tracker_record(tracked, &word));
	tracker_add(tracked);
	tracker_recorded(tracked, word, true);
	CHECK_EQ(atomic_load(&tracked->word) & TRACKER_STATE, TRACKER_OPEN);

	word = atomic_load(&tracked->word);
	CHECK(tracker_record(tracked, &word));
	tracker_recorded(tracked, word, true);
	tracker_word seen = atomic_load(&tracked->word);
	tracker_add(tracked);
	tracker_complete(tracked, seen);
	CHECK(tracker_any());
	CHECK_EQ(atomic_load(&tracked->word) & TRACKER_STATE, TRACKER_OPEN);
	CHECK(closed());
}

/* A copy that is added to an open tracked stream is not completed together with earlier ones. */
TEST(a_copy_on_top_of_others)
{
	struct tracker_stream *tracked = make(HERE);
	tracker_add(tracked);
	tracker_word seen = atomic_load(&tracked->word);
	tracker_add(tracked);
	tracker_complete(tracked, seen);
	CHECK(tracker_any());
	tracker_complete(tracked, atomic_load(&tracked->word));
	CHECK(!tracker_any());
}

TEST(an_event_that_fails_leaves_the_stream_open)
{
	struct tracker_stream *tracked = make(HERE);
	tracker_add(tracked);
	tracker_word word = atomic_load(&tracked->word);
	CHECK(tracker_record(tracked, &word));
	tracker_recorded(tracked, word, false);
	CHECK_EQ(atomic_load(&tracked->word) & TRACKER_STATE, TRACKER_OPEN);
}

TEST(contexts_take_their_streams_along)
{
	CUevent spare = NULL;

	struct tracker_stream *tracked = make(HERE);
	for (uintptr_t i = 1; i < TRACKER_STREAMS; i++)
		CHECK(make((CUcontext)(0x5000 + i)) != NULL);
	CHECK(make(THERE) == NULL);
	/* Another thread was faster. */
	CHECK(tracker_make(HERE, (CUevent)0x4000, &spare) == tracked);
	CHECK(spare == (CUevent)0x4000 && tracked->event == EVENT);
	/* An event belongs to its context. */
	tracker_add(tracked);
	CHECK(tracker_any() && closed());
	tracker_context_gone(HERE);
	CHECK(!tracker_any() && !closed());
	CHECK(make(THERE) == tracked);
}

TEST(a_child_has_nothing_outstanding)
{
	tracker_add(make(HERE));
	tracker_after_fork_child();
	CHECK(!tracker_any() && !closed());
	CHECK(tracker_find(HERE) == NULL);
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
