/*
 * test_once.c - which thread acts, and what the others see afterwards.
 */
#include "base/once.h"

#include "check.h"

#include <pthread.h>

#define THREADS 8

static struct hp_once once;
static int winners, written;

static void *begin_once(void *arg)
{
	(void)arg;
	if (hp_once_begin(&once)) {
		winners++;
		written = 4711;
		hp_once_end(&once);
	} else if (hp_once_is_done(&once)) {
		CHECK_EQ(written, 4711);
	}
	return NULL;
}

static void by_all(void *(*run)(void *))
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, run, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

TEST(one_thread_of_many_does_it)
{
	by_all(begin_once);
	CHECK_EQ(winners, 1);
	CHECK(hp_once_is_done(&once) && !hp_once_begin(&once));
}

/* The function may call itself again. */
TEST(nobody_waits_inside)
{
	CHECK(hp_once_begin(&once));
	CHECK(!hp_once_begin(&once) && !hp_once_is_done(&once));
	hp_once_end(&once);
	CHECK(hp_once_is_done(&once));
	hp_once_reset(&once);
	CHECK(!hp_once_is_done(&once) && hp_once_begin(&once));
}

CHECK_MAIN()
