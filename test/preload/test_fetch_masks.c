/*
 * test_fetch_masks.c - threads and handlers that touch a closed page with SIGSEGV blocked by a mask
 * that nobody has set with sigprocmask(): that of a wait, of a new thread, of a context, of a
 * timer; and what such a wait reads itself.
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

int pause_as_on_a_bsd(int mask) __asm__("sigpause");
int pause_either_way(int signal_or_mask, int is_signal) __asm__("__sigpause");

TEST_WITH(pauses_as_on_a_bsd, FETCHING)
{
	about_to_wait();
	has_waited(pause_as_on_a_bsd(~(1 << (SIGUSR1 - 1))));
}

TEST_WITH(pauses_with_a_mask, FETCHING)
{
	about_to_wait();
	has_waited(pause_either_way(~(1 << (SIGUSR1 - 1)), 0));
}

TEST_WITH(pauses_for_a_signal, FETCHING)
{
	about_to_wait();
	has_waited(pause_either_way(SIGUSR1, 1));
}

/* What the kernel itself reads and writes there. */
static int among_the_data(int (*waits)(void))
{
	block = learned();
	dup2(open("/dev/null", O_RDWR), 0);
	fetch(block, ++seed);
	return waits();
}

static int select_there(void)
{
	return select(1, (fd_set *)block, NULL, NULL, &(struct timeval){ .tv_usec = 1000 });
}

static int pselect_there(void)
{
	return pselect(1, NULL, (fd_set *)block, NULL, &(struct timespec){ .tv_nsec = 1 }, NULL);
}

static int wait_that_long(void)
{
	struct epoll_event event;
	int (*wait2)(int, struct epoll_event *, int, const struct timespec *, const sigset_t *) =
		dlsym(RTLD_DEFAULT, "epoll_pwait2");

	errno = ENOSYS;
	return wait2 == NULL ? -1
			     : wait2(epoll_create1(0), &event, 1, (struct timespec *)block, NULL);
}

TEST_WITH(sets_to_select, FETCHING)
{
	CHECK(among_the_data(select_there) >= 0);
}

/* As programs that are built with _FORTIFY_SOURCE call them. */
int __poll_chk(struct pollfd *files, nfds_t count, int patience_ms, size_t room);
ssize_t __readlink_chk(const char *name, char *to, size_t bytes, size_t room);

static int poll_there(void)
{
	return __poll_chk((struct pollfd *)block, 1, 0, BLOCK);
}

static int read_a_link(void)
{
	return (int)__readlink_chk("/proc/self/exe", block, BLOCK, BLOCK);
}

TEST_WITH(files_to_poll, FETCHING)
{
	CHECK(among_the_data(poll_there) >= 0);
}

TEST_WITH(name_of_a_link, FETCHING)
{
	CHECK(among_the_data(read_a_link) > 0);
}

TEST_WITH(sets_to_pselect, FETCHING)
{
	CHECK(among_the_data(pselect_there) >= 0);
}

/* Its bytes are no time; glibc has the call since 2.35. */
TEST_WITH(time_to_wait, FETCHING)
{
	CHECK(among_the_data(wait_that_long) == -1 && (errno == EINVAL || errno == ENOSYS));
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
