/*
 * test_fetch_masks.c - threads and handlers that touch a closed page with SIGSEGV blocked by a mask
 * that nobody has set with sigprocmask(): that of a wait, of a new thread, of a context, of a
 * timer.
 */
#include "fetch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <ucontext.h>

/* Old programs have them still. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static char *block;
static unsigned seed = 10;
static _Atomic bool looked;
static bool right;

static void look(int number)
{
	(void)number;
	right = holds(block, BLOCK, seed);
	looked = true;
}

static sigset_t all_but_usr1(void)
{
	sigset_t set;

	sigfillset(&set);
	sigdelset(&set, SIGUSR1);
	return set;
}

/* A handler waits for what is to come, and looks at a block that is closed. */
static sigset_t about_to_wait(void)
{
	sigset_t one;

	signal(SIGUSR1, look);
	block = learned();
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	sigprocmask(SIG_BLOCK, &one, NULL);
	fetch(block, ++seed);
	raise(SIGUSR1);
	CHECK(!looked);
	return all_but_usr1();
}

static void has_waited(int result)
{
	CHECK(result == -1 && errno == EINTR);
	CHECK(looked && right);
}

TEST_WITH(suspended, FETCHING)
{
	sigset_t set = about_to_wait();

	has_waited(sigsuspend(&set));
}

TEST_WITH(selects, FETCHING)
{
	sigset_t set = about_to_wait();

	has_waited(pselect(0, NULL, NULL, NULL, NULL, &set));
}

TEST_WITH(polls, FETCHING)
{
	sigset_t set = about_to_wait();

	has_waited(ppoll(NULL, 0, NULL, &set));
}

TEST_WITH(waits_for_events, FETCHING)
{
	sigset_t set = about_to_wait();
	struct epoll_event event;

	has_waited(epoll_pwait(epoll_create1(0), &event, 1, -1, &set));
}

/* Its mask cannot be read: the kernel says so. */
TEST_WITH(no_mask, FETCHING)
{
	sigset_t *nowhere = (sigset_t *)8;

	about_to_wait();
	CHECK(ppoll(NULL, 0, NULL, nowhere) == -1 && errno == EFAULT);
	CHECK(sigsuspend(nowhere) == -1 && errno == EFAULT);
	CHECK(holds(block, BLOCK, seed));
}

static void look_with(int (*block_it)(int mask))
{
	block = learned();
	fetch(block, ++seed);
	block_it(1 << (SIGSEGV - 1));
	look(0);
	CHECK(right);
}

TEST_WITH(blocked_as_on_a_bsd, FETCHING)
{
	look_with(sigblock);
}

TEST_WITH(set_as_on_a_bsd, FETCHING)
{
	look_with(sigsetmask);
}

static void *look_in_thread(void *arg)
{
	look(0);
	return arg;
}

TEST_WITH(thread_made_so, FETCHING)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t set = all_but_usr1();

	block = learned();
	fetch(block, ++seed);
	pthread_attr_init(&attributes);
	CHECK_EQ(pthread_attr_setsigmask_np(&attributes, &set), 0);
	CHECK_EQ(pthread_create(&thread, &attributes, look_in_thread, NULL), 0);
	pthread_join(thread, NULL);
	CHECK(looked && right);
}

static ucontext_t here, other;

static void look_in_context(void)
{
	look(0);
}

TEST_WITH(context_made_so, FETCHING)
{
	static char stack[64 << 10];

	block = learned();
	fetch(block, ++seed);
	getcontext(&other);
	other.uc_stack.ss_sp = stack;
	other.uc_stack.ss_size = sizeof(stack);
	other.uc_link = &here;
	sigfillset(&other.uc_sigmask);
	makecontext(&other, look_in_context, 0);
	CHECK_EQ(swapcontext(&here, &other), 0);
	CHECK(looked && right);
}

static void look_in_time(union sigval value)
{
	(void)value;
	look(0);
}

TEST_WITH(timer_in_a_thread, FETCHING)
{
	const struct itimerspec soon = { .it_value = { .tv_nsec = 1000000 } };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD };
	timer_t timer;

	block = learned();
	fetch(block, ++seed);
	event.sigev_notify_function = look_in_time;
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	CHECK_EQ(timer_settime(timer, 0, &soon, NULL), 0);
	for (int i = 0; i < 1000 && !looked; i++)
		pause_ms(10);
	CHECK(looked && right);
}

PRELOAD_MAIN()
