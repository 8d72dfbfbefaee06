/*
 * test_fetch_signal.c - SIGSEGV belongs to the program, and it cannot tell that we have it.
 */
#include "fetch.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

/* Old programs have them still. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define PAGE ((size_t)4096)

static char *block;
static unsigned seed = 10;
static volatile sig_atomic_t calls;
static void *volatile last_address;
static volatile sig_atomic_t blocked; /* in the handler: SIGSEGV 1, SIGUSR1 2 */
static char *own_page;                /* the program's; without access */

static void open_own_page(int number, siginfo_t *info, void *frame)
{
	sigset_t now;

	(void)number, (void)frame;
	calls++;
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	blocked = sigismember(&now, SIGSEGV) + 2 * sigismember(&now, SIGUSR1);
	last_address = info->si_addr;
	mprotect(own_page, PAGE, PROT_READ | PROT_WRITE);
}

static void count_it(int number)
{
	(void)number;
	calls++;
}

static void close_own_page(void)
{
	if (own_page == NULL)
		own_page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(own_page != MAP_FAILED);
	mprotect(own_page, PAGE, PROT_NONE);
}

static void handle(int flags)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | flags };

	action.sa_sigaction = open_own_page;
	sigaddset(&action.sa_mask, SIGUSR1);
	CHECK_EQ(sigaction(SIGSEGV, &action, NULL), 0);
}

static bool handles(int flags)
{
	struct sigaction now;

	return sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_sigaction == open_own_page &&
	       (now.sa_flags & ~0x04000000) == (SA_SIGINFO | flags) &&
	       sigismember(&now.sa_mask, SIGUSR1) == 1 && sigismember(&now.sa_mask, SIGUSR2) == 0;
}

/* A copy that comes back early, and bytes that are right all the same. */
static void fetch_and_touch(void)
{
	fetch(block, ++seed);
	CHECK(holds(block, BLOCK, seed));
}

/* A fault that is the program's comes to it once, and to nobody else. */
static void fault_natively(void)
{
	int before = calls;

	close_own_page();
	((volatile char *)own_page)[8] = 1;
	CHECK_EQ(calls, before + 1);
	CHECK(last_address == own_page + 8);
}

/* No copy comes back early any more, or always did wait: bytes are right. */
static void touch_at_once(void)
{
	give(++seed);
	memset(block, 0xee, BLOCK);
	OK(cuMemcpyDtoH_v2(block, there, BLOCK));
	CHECK(!is_on_its_way());
	CHECK(holds(block, BLOCK, seed));
}

TEST_WITH(handler_before, FETCHING)
{
	handle(0);
	block = learned();
	CHECK(handles(0));
	fetch_and_touch();
	CHECK_EQ(calls, 0);
	CHECK(handles(0));
	fault_natively();
	CHECK_EQ(blocked, 3);
	touch_at_once();
	fault_natively();
	CHECK_EQ(blocked, 3);
	CHECK(handles(0));
}

TEST_WITH(handler_after, FETCHING)
{
	struct sigaction old;

	block = learned();
	CHECK_EQ(sigaction(SIGSEGV, NULL, &old), 0);
	CHECK(old.sa_handler == SIG_DFL);
	handle(SA_RESTART);
	CHECK(handles(SA_RESTART));
	fetch_and_touch();
	CHECK_EQ(calls, 0);
	fault_natively();
}

TEST_WITH(once, FETCHING)
{
	struct sigaction now;

	block = learned();
	handle((int)SA_RESETHAND);
	fetch_and_touch();
	CHECK(handles((int)SA_RESETHAND));
	fault_natively();
	CHECK_EQ(sigaction(SIGSEGV, NULL, &now), 0);
	CHECK(now.sa_handler == SIG_DFL);
}

TEST_WITH(old_ways, FETCHING)
{
	struct sigaction now;

	block = learned();
	CHECK(signal(SIGSEGV, count_it) == SIG_DFL);
	CHECK_EQ(sigaction(SIGSEGV, NULL, &now), 0);
	CHECK(now.sa_handler == count_it && (now.sa_flags & SA_RESTART));
	fetch_and_touch();
	CHECK(sysv_signal(SIGSEGV, SIG_IGN) == count_it);
	CHECK(signal(SIGSEGV, SIG_DFL) == SIG_IGN);
	fetch_and_touch();
	CHECK(sigset(SIGSEGV, count_it) == SIG_DFL);
	CHECK(sigset(SIGSEGV, SIG_DFL) == count_it);
	CHECK_EQ(sigignore(SIGSEGV), 0);
	CHECK(signal(SIGSEGV, SIG_DFL) == SIG_IGN);
	errno = 0;
	CHECK(signal(SIGSEGV, SIG_ERR) == SIG_ERR && errno == EINVAL);
	fetch_and_touch();
	CHECK_EQ(calls, 0);
}

