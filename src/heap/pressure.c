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

#include <stddef.h>

#define MIB               ((uint64_t)1 << 20)
#define GIB               ((uint64_t)1 << 30)

/* A smaller budget is not worth the risk in a process near its limit. */
#define BUDGET_LEAST      (16 * MIB)

/* Freed blocks: the part of the memory that may stay, the part after a second, and the most. */
#define CACHE_PART        8
#define CACHE_MOST        GIB
#define FLOOR_PART        16
#define FLOOR_MOST        (32 * MIB)

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

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool is_below(uint64_t left, uint64_t whole, uint64_t part, uint64_t most)
{
	return left < least(whole / part, most);
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

/* What a cgroup leaves is never more than its limit, or than an outer one's. */
void pressure_cache(const struct pressure_facts *facts, bool attended, struct cache_bound *ret)
{
	enum pressure_level level = pressure_level(facts);
	uint64_t part = least(facts->ram, facts->cgroup_left) / CACHE_PART;
	uint64_t limit = least(facts->ram, facts->cgroup_limit);
	uint64_t floor = least(least(limit / FLOOR_PART, FLOOR_MOST), part);
	uint64_t most = attended ? least(part, CACHE_MOST) : floor;

	if (level == PRESSURE_SOME)
		most /= CACHE_PART;
	else if (level == PRESSURE_SEVERE)
		most = 0;
	*ret = (struct cache_bound){
		.most = (size_t)most,
		.floor = level == PRESSURE_NONE ? (size_t)floor : 0,
	};
}

void pressure_keep(const char *root)
{
	hp_procfile_keep((const char *const[]){ root, "/proc/pressure/memory", NULL });
	limits_keep(root);
}

uint64_t pressure_pin_budget(uint64_t ram, uint64_t cgroup_left)
{
	uint64_t budget = least(cgroup_left, ram / 2);

	return budget >= BUDGET_LEAST ? budget : 0;
}
