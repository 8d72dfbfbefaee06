/*
 * clock.c - functions of libc, defined anew for the program and all that it loads.
 *
 * The library's own system calls cannot be replaced, so its threads wait in the kernel for as long
 * as their timeouts say by the kernel's clock.  The kernel tells in /proc/self/task/ID/syscall
 * where each thread waits, and a thread that is woken there looks at the clock again.
 */
#include "clock.h"
#include "../src/base/bare.h"

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

#define EXPORT   __attribute__((visibility("default")))

#define SECOND   ((uint64_t)1000000000)
/* Where the clock begins: no age is longer. */
#define BEGIN_NS (100000 * SECOND)
/* How long a sleep waits at most for the test to pass its time. */
#define NAP_NS   ((uint64_t)1000000)

extern uint64_t standin_clock_ns(void) __attribute__((weak));
extern void standin_clock_pass(uint64_t ns) __attribute__((weak));

static _Atomic uint64_t counter;
static _Atomic uint32_t passed; /* a futex: how often the time was passed */

struct wait {
	unsigned long word, timeout, flags; /* addresses, 0: none; FUTEX_PRIVATE_FLAG or 0 */
};

/* No system call of libc's: one may be the library's. */
static long ask(long number, long a, long b, long c, long d)
{
	return hp_bare4(number, a, b, c, d);
}

/* While *word is `value`, for `ns` of the kernel's clock at most. */
static void wait_for(const volatile void *word, uint32_t value, uint64_t ns)
{
	struct timespec most = { .tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND) };

	hp_bare4(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, (long)value, (long)&most);
}

static void wake(const volatile void *word)
{
	hp_bare4(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, INT32_MAX, 0);
}

static uint64_t kernel_ns(void)
{
	struct timespec now;

	ask(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static bool is_real(void)
{
	static _Atomic int answer; /* 0: not asked yet, 1: no, 2: yes */

	if (answer == 0) {
		const char *text = getenv("TEST_CLOCK");

		answer = text != NULL && strcmp(text, "real") == 0 ? 2 : 1;
	}
	return answer == 2;
}

uint64_t test_clock_ns(void)
{
	if (is_real())
		return kernel_ns();
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

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			   struct timespec *left)
{
	if (is_real() || clock != CLOCK_MONOTONIC)
		return (int)-ask(SYS_clock_nanosleep, clock, flags, (long)time, (long)left);

	uint64_t until_ns = ns_of(time) + ((flags & TIMER_ABSTIME) != 0 ? 0 : test_clock_ns());
	uint64_t now_ns = test_clock_ns(), nap_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	uint64_t nap_ends_ns = kernel_ns() + (nap_ns < NAP_NS ? nap_ns : NAP_NS);

	for (; now_ns < until_ns; now_ns = test_clock_ns()) {
		uint32_t seen = passed;
		uint64_t real_ns = kernel_ns();

		if (real_ns >= nap_ends_ns)
			add(until_ns - now_ns);
		else
			wait_for((const volatile void *)&passed, seen, nap_ends_ns - real_ns);
	}
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

/* What a thread waits for: a futex.  False: for something else, or it runs. */
static bool is_waiting(int folder, const char *task, struct wait *ret)
{
	char path[64], line[256];
	unsigned long operation;
	long number;

	snprintf(path, sizeof(path), "%s/syscall", task);
	long file = ask(SYS_openat, folder, (long)path, O_RDONLY | O_CLOEXEC, 0);
	long bytes = file >= 0 ? ask(SYS_read, file, (long)line, sizeof(line) - 1, 0) : 0;

	if (file >= 0)
		ask(SYS_close, file, 0, 0, 0);
	line[bytes > 0 ? bytes : 0] = '\0';
	if (sscanf(line, "%ld %lx %lx %*x %lx", &number, &ret->word, &operation, &ret->timeout) !=
		    4 ||
	    number != SYS_futex)
		return false;
	ret->flags = operation & FUTEX_PRIVATE_FLAG;
	operation &= FUTEX_CMD_MASK;
	return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
}

/* How many other threads wait; if `wake`, those that do so with a timeout are woken. */
static int look_at_tasks(bool wake)
{
	struct entry {
		uint64_t inode, offset;
		uint16_t length;
		uint8_t type;
		char name[];
	} * entry;
	_Alignas(8) char list[4096];
	long self = ask(SYS_gettid, 0, 0, 0, 0), bytes;
	int count = 0;

	long folder = ask(SYS_openat, AT_FDCWD, (long)"/proc/self/task",
			  O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (folder < 0)
		return 0;
	while ((bytes = ask(SYS_getdents64, folder, (long)list, sizeof(list), 0)) > 0)
		for (long at = 0; at < bytes; at += entry->length) {
			struct wait wait;

			entry = (struct entry *)(list + at);
			if (entry->name[0] == '.' || atol(entry->name) == self ||
			    !is_waiting((int)folder, entry->name, &wait))
				continue;
			count++;
			if (wake && wait.timeout != 0)
				ask(SYS_futex, (long)wait.word, FUTEX_WAKE | (long)wait.flags,
				    INT32_MAX, 0);
		}
	ask(SYS_close, folder, 0, 0, 0);
	return count;
}

int test_clock_waiting(void)
{
	return look_at_tasks(false);
}

void check_look_again(void)
{
	if (!is_real())
		look_at_tasks(true);
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