/* How a child ends that does `what`, once a copy came back early. */
static int end_of(void (*what)(void))
{
	int status = -1;

	fflush(stdout);
	/* Not fork(): there is no device in such a child.  A thread's fault ends the process. */
	pid_t child = fork();
	if (child == 0) {
		what();
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void touch_nothing(void)
{
	*(volatile int *)NULL = 1;
}

static void touch_what_nobody_may(void)
{
	close_own_page();
	*own_page = 1;
}

static void ignore_and_touch(void)
{
	signal(SIGSEGV, SIG_IGN);
	raise(SIGSEGV);
	touch_nothing();
}

static void ignore(void)
{
	signal(SIGSEGV, SIG_IGN);
	raise(SIGSEGV);
	kill(getpid(), SIGSEGV);
	_exit(3);
}

static void be_killed(void)
{
	raise(SIGSEGV);
}

static void reset_and_raise(int number)
{
	signal(number, SIG_DFL);
	raise(number);
}

/* As crash reporters do. */
static void report_and_die(void)
{
	signal(SIGSEGV, reset_and_raise);
	touch_nothing();
}

TEST_WITH(deaths, FETCHING)
{
	block = learned();
	fetch_and_touch();
	CHECK_EQ(end_of(touch_nothing), SIGSEGV);
	CHECK_EQ(end_of(touch_what_nobody_may), SIGSEGV);
	CHECK_EQ(end_of(ignore_and_touch), SIGSEGV);
	CHECK_EQ(end_of(ignore), -3);
	CHECK_EQ(end_of(be_killed), SIGSEGV);
	CHECK_EQ(end_of(report_and_die), SIGSEGV);
	fetch_and_touch();
}

/* In this very process, with bytes on their way. */
TEST_WITH(death_meanwhile, FETCHING)
{
	int status = -1;

	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		block = learned();
		fetch(block, 3);
		touch_nothing();
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static sigjmp_buf back;

static void jump_back(int number)
{
	(void)number;
	calls++;
	siglongjmp(back, 1);
}

TEST_WITH(jump_out, FETCHING)
{
	block = learned();
	signal(SIGSEGV, jump_back);
	for (volatile int i = 0; i < 3; i++) {
		give(++seed);
		memset(block, 0xee, BLOCK);
		OK(cuMemcpyDtoH_v2(block, there, BLOCK));
		if (sigsetjmp(back, 1) == 0)
			touch_nothing();
		CHECK(holds(block, BLOCK, seed));
	}
	CHECK_EQ(calls, 3);
}

/* The program's handler looks at the data itself. */
static bool seen_right;

static void look_and_open(int number)
{
	(void)number;
	calls++;
	seen_right = holds(block, BLOCK, seed);
	mprotect(own_page, PAGE, PROT_READ | PROT_WRITE);
}

TEST_WITH(touched_by_the_handler, FETCHING)
{
	block = learned();
	signal(SIGSEGV, look_and_open);
	close_own_page();
	fetch(block, ++seed);
	*(volatile char *)own_page = 1;
	CHECK_EQ(calls, 1);
	CHECK(seen_right);
	touch_at_once();
}

static void look(int number)
{
	(void)number;
	calls++;
	seen_right = holds(block, BLOCK, seed);
}

/* Every other handler may look, with all signals blocked, and on a stack of its own. */
TEST_WITH(touched_by_other_handlers, FETCHING)
{
	static char stack[64 << 10];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_flags = SA_ONSTACK }, now;

	action.sa_handler = look;
	sigfillset(&action.sa_mask);
	CHECK_EQ(sigaltstack(&other, NULL), 0);
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	block = learned();
	for (int i = 0; i < 3; i++) {
		seen_right = false;
		fetch(block, ++seed);
		raise(SIGUSR1);
		CHECK(seen_right);
	}
	CHECK_EQ(calls, 3);
	CHECK_EQ(sigaction(SIGUSR1, NULL, &now), 0);
	CHECK_EQ(sigismember(&now.sa_mask, SIGSEGV), 1);
	sigdelset(&action.sa_mask, SIGSEGV);
	CHECK_EQ(sigaction(SIGUSR1, &action, &now), 0);
	CHECK_EQ(sigismember(&now.sa_mask, SIGSEGV), 1);
	CHECK_EQ(sigaction(SIGUSR1, NULL, &now), 0);
	CHECK_EQ(sigismember(&now.sa_mask, SIGSEGV), 0);
}

#define THREADS 64

static pthread_barrier_t start;
static _Atomic int right;

static void *touch_a_part(void *arg)
{
	size_t at = (size_t)(uintptr_t)arg * (BLOCK / THREADS);
	static char stacks[THREADS][32 << 10];
	stack_t other = { .ss_sp = stacks[(uintptr_t)arg], .ss_size = sizeof(stacks[0]) };

	/* Half of them with a stack for signals. */
	if ((uintptr_t)arg % 2)
		sigaltstack(&other, NULL);
	pthread_barrier_wait(&start);
	right += holds_from(block + at, at, BLOCK / THREADS, seed);
	other.ss_flags = SS_DISABLE;
	sigaltstack(&other, NULL);
	return NULL;
}

TEST_WITH(many_threads, FETCHING)
{
	pthread_t threads[THREADS];

	block = learned();
	for (int turn = 0; turn < 3; turn++) {
		right = 0;
		pthread_barrier_init(&start, NULL, THREADS + 1);
		for (size_t i = 0; i < THREADS; i++)
			CHECK_EQ(pthread_create(&threads[i], NULL, touch_a_part, (void *)i), 0);
		fetch(block, ++seed);
		pthread_barrier_wait(&start);
		for (size_t i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		CHECK_EQ(right, THREADS);
	}
}

static ucontext_t main_context, other_context;

static void run_coroutine(void)
{
	right = holds(block, BLOCK, seed);
}

TEST_WITH(coroutine, FETCHING)
{
	static char stack[64 << 10];

	block = learned();
	fetch(block, ++seed);
	getcontext(&other_context);
	other_context.uc_stack.ss_sp = stack;
	other_context.uc_stack.ss_size = sizeof(stack);
	other_context.uc_link = &main_context;
	makecontext(&other_context, run_coroutine, 0);
	CHECK_EQ(swapcontext(&main_context, &other_context), 0);
	CHECK(right);
}

/* Threads that poll a page which one of them closes, as virtual machines do. */
static _Atomic bool stop_polling;

static void reopen_or_wait(int number, siginfo_t *info, void *frame)
{
	(void)number, (void)frame;
	calls++;
	last_address = info->si_addr;
	mprotect(own_page, PAGE, PROT_READ);
}

static void *poll_page(void *arg)
{
	while (!stop_polling)
		(void)*(volatile char *)own_page;
	return arg;
}

TEST_WITH(safepoints, FETCHING)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_ONSTACK };
	pthread_t threads[2];

	action.sa_sigaction = reopen_or_wait;
	sigaction(SIGSEGV, &action, NULL);
	block = learned();
	close_own_page();
	mprotect(own_page, PAGE, PROT_READ);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, poll_page, NULL);
	for (int i = 0; i < 8; i++) {
		give(++seed);
		memset(block, 0xee, BLOCK);
		OK(cuMemcpyDtoH_v2(block, there, BLOCK));
		mprotect(own_page, PAGE, PROT_NONE);
		CHECK(holds(block, BLOCK, seed));
		pause_ms(1);
	}
	stop_polling = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK(calls > 0 && last_address == own_page);
}

