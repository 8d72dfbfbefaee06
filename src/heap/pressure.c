/*
 * pressure.c - pressure levels.
 *
 * The memory that is left says how near the limit is; stalls (PSI) say that the kernel already
 * reclaims.  Stalls alone mean little: the machine's stalls include those of other cgroups at their
 * limits, and a cgroup's stalls include those of tasks that read files.
 */
#include "heap/pressure.h"
#include "base/procfile.h"
#include "heap/cgroup.h"
#include "heap/limits.h"

#include <stdbool.h>
#include <stddef.h>

#define MIB               ((uint64_t)1 << 20)
#define GIB               ((uint64_t)1 << 30)

/* A smaller budget is not worth the risk in a process near its limit. */
#define BUDGET_LEAST      (16 * MIB)

/* On a large machine a small part is plenty. */
#define SEVERE_PART       32
#define SEVERE_MOST       GIB
#define SOME_PART         10
#define SOME_MOST         (4 * GIB)

/* With so many hundredths of a percent of stalls, each level begins at this part. */
#define SEVERE_STALL      1000
#define SEVERE_STALL_PART 8
#define SOME_STALL        100
#define SOME_STALL_PART   4

static bool is_below(uint64_t left, uint64_t whole, uint64_t part, uint64_t most)
{
	uint64_t bound = whole / part < most ? whole / part : most;

	return left < bound;
}

static enum pressure_level level_of(uint64_t left, uint64_t whole, unsigned stall)
{
	if (is_below(left, whole, SEVERE_PART, SEVERE_MOST) ||
	    (stall >= SEVERE_STALL && is_below(left, whole, SEVERE_STALL_PART, UINT64_MAX)))
		return PRESSURE_SEVERE;
	if (is_below(left, whole, SOME_PART, SOME_MOST) ||
	    (stall >= SOME_STALL && is_below(left, whole, SOME_STALL_PART, UINT64_MAX)))
		return PRESSURE_SOME;
	return PRESSURE_NONE;
}

enum pressure_level pressure_level(const struct pressure_facts *facts)
{
	enum pressure_level machine = level_of(facts->available, facts->ram, facts->stall);
	enum pressure_level cgroup =
		level_of(facts->cgroup_left, facts->cgroup_limit, facts->stall);

	return machine > cgroup ? machine : cgroup;
}

void pressure_look(const char *root, struct pressure_facts *ret)
{
	struct cgroup_memory cgroup;
	unsigned stall =
		hp_procfile_stall((const char *const[]){ root, "/proc/pressure/memory", NULL });

	cgroup_look(root, &cgroup);
	*ret = (struct pressure_facts){
		.ram = limits_ram(),
		.available = limits_available(root),
		.cgroup_limit = cgroup.limit,
		.cgroup_left = cgroup.left,
		.stall = stall > cgroup.stall ? stall : cgroup.stall,
	};
}

uint64_t pressure_pin_budget(uint64_t ram, uint64_t cgroup_left)
{
	uint64_t budget = cgroup_left < ram / 2 ? cgroup_left : ram / 2;

	return budget >= BUDGET_LEAST ? budget : 0;
}
