/*
 * clock.c - functions of libc, defined again for the program and everything that it loads.
 *
 * The library's own system calls cannot be replaced, so its threads wait in the kernel until their
 * timeout by the kernel's clock.  /proc/self/task/ID shows in which call each thread waits, and a
 * thread that is woken there looks at the clock again.
 */
#include "clock.h"
#include "bare.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#define EXPORT       __attribute__((visibility("default")))

#define SECOND       ((uint64_t)1000000000)
/* The start of the clock, larger than any expiry. */
#define BEGIN_NS     (100000 * SECOND)
/*
 * A sleep of the code under test ends when all other threads wait: nothing else can happen before.
 * Running threads get several times its length as CPU time, so a busy machine changes nothing.
 * Threads that really sleep get all their time.
 */
#define RUN_FACTOR   10
#define RUN_MOST_NS  100000000
#define SLEEP_MOST_S 10
#define LOOK_NS      ((uint64_t)100000)

extern uint64_t standin_clock_ns(void) __attribute__((weak));
extern void standin_clock_pass(uint64_t ns) __attribute__((weak));

static _Atomic uint64_t counter;
static _Atomic uint32_t passed; /* a futex: how often time was passed */
static _Atomic int napping;     /* threads in clock_nanosleep() */

/* What the other threads of this process are doing; the others wait in any other call. */
struct others {
	int running, in_futex, sleeping; /* in a sleep by the kernel's clock */
	uint64_t turns;                  /* their ids, and how often each has begun to wait */
};

static struct others look_at_others(bool wake);

/* Makes a system call without libc, whose function the library may replace. */
static long ask(long number, long a, long b, long c, long d)
{
	return bare4(number, a, b, c, d);
}

/* Waits while *word is `value`, for at most `ns` by the kernel's clock. */
static void wait_for(const volatile void *word, uint32_t value, uint64_t ns)
{
	struct timespec most = { .tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND) };

	bare4(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, (long)value, (long)&most);
}

static void wake(const volatile void *word)
{
	bare4(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, INT32_MAX, 0);
}

static uint64_t kernel_ns(clockid_t clock)
{
	struct timespec now;

	ask(SYS_clock_gettime, clock, (long)&now, 0, 0);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static bool is_real(void)
{
	static _Atomic int answer; /* 0: unknown, 1: no, 2: yes */

	if (answer == 0) {
		const char *text = getenv("TEST_CLOCK");

		answer = text != NULL && strcmp(text, "real") == 0 ? 2 : 1;
	}
	return answer == 2;
}

uint64_t test_clock_ns(void)
{
	if (is_real())
		return kernel_ns(CLOCK_MONOTONIC);
	return BEGIN_NS + (standin_clock_ns != NULL ? standin_clock_ns() : atomic_load(&counter));
}

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *ret)
{
	if (is_real() || (clock != CLOCK_MONOTONIC && clock != CLOCK_MONOTONIC_COARSE)) {
		long error = ask(SYS_clock_gettime, clock, (long)ret, 0, 0);

		errno = error < 0 ? (int)-error : errno;
		return error < 0 ? -1 : 0;
	}
	uint64_t now_ns = test_clock_ns();
	*ret = (struct timespec){ .tv_sec = (time_t)(now_ns / SECOND),
				  .tv_nsec = (long)(now_ns % SECOND) };
	return 0;
}

static void add(uint64_t ns)
{
	if (standin_clock_pass != NULL)
		standin_clock_pass(ns);
	else
		atomic_fetch_add(&counter, ns);
	atomic_fetch_add(&passed, 1);
	wake((const volatile void *)&passed);
}

/* The CPU time of all other threads.  The two clocks are read in succession, so it may decrease. */
static int64_t others_ran_ns(void)
{
	return (int64_t)kernel_ns(CLOCK_PROCESS_CPUTIME_ID) -
	       (int64_t)kernel_ns(CLOCK_THREAD_CPUTIME_ID);
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			   struct timespec *left)
{
	if (is_real() || clock != CLOCK_MONOTONIC)
		return (int)-ask(SYS_clock_nanosleep, clock, flags, (long)time, (long)left);

	uint64_t until_ns = ns_of(time) + ((flags & TIMER_ABSTIME) != 0 ? 0 : test_clock_ns());
	uint64_t now_ns = test_clock_ns(), begun_ns = kernel_ns(CLOCK_MONOTONIC);
	int64_t ran_ns = others_ran_ns(), most_ns = RUN_MOST_NS;
	if (until_ns > now_ns && (until_ns - now_ns) * RUN_FACTOR < RUN_MOST_NS)
		most_ns = (int64_t)(until_ns - now_ns) * RUN_FACTOR;

	napping++;
	for (; now_ns < until_ns; now_ns = test_clock_ns()) {
		uint32_t seen = passed;
		struct others others = look_at_others(false);
		bool over = kernel_ns(CLOCK_MONOTONIC) - begun_ns >= SLEEP_MOST_S * SECOND;

		if (others.sleeping != 0)
			ran_ns = others_ran_ns();
		else if (others.running == 0 || others_ran_ns() - ran_ns >= most_ns)
			over = true;
		if (over)
			add(until_ns - now_ns);
		else
			wait_for((const volatile void *)&passed, seen, LOOK_NS);
	}
	napping--;
	return 0;
}

