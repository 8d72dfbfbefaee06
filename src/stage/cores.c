/*
 * cores.c - from the affinity mask and the cgroup's CPU quota to a number of threads.
 */
#define _GNU_SOURCE
#include "stage/cores.h"
#include "base/procfile.h"
#include "heap/cgroup.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define THREADS_MOST 8u

unsigned cores_threads(unsigned cores, uint64_t quota_us, uint64_t period_us)
{
	if (quota_us != UINT64_MAX && period_us != 0) {
		/* A fraction of a core does not count: the program itself needs it. */
		uint64_t allowed = quota_us / period_us;

		if (allowed < cores)
			cores = (unsigned)allowed;
	}
	return cores / 2 < THREADS_MOST ? cores / 2 : THREADS_MOST;
}

struct quota {
	uint64_t quota_us, period_us;
};

/* True if `a` is tighter.  Periods are a second at most, quotas some thousand seconds. */
static bool is_tighter(const struct quota *a, const struct quota *b)
{
	if (a->quota_us >> 40 != 0 || a->period_us == 0 || a->period_us >> 20 != 0)
		return false;
	return b->quota_us == UINT64_MAX || a->quota_us * b->period_us < b->quota_us * a->period_us;
}

/* cpu.max: "max 100000" or "150000 100000". */
static bool read_quota(const struct cgroup *at, struct quota *ret)
{
	char text[64];

	if (!hp_procfile_read(text, sizeof(text),
			      (const char *const[]){ at->root, "/sys/fs/cgroup", at->group,
						     "/cpu.max", NULL }))
		return false;
	const char *blank = strchr(text, ' ');
	if (blank == NULL || text[0] < '0' || text[0] > '9')
		return false;
	ret->quota_us = hp_procfile_number(text);
	ret->period_us = hp_procfile_number(blank + 1);
	return true;
}

static void look_at(const struct cgroup *at, void *to)
{
	struct quota quota, *tightest = to;

	if (at->is_v2 && read_quota(at, &quota) && is_tighter(&quota, tightest))
		*tightest = quota;
}

void cores_quota(const char *root, uint64_t *ret_quota_us, uint64_t *ret_period_us)
{
	struct quota tightest = { UINT64_MAX, 1 };

	cgroup_each(root, "cpu", look_at, &tightest);
	*ret_quota_us = tightest.quota_us;
	*ret_period_us = tightest.period_us;
}

unsigned cores_default(void)
{
	int saved = errno;
	cpu_set_t mask;
	uint64_t quota_us, period_us;

	/* Fails on machines of more than 1024 cores. */
	unsigned cores = 2 * THREADS_MOST;
	if (sched_getaffinity(0, sizeof(mask), &mask) == 0)
		cores = (unsigned)CPU_COUNT(&mask);
	cores_quota("", &quota_us, &period_us);
	errno = saved;
	return cores_threads(cores, quota_us, period_us);
}
