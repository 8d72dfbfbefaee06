/*
 * test_once.c - base/once.h and base/users.h: which thread acts, which threads wait, and what they
 * see afterwards.
 */
#include "base/clock.h"
#include "base/once.h"
#include "base/users.h"
#include "check.h"

#include <pthread.h>

#define THREADS 8
#define TURNS   20000

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

static struct hp_users users;
static _Atomic int inside, closed_now, met;

TEST(nobody_enters_what_is_closed)
{
	CHECK(hp_users_try_enter(&users));
	CHECK_EQ(users.inside, 1);
	CHECK(hp_users_try_close(&users) && !hp_users_try_close(&users));
	CHECK(atomic_load(&users.closed) != 0);
	CHECK(!hp_users_try_enter(&users));
	CHECK_EQ(users.inside, 1);
	CHECK(!hp_users_drain(&users, hp_now_ns() + 1000000));
	hp_users_leave(&users);
	CHECK(hp_users_drain(&users, 0));
	hp_users_open(&users);
	CHECK(hp_users_try_enter(&users));
}

TEST(each_closer_opens_for_itself)
{
	hp_users_close(&users);
	hp_users_close(&users);
	CHECK(!hp_users_try_close(&users));
	hp_users_open(&users);
	CHECK(!hp_users_try_enter(&users));
	hp_users_open(&users);
	CHECK(hp_users_try_enter(&users));
	hp_users_close(&users);
	hp_users_reset(&users);
	CHECK(atomic_load(&users.closed) == 0 && users.inside == 0);
}

/* Both are inside, and each waits until it is alone. */
static void *close_from_inside(void *arg)
{
	(void)arg;
	for (int i = 0; i < TURNS / 20; i++) {
		hp_users_enter(&users, UINT64_MAX / 2);
		hp_users_close_alone(&users, true, UINT64_MAX / 2);
		if (atomic_exchange(&closed_now, 1))
			atomic_fetch_add(&met, 1);
		atomic_store(&closed_now, 0);
		hp_users_open(&users);
		hp_users_leave(&users);
	}
	return NULL;
}

TEST(threads_inside_close_it_one_after_the_other)
{
	by_all(close_from_inside);
	CHECK_EQ(atomic_load(&met), 0);
	CHECK(users.inside == 0 && users.closed == 0);
}

/* The caller goes on in spite of a thread that stays. */
TEST(who_closes_alone_waits_no_longer_than_it_wants)
{
	CHECK(hp_users_try_enter(&users));
	CHECK(!hp_users_close_alone(&users, false, 1000000));
	CHECK(users.closed == 1 && users.inside == 1);
	hp_users_open(&users);
	hp_users_leave(&users);
}

/* As if a thread had closed it and left by longjmp(): only the first one waits. */
TEST(what_is_never_opened_keeps_nobody_out_for_ever)
{
	hp_users_close(&users);
	hp_users_enter(&users, 1000000);
	CHECK(users.inside == 1 && users.late);
	hp_users_enter(&users, UINT64_MAX / 2);
	CHECK_EQ(users.inside, 2);
	hp_users_leave(&users);
	CHECK(hp_users_close_alone(&users, true, 1000000));
	hp_users_open(&users);
	CHECK(!users.late);
	hp_users_leave(&users);
	CHECK_EQ(users.closed, 1);
}

static void *come_and_go(void *arg)
{
	(void)arg;
	for (int i = 0; i < TURNS; i++) {
		if (i % 3 == 0 && !hp_users_try_enter(&users))
			continue;
		if (i % 3 != 0)
			hp_users_enter(&users, UINT64_MAX / 2);
		atomic_fetch_add(&inside, 1);
		if (atomic_load(&closed_now))
			atomic_fetch_add(&met, 1);
		atomic_fetch_sub(&inside, 1);
		hp_users_leave(&users);
	}
	return NULL;
}

/* All wait for each other alternately, and none for ever. */
TEST(who_is_inside_and_who_closes_do_not_meet)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, come_and_go, NULL), 0);
	for (int i = 0; i < TURNS / 20; i++) {
		hp_users_close(&users);
		CHECK(hp_users_drain(&users, UINT64_MAX));
		atomic_store(&closed_now, 1);
		CHECK_EQ(atomic_load(&inside), 0);
		atomic_store(&closed_now, 0);
		hp_users_open(&users);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(atomic_load(&met), 0);
	CHECK_EQ(users.inside, 0);
}

CHECK_MAIN()
