/*
 * test_perf_event.c - perf events, timers and threads of this kernel, if it allows them.
 */
#include "trace/samples/perf_event.h"
#include "base/clock.h"
#include "base/thread.h"
#include "trace/samples/signals.h"
#include "trace/samples/tasks.h"

#include "check.h"
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>

static size_t deepest;
static bool saw_burn;

__attribute__((noinline)) static void burn(void)
{
	for (volatile unsigned i = 0; i < 20000; i++)
		;
}

static void take(uint64_t now_ns, const uint64_t *chain, size_t depth, void *arg)
{
	CHECK(now_ns > 0 && now_ns <= hp_now_ns());
	(void)arg;
	deepest = depth > deepest ? depth : deepest;
	saw_burn |= chain[0] - (uintptr_t)burn < 256;
}

/* Waits until the ring has so many samples of burn(). */
static struct perf_ring_sums gather(const struct perf_ring *ring, uint64_t least)
{
	struct perf_ring_sums sums = { 0 };
	struct check_wait wait = check_wait_begin();

	while (sums.samples < least) {
		for (unsigned i = 0; i < 100; i++)
			burn();
		perf_ring_drain(ring, &sums, take, NULL);
		if (sums.samples < least && !check_wait_goes_on(&wait, "samples", __FILE__, 0))
			break;
	}
	return sums;
}

static void start_or_skip(struct perf_ring *ret)
{
	int error = perf_event_start((pid_t)syscall(SYS_gettid), ret);

	if (error == -EACCES || error == -EPERM || error == -ENOENT || error == -ENOSYS) {
		CHECK(geteuid() != 0 || perf_event_paranoid() != 2 || error != -EACCES);
		CHECK_SKIP("no perf events here");
	}
	CHECK_EQ(error, 0);
}

TEST(a_thread_is_sampled_without_a_descriptor)
{
	int before = check_descriptors();
	struct perf_ring ring;

	start_or_skip(&ring);
	CHECK_EQ(check_descriptors(), before);
	struct perf_ring_sums sums = gather(&ring, 5);
	CHECK(saw_burn);
	CHECK_EQ(sums.broken, 0);
	CHECK_EQ(sums.lost, 0);
	CHECK(perf_event_most() > 0);
	perf_event_stop(&ring);
}

static void *run_and_end(void *arg)
{
	*(_Atomic pid_t *)arg = (pid_t)syscall(SYS_gettid);
	while (*(_Atomic pid_t *)arg != 0)
		burn();
	return NULL;
}

/* The ring stays readable after its thread has ended. */
TEST(a_thread_that_has_ended)
{
	_Atomic pid_t tid = 0;
	struct perf_ring ring;
	struct perf_ring_sums sums = { 0 };

	start_or_skip(&ring);
	perf_event_stop(&ring);
	pthread_t thread = check_thread(run_and_end, (void *)&tid);
	WAIT_FOR(tid != 0);
	pid_t was = tid;
	CHECK_EQ(perf_event_start(was, &ring), 0);
	/* The first samples may be of the start of the thread. */
	WAIT_FOR(*ring.head >= 1024);
	tid = 0;
	pthread_join(thread, NULL);
	perf_ring_drain(&ring, &sums, take, NULL);
	CHECK(sums.samples > 0 && saw_burn);
	perf_event_stop(&ring);
	WAIT_FOR(perf_event_start(was, &ring) == -ESRCH);
}

static bool is_mapped(const void *address)
{
	unsigned char core;

	return mincore((void *)((uintptr_t)address & ~(uintptr_t)4095), 4096, &core) == 0;
}

TEST(a_child_of_fork_has_nothing)
{
	struct perf_ring ring;
	int before = check_descriptors();

	start_or_skip(&ring);
	if (CHECK_CHILD(0))
		_exit(is_mapped(ring.data) || check_descriptors() != before ? 1 : 0);
	CHECK(is_mapped(ring.data));
	perf_event_stop(&ring);
	CHECK(!is_mapped(ring.data));
}

/* Without privileges and without RLIMIT_MEMLOCK, the rings of all threads do not fit. */
TEST(memory_for_rings_is_limited)
{
	const struct rlimit none = { 0, 0 };
	struct perf_ring ring;
	size_t count = 0;
	int error;

	start_or_skip(&ring);
	perf_event_stop(&ring);
	if (perf_event_paranoid() > 2 || perf_event_paranoid() < 0)
		CHECK_SKIP("perf_event_paranoid does not limit this");
	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	if (geteuid() == 0)
		CHECK_EQ(setresuid(65534, 65534, 65534), 0);
	while ((error = perf_event_start(getpid(), &ring)) == 0 && count <= 2 * perf_event_most())
		count++;
	CHECK_EQ(error, -ENOBUFS);
	/* Other processes of this user may have taken some. */
	CHECK(count <= perf_event_most());
}

TEST(no_descriptor_is_free)
{
	struct rlimit limit = { 0, 0 };
	struct perf_ring ring;

	start_or_skip(&ring);
	perf_event_stop(&ring);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 0;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK_EQ(perf_event_start(getpid(), &ring), -EMFILE);
}

