/*
 * test_cancel.c - sections without thread cancellation, and threads of the library, which are never
 * canceled.
 */
#include "base/clock.h"
#include "base/thread.h"

#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

static _Atomic uint32_t reached;

static void cancel_self(void)
{
	CHECK_EQ(pthread_cancel(pthread_self()), 0);
}

static bool is_canceled(void *(*body)(void *))
{
	void *result = NULL;

	pthread_t thread = check_thread(body, NULL);
	CHECK_EQ(pthread_join(thread, &result), 0);
	return result == PTHREAD_CANCELED;
}

static void *nested(void *unused)
{
	hp_uncancellable_begin();
	hp_uncancellable_begin();
	cancel_self();
	pthread_testcancel();
	hp_uncancellable_end();
	pthread_testcancel();
	reached = 1;
	hp_uncancellable_end();
	reached = 2;
	pthread_testcancel();
	reached = 3;
	return unused;
}

TEST(the_last_end_counts)
{
	CHECK(is_canceled(nested));
	CHECK_EQ(reached, 2);
}

static void *at_once(void *unused)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	hp_uncancellable_begin();
	cancel_self();
	reached = 1;
	hp_uncancellable_end();
	reached = 2;
	return unused;
}

/* The result of pthread_join() then differs between versions of glibc. */
TEST(an_asynchronous_request)
{
	is_canceled(at_once);
	CHECK_EQ(reached, 1);
}

static void *disabled(void *unused)
{
	int state = -1;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	hp_uncancellable_begin();
	hp_uncancellable_end();
	cancel_self();
	pthread_testcancel();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	CHECK_EQ(state, PTHREAD_CANCEL_DISABLE);
	return unused;
}

TEST(the_state_before_returns)
{
	CHECK(!is_canceled(disabled));
}

static void *one_of_ours(void *unused)
{
	cancel_self();
	pthread_testcancel();
	hp_ring(&reached);
	return unused;
}

TEST(a_thread_of_ours)
{
	CHECK_EQ(hp_thread_start(one_of_ours, 256 << 10), 0);
	while (atomic_load(&reached) == 0)
		hp_wait_until(&reached, 0, UINT64_MAX);
}

CHECK_MAIN()