static void block_it(int way)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	if (way == 0)
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	else if (way == 1)
		sigprocmask(SIG_SETMASK, &set, NULL);
	else
		sighold(SIGSEGV);
}

static void blocked_by(int way)
{
	block = learned();
	fetch(block, ++seed);
	block_it(way);
	CHECK(holds(block, BLOCK, seed));
	touch_at_once();
}

TEST_WITH(blocked_by_thread, FETCHING)
{
	blocked_by(0);
}

TEST_WITH(blocked_by_process, FETCHING)
{
	blocked_by(1);
}

TEST_WITH(blocked_by_hold, FETCHING)
{
	blocked_by(2);
}

/* Past libc; a program that does so gets nothing closed any more. */
TEST_WITH(replaced_past_us, FETCHING)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} action = { .handler = SIG_DFL }, before;

	block = learned();
	fetch_and_touch();
	CHECK_EQ(syscall(SYS_rt_sigaction, SIGSEGV, &action, &before, 8), 0);
	touch_at_once();
	touch_at_once();
	/* For good. */
	CHECK_EQ(syscall(SYS_rt_sigaction, SIGSEGV, &before, NULL, 8), 0);
	for (int i = 0; i < 6; i++) {
		OK(cuMemcpyDtoH_v2(block, there, BLOCK));
		CHECK(!is_on_its_way());
		pause_ms(3);
	}
}

TEST_WITH(blocked_past_us, FETCHING)
{
	unsigned long mask = 1ul << (SIGSEGV - 1);

	block = learned();
	fetch_and_touch();
	CHECK_EQ(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, 8), 0);
	touch_at_once();
}

PRELOAD_MAIN()