TEST(a_seccomp_filter_is_seen)
{
	struct perf_ring ring;

	if (tasks_is_filtered(getpid()))
		CHECK_SKIP("this machine's own filter");
	CHECK(!tasks_is_filtered((pid_t)syscall(SYS_gettid)));
	CHECK(filter_call(SYS_perf_event_open, SECCOMP_RET_ERRNO | EPERM));
	CHECK(tasks_is_filtered(getpid()));
	CHECK_EQ(perf_event_start(getpid(), &ring), -EPERM);
}

/* The filter of a service may kill the process; this is why nothing is tried under any filter. */
TEST(a_seccomp_filter_may_kill)
{
	struct perf_ring ring;

	if (CHECK_CHILD(33)) {
		const struct rlimit no_core = { 0, 0 };

		setrlimit(RLIMIT_CORE, &no_core);
		CHECK(filter_call(SYS_perf_event_open, SECCOMP_RET_KILL_PROCESS));
		if (!tasks_is_filtered(getpid()))
			perf_event_start(getpid(), &ring);
		_exit(33);
	}
}

static bool is_listed(pid_t tid)
{
	pid_t list[16];
	size_t count = tasks_list(list, 16);

	CHECK(count <= 16 && list[0] == getpid());
	for (size_t i = 0; i < count; i++)
		if (list[i] == tid)
			return true;
	return false;
}

static _Atomic pid_t of_ours;

static void *own_thread(void *unused)
{
	(void)unused;
	run_and_end((void *)&of_ours);
	return NULL;
}

TEST(the_threads_of_this_process_except_our_own)
{
	_Atomic pid_t tid = 0;
	pid_t first;

	CHECK(is_listed(getpid()));
	CHECK_EQ(hp_thread_start(own_thread, 1 << 16), 0);
	WAIT_FOR(of_ours != 0);
	CHECK(!is_listed(of_ours));
	pthread_t thread = check_thread(run_and_end, (void *)&tid);
	WAIT_FOR(tid != 0);
	CHECK(is_listed(tid));
	/* There is room for one. */
	CHECK(tasks_list(&first, 1) >= 2);
	CHECK_EQ(first, getpid());
	pid_t was = tid;
	tid = 0;
	pthread_join(thread, NULL);
	WAIT_FOR(!is_listed(was));
	pid_t ours = of_ours;
	of_ours = 0;
	WAIT_FOR(!hp_thread_is_ours(ours));
}

TEST(a_signal_samples_too)
{
	struct perf_ring ring;

	CHECK_EQ(signals_start(), 0);
	CHECK(signals_hold());
	CHECK_EQ(signals_sample((pid_t)syscall(SYS_gettid), &ring), 0);
	struct perf_ring_sums sums = gather(&ring, 5);
	CHECK(saw_burn);
	CHECK_EQ(sums.broken, 0);
	signals_end(&ring);
	CHECK_EQ(signals_sample(1 << 22, &ring), -ESRCH);
	/* The program takes the signal for itself. */
	for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
		signal(i, SIG_IGN);
	CHECK(!signals_hold());
}

TEST(no_signal_is_free)
{
	for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
		signal(i, SIG_IGN);
	CHECK_EQ(signals_start(), -EBUSY);
}

static int taken_signal(void)
{
	for (int i = SIGRTMIN; i <= SIGRTMAX; i++) {
		struct sigaction there;

		if (sigaction(i, NULL, &there) == 0 && (there.sa_flags & SA_SIGINFO))
			return i;
	}
	return 0;
}

/*
 * As doc/profile.md says about HOTPIN_SAMPLE=signal: calls that it ends early, and calls that it
 * does not.
 */
TEST(what_a_signal_disturbs)
{
	struct timespec second = { 1, 0 };
	sigset_t blocked, open, pending;
	struct perf_ring ring;
	char byte = 'x';
	int ends[2];

	CHECK_EQ(signals_start(), 0);
	int number = taken_signal();
	CHECK(number != 0);
	sigemptyset(&blocked);
	sigaddset(&blocked, number);
	CHECK_EQ(sigprocmask(SIG_BLOCK, &blocked, &open), 0);
	CHECK_EQ(signals_sample((pid_t)syscall(SYS_gettid), &ring), 0);
	do {
		burn();
		CHECK_EQ(sigpending(&pending), 0);
	} while (!sigismember(&pending, number));
	signals_end(&ring);
	/* The timer is gone; a signal may still be pending, or arrives as late as possible. */
	raise(number);
	CHECK_EQ(ppoll(NULL, 0, &second, &open), -1);
	CHECK_EQ(errno, EINTR);
	/* A waiting read continues, and the stray signal ended nothing. */
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(write(ends[1], &byte, 1), 1);
	CHECK_EQ(sigprocmask(SIG_SETMASK, &open, NULL), 0);
	CHECK_EQ(read(ends[0], &byte, 1), 1);
}

CHECK_MAIN()
