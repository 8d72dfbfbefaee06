/*
 * users.c - two counts, sequentially consistent because each side reads what the other writes.
 */
#include "base/users.h"
#include "base/clock.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>

static __thread unsigned depth __attribute__((tls_model("initial-exec")));
static __thread int state_before __attribute__((tls_model("initial-exec")));

void hp_uncancellable_begin(void)
{
	if (depth++ == 0)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_before);
}

void hp_uncancellable_end(void)
{
	int state = state_before;

	assert(depth != 0);
	/* A pending asynchronous request ends the thread in this call. */
	if (--depth == 0)
		pthread_setcancelstate(state, NULL);
}

bool hp_users_try_enter(struct hp_users *users)
{
	hp_uncancellable_begin();
	atomic_fetch_add(&users->inside, 1);
	if (atomic_load(&users->closed) == 0)
		return true;
	hp_users_leave(users);
	return false;
}

/* Waits until the section is open, or until `until_ns`.  False: it is still closed then. */
static bool wait_open(struct hp_users *users, uint64_t until_ns)
{
	uint32_t closed = atomic_load(&users->closed);

	return closed == 0 || hp_wait_until(&users->closed, closed, until_ns);
}

void hp_users_enter(struct hp_users *users, uint64_t most_ns)
{
	uint64_t until_ns = 0;

	while (!hp_users_try_enter(users)) {
		if (until_ns == 0)
			until_ns = hp_now_ns() + most_ns;
		if (!atomic_load(&users->late) && wait_open(users, until_ns))
			continue;
		atomic_store(&users->late, true);
		hp_uncancellable_begin();
		atomic_fetch_add(&users->inside, 1);
		return;
	}
}

static void count_out(struct hp_users *users)
{
	atomic_fetch_sub(&users->inside, 1);
	if (atomic_load(&users->closed) != 0)
		hp_wake(&users->inside, INT_MAX);
}

void hp_users_leave(struct hp_users *users)
{
	count_out(users);
	hp_uncancellable_end();
}

void hp_users_close(struct hp_users *users)
{
	atomic_fetch_add(&users->closed, 1);
}

bool hp_users_try_close(struct hp_users *users)
{
	uint32_t none = 0;

	return atomic_compare_exchange_strong(&users->closed, &none, 1);
}

void hp_users_open(struct hp_users *users)
{
	atomic_store(&users->late, false);
	if (atomic_fetch_sub(&users->closed, 1) == 1)
		hp_wake(&users->closed, INT_MAX);
}

/* Waits until no more than `count` threads are inside.  False: the time is over before that. */
static bool drain_to(struct hp_users *users, uint32_t count, uint64_t until_ns)
{
	for (;;) {
		uint32_t inside = atomic_load(&users->inside);

		if (inside <= count)
			return true;
		if (!hp_wait_until(&users->inside, inside, until_ns))
			return false;
	}
}

bool hp_users_drain(struct hp_users *users, uint64_t until_ns)
{
	return drain_to(users, 0, until_ns);
}

bool hp_users_close_alone(struct hp_users *users, bool inside, uint64_t most_ns)
{
	uint64_t until_ns = hp_now_ns() + most_ns;

	if (inside)
		count_out(users);
	while (!hp_users_try_close(users)) {
		if (wait_open(users, until_ns))
			continue;
		hp_users_close(users);
		break;
	}
	if (inside)
		atomic_fetch_add(&users->inside, 1);
	return drain_to(users, inside ? 1 : 0, hp_now_ns() + most_ns);
}

void hp_users_reset(struct hp_users *users)
{
	atomic_store(&users->inside, 0);
	atomic_store(&users->closed, 0);
	atomic_store(&users->late, false);
}
