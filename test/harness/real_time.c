/*
 * real_time.c - priorities and CPUs of threads, by system calls.
 */
#include "real_time.h"
#include "check.h"

#include <sched.h>
#include <sys/resource.h>

void real_time_prepare(void)
{
	const struct sched_param first = { .sched_priority = 1 }, none = { 0 };
	struct rlimit limit = { REAL_TIME_MOST_US, 100 * REAL_TIME_MOST_US };
	cpu_set_t all, one;

	CPU_ZERO(&all);
	CPU_ZERO(&one);
	/* Asks the kernel, because clock.c answers for libc. */
	CHECK(syscall(SYS_sched_getaffinity, 0, sizeof(all), &all) > 0);
	for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
	CHECK_EQ(setrlimit(RLIMIT_RTTIME, &limit), 0);
	if (sched_setscheduler(0, SCHED_FIFO, &first) != 0)
		CHECK_SKIP("no right to real-time priority");
	CHECK_EQ(sched_setscheduler(0, SCHED_OTHER, &none), 0);
}

void real_time_enter(void)
{
	const struct sched_param first = { .sched_priority = 1 };

	CHECK_EQ(sched_setscheduler(0, SCHED_FIFO, &first), 0);
}

void real_time_burn(void)
{
	struct timespec begun, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - begun.tv_sec) * 1000000000 + now.tv_nsec - begun.tv_nsec < 10000000);
}
