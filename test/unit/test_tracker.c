/*
 * test_tracker.c - which thread may defer, and when its copies are complete.
 */
#include "engine/gate.h"
#include "engine/tracker.h"
#include "engine/visibility.h"

#include "check.h"

#define HERE  ((CUcontext)0x1000)
#define THERE ((CUcontext)0x2000)
#define EVENT ((CUevent)0x3000)

static bool closed(void)
{
	return (atomic_load(&gate_word) & GATE_DEFERRED) != 0;
}

TEST(a_burst_closes_the_gate_and_has_one_event)
{
	CHECK(tracker_context() == NULL);
	CHECK(!tracker_follow(HERE));
	CHECK(tracker_make(HERE, EVENT) && tracker_follow(HERE));
	CHECK(tracker_context() == HERE && tracker_event() == EVENT);
	CHECK(!tracker_any() && !closed());
	CHECK(!tracker_record());
	for (int i = 0; i < 3; i++)
		CHECK(tracker_publish());
	CHECK(closed() && tracker_any());

	CHECK(tracker_record());
	CHECK(!tracker_record());
	tracker_recorded(true);
	CHECK_EQ(tracker_state(), TRACKER_RECORDED);
	tracker_complete(TRACKER_RECORDED);
	CHECK(!closed() && !tracker_any());
	tracker_complete(TRACKER_RECORDED);
	CHECK(!closed() && !tracker_any());
}

/* A copy that follows the event is not covered by it. */
TEST(a_copy_behind_the_event)
{
	tracker_publish();
	tracker_record();
	tracker_recorded(true);
	CHECK(tracker_publish());
	CHECK_EQ(tracker_state(), TRACKER_OPEN);
	tracker_complete(TRACKER_RECORDED);
	CHECK(tracker_any() && closed());
}

TEST(an_event_that_fails_leaves_the_stream_open)
{
	tracker_publish();
	CHECK(tracker_record());
	tracker_recorded(false);
	CHECK_EQ(tracker_state(), TRACKER_OPEN);
}

static void *another(void *is_first)
{
	*(bool *)is_first = tracker_is_first();
	return NULL;
}

TEST(one_thread_is_the_first)
{
	bool other_is_first = true;

	CHECK(tracker_is_first());
	check_in_thread(another, &other_is_first);
	CHECK(!other_is_first && tracker_is_first());
}

/* No copy returns early once deferral has ended, and the gate opens when the last one is complete.
 */
TEST(the_end_of_deferral)
{
	CHECK(tracker_is_alone());
	CHECK(tracker_publish());
	tracker_end();
	CHECK(!tracker_is_alone());
	CHECK_EQ(tracker_state(), TRACKER_OPEN);
	CHECK(!tracker_publish());
	CHECK(closed());
	CHECK(tracker_record());
	tracker_recorded(true);
	tracker_complete(TRACKER_RECORDED);
	CHECK(!closed());
	CHECK(!tracker_publish());
	CHECK(!closed() && !tracker_any());
}

/* The copies in flight are those of one context. */
TEST(contexts_in_turn)
{
	CHECK(tracker_make(HERE, EVENT) && tracker_make(THERE, (CUevent)0x4000));
	CHECK(tracker_follow(HERE));
	tracker_publish();
	CHECK(tracker_follow(HERE) && !tracker_follow(THERE));
	tracker_complete(TRACKER_OPEN);
	CHECK(tracker_follow(THERE));
	CHECK(tracker_context() == THERE && tracker_event() == (CUevent)0x4000);
}

TEST(contexts_take_their_events_along)
{
	for (uintptr_t i = 1; i < TRACKER_CONTEXTS; i++)
		CHECK(tracker_make((CUcontext)(0x5000 + i), EVENT));
	CHECK(tracker_make(HERE, EVENT) && tracker_follow(HERE));
	CHECK(!tracker_make(THERE, EVENT));
	tracker_publish();
	tracker_context_gone((CUcontext)0x5001);
	CHECK(tracker_context() == HERE && tracker_any());
	tracker_context_gone(HERE);
	CHECK(tracker_context() == NULL && !tracker_any() && !closed());
	CHECK(!tracker_knows(HERE) && tracker_is_alone());
	CHECK(tracker_make(THERE, EVENT));
}

TEST(a_child_has_nothing_outstanding)
{
	tracker_make(HERE, EVENT);
	tracker_follow(HERE);
	tracker_publish();
	tracker_after_fork_child();
	CHECK(tracker_context() == NULL && !tracker_any() && !closed());
	CHECK(!tracker_publish());
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