EXPORT int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *ret)
{
	const char *wanted = getenv("TEST_CORES");
	int cores = wanted != NULL ? atoi(wanted) : 4;

	(void)pid;
	CPU_ZERO_S(bytes, ret);
	for (int i = 0; i < cores; i++)
		CPU_SET_S((size_t)i, bytes, ret);
	return 0;
}

static long read_file(int folder, const char *task, const char *name, char *ret, size_t room)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", task, name);
	long file = ask(SYS_openat, folder, (long)path, O_RDONLY | O_CLOEXEC, 0);
	long bytes = file >= 0 ? ask(SYS_read, file, (long)ret, (long)room - 1, 0) : 0;

	if (file >= 0)
		ask(SYS_close, file, 0, 0, 0);
	ret[bytes > 0 ? bytes : 0] = '\0';
	return bytes;
}

/*
 * Adds the thread's turns.  True if it waits for another thread, or for time: a thread that the
 * kernel lets wait uninterruptibly, for memory or for a lock of its own, goes on by itself.
 */
static bool has_stopped(int folder, const char *task, uint64_t *turns)
{
	static const char field[] = "\nvoluntary_ctxt_switches:";
	char text[2048];

	read_file(folder, task, "status", text, sizeof(text));
	const char *switches = strstr(text, field);
	*turns += strtoull(task, NULL, 10);
	if (switches != NULL)
		*turns += strtoull(switches + strlen(field), NULL, 10);
	return strstr(text, "\nState:\tR") == NULL && strstr(text, "\nState:\tD") == NULL;
}

static void look_at(int folder, const char *task, bool wake, struct others *ret)
{
	char line[256], name[32];
	unsigned long word = 0, operation = 0, timeout = 0;
	long number = -1;

	if (read_file(folder, task, "syscall", line, sizeof(line)) <= 0)
		return;
	int fields = sscanf(line, "%ld %lx %lx %*x %lx", &number, &word, &operation, &timeout);
	/* The thread has ended, or is the kernel's: the stand-in holds pages by io_uring. */
	if (number < 0 && (read_file(folder, task, "comm", name, sizeof(name)) <= 0 ||
			   strncmp(name, "iou-", 4) == 0))
		return;
	if (!has_stopped(folder, task, &ret->turns) || fields < 1) {
		ret->running++;
		return;
	}
	/* Only a sanitizer's own thread uses SYS_nanosleep; glibc does not. */
	if (number == SYS_clock_nanosleep) {
		ret->sleeping++;
		return;
	}
	unsigned long wait = operation & FUTEX_CMD_MASK;
	if (number != SYS_futex || (wait != FUTEX_WAIT && wait != FUTEX_WAIT_BITSET))
		return;
	ret->in_futex++;
	if (wake && timeout != 0)
		ask(SYS_futex, (long)word, FUTEX_WAKE | (long)(operation & FUTEX_PRIVATE_FLAG),
		    INT32_MAX, 0);
}

/* With `wake`, threads that wait for a word with a timeout are woken. */
static struct others look_at_others(bool wake)
{
	struct entry {
		uint64_t inode, offset;
		uint16_t length;
		uint8_t type;
		char name[];
	} * entry;
	_Alignas(8) char list[4096];
	long self = ask(SYS_gettid, 0, 0, 0, 0), bytes;
	struct others others = { 0 };

	long folder = ask(SYS_openat, AT_FDCWD, (long)"/proc/self/task",
			  O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (folder < 0)
		return others;
	while ((bytes = ask(SYS_getdents64, folder, (long)list, sizeof(list), 0)) > 0)
		for (long at = 0; at < bytes; at += entry->length) {
			entry = (struct entry *)(list + at);
			if (entry->name[0] != '.' && atol(entry->name) != self)
				look_at((int)folder, entry->name, wake, &others);
		}
	ask(SYS_close, folder, 0, 0, 0);
	return others;
}

/*
 * The threads are looked at in succession.  One that waited may since have been woken by one that
 * waits now, so all must have waited from one look to the next.
 */
static bool others_wait(bool may_sleep)
{
	struct others before = look_at_others(false);
	if (before.running != 0 || (!may_sleep && (before.sleeping != 0 || napping != 0)))
		return false;
	struct others now = look_at_others(false);

	return now.running == 0 && now.sleeping == before.sleeping && now.turns == before.turns;
}

bool test_clock_blocked(void)
{
	return others_wait(true);
}

int test_clock_sleeping(void)
{
	return look_at_others(false).sleeping;
}

bool test_clock_settled(void)
{
	return others_wait(false);
}

int test_clock_napping(void)
{
	return napping;
}

int test_clock_waiting(void)
{
	return look_at_others(false).in_futex;
}

void check_look_again(void)
{
	if (!is_real())
		look_at_others(true);
}

void test_clock_pass(uint64_t ns)
{
	struct timespec length = { .tv_sec = (time_t)(ns / SECOND),
				   .tv_nsec = (long)(ns % SECOND) };

	if (ns == 0)
		return;
	if (is_real())
		ask(SYS_nanosleep, (long)&length, 0, 0, 0);
	else
		add(ns);
	check_look_again();
}
