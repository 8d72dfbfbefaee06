/*
 * limits.c - resource limits, /proc/meminfo, and the cgroups in /proc/self/cgroup at the usual
 * mount points.  May run under the lock heap inside malloc().
 *
 * Usage of a cgroup includes the page cache, which is most of it in a program that reads files.
 * The inactive list of files is subtracted, as in the "working set" of container managers.
 *
 * The memory that is left says how near the limit is.  Stalls (PSI) would not: the machine's
 * include those of other cgroups at their limits, and a cgroup's those of tasks that read files.
 */
#define _GNU_SOURCE
#include "heap/limits.h"
#include "base/arena.h"
#include "base/bounds.h"
#include "base/parse.h"
#include "base/procfile.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#define MIB          ((uint64_t)1 << 20)
#define GIB          ((uint64_t)1 << 30)

/* A smaller budget is not worth the risk in a process near its limit. */
#define BUDGET_LEAST (16 * MIB)

/* Freed blocks: the part of the memory that may stay, the part after a second, and the most. */
#define CACHE_PART   8
#define CACHE_MOST   GIB
#define FLOOR_PART   16
#define FLOOR_MOST   (32 * MIB)

/* On a large machine a small part is plenty. */
#define SEVERE_PART  32
#define SEVERE_MOST  GIB
#define SOME_PART    10
#define SOME_MOST    (4 * GIB)

/*
 * The room for the text of a file of a group, and for the list of groups: v1 has a line for each of
 * a dozen hierarchies, and the names of containers in containers take hundreds of bytes.
 */
#define TEXT_BYTES   ((size_t)4 << 10)
#define LIST_BYTES   ((size_t)12 << 10)

/* The pieces of a file's name, for base/procfile.h. */
#define PATH(...)    ((const char *const[]){ __VA_ARGS__, NULL })

uint64_t limits_ram(bool with_swap)
{
	struct sysinfo info = { 0 };
	int saved = errno;

	sysinfo(&info);
	errno = saved;
	uint64_t bytes = (info.totalram + (with_swap ? info.totalswap : 0)) * info.mem_unit;
	return bytes != 0 ? bytes : GIB;
}

static bool is_limited(int resource)
{
	struct rlimit limit;
	int saved = errno;
	bool is = getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;

	errno = saved;
	return is;
}

/* The kernel does not say so.  Any thread. */
static _Atomic bool mappings_are_locked;

void limits_lock_mappings(void)
{
	atomic_store(&mappings_are_locked, true);
}

bool limits_ration_space(void)
{
	char text[16];
	/* This file is read in any case, so that it is kept (hp_procfile_keep()). */
	bool strict =
		hp_procfile_read(text, sizeof(text), PATH("/proc/sys/vm/overcommit_memory")) &&
		text[0] == '2';

	return strict || is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA) ||
	       (atomic_load(&mappings_are_locked) && is_limited(RLIMIT_MEMLOCK));
}

bool limits_huge_everywhere(const char *root)
{
	char text[64];

	return hp_procfile_read(text, sizeof(text),
				PATH(root, "/sys/kernel/mm/transparent_hugepage/enabled")) &&
	       strstr(text, "[always]") != NULL;
}

/* The files of cgroups that limit memory, in one version. */
struct version {
	const char *mount;
	const char *limits[2]; /* the hard limit, and one that slows the group down; or NULL */
	const char *usage;
	const char *reclaimable; /* in memory.stat; includes inner groups */
};

static const struct version v1 = {
	.mount = "/sys/fs/cgroup/memory",
	.limits = { "/memory.limit_in_bytes", NULL },
	.usage = "/memory.usage_in_bytes",
	.reclaimable = "total_inactive_file",
};

static const struct version v2 = {
	.mount = "/sys/fs/cgroup",
	.limits = { "/memory.max", "/memory.high" },
	.usage = "/memory.current",
	.reclaimable = "inactive_file",
};

/* A group, whose files are in the folder `name` ("": the outermost) below a mount point. */
struct group {
	const char *root, *name;
	bool is_v2;
	char *text; /* TEXT_BYTES for a file of the group */
};

typedef void look_fn(const struct group *group, void *to);

/* True if `memory` is in the comma-separated list. */
static bool lists_memory(char *list)
{
	for (char *one; (one = strsep(&list, ",")) != NULL;)
		if (strcmp(one, "memory") == 0)
			return true;
	return false;
}

/* Reads one line of /proc/self/cgroup, "id:controllers:/group"; v2 has no controllers. */
static void look_at_line(char *line, struct group *group, look_fn *look, void *to)
{
	strsep(&line, ":");
	char *controllers = strsep(&line, ":"), *name = line;

	if (name == NULL)
		return;
	group->is_v2 = controllers[0] == '\0';
	if (!group->is_v2 && !lists_memory(controllers))
		return;
	if (strcmp(name, "/") == 0)
		*name = '\0';
	group->name = name;
	for (char *slash;; *slash = '\0') {
		look(group, to);
		slash = strrchr(name, '/');
		if (slash == NULL)
			return;
	}
}

/*
 * Calls `look` for each group of v2, and for each that limits memory in v1, inner ones first.
 * False: there is no memory for that.  The texts do not lie on the stack, because this runs in
 * malloc() and free(), and a thread may have as little as PTHREAD_STACK_MIN.
 */
static bool each_group(const char *root, look_fn *look, void *to)
{
	char *text = hp_arena_alloc(LIST_BYTES + TEXT_BYTES);

	if (text == NULL)
		return false;
	struct group group = { .root = root, .text = text + LIST_BYTES };
	char *lines = text;
	if (hp_procfile_read(text, LIST_BYTES, PATH(root, "/proc/self/cgroup")))
		for (char *line; (line = strsep(&lines, "\n")) != NULL;)
			look_at_line(line, &group, look, to);
	hp_arena_free(text, LIST_BYTES + TEXT_BYTES);
	return true;
}

/* Returns the first number of a file of the group; UINT64_MAX: there is none. */
static uint64_t value(const struct group *group, const char *mount, const char *file)
{
	char text[32];

	if (!hp_procfile_read(text, sizeof(text), PATH(group->root, mount, group->name, file)))
		return UINT64_MAX;
	return hp_procfile_number(text);
}

static uint64_t limit_of(const struct group *group, const struct version *version)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 2 && version->limits[i] != NULL; i++) {
		uint64_t limit = value(group, version->mount, version->limits[i]);

		/* v1 writes "none" as the largest multiple of a page. */
		if (limit < (uint64_t)1 << 62)
			least = hp_least(least, limit);
	}
	return least;
}

static uint64_t used_of(const struct group *group, const struct version *version)
{
	uint64_t used = value(group, version->mount, version->usage), free = 0;
	const char *field;

	if (used == UINT64_MAX)
		return 0;
	if (hp_procfile_read(group->text, TEXT_BYTES,
			     PATH(group->root, version->mount, group->name, "/memory.stat")) &&
	    (field = hp_procfile_field(group->text, version->reclaimable)) != NULL)
		free = hp_procfile_number(field);
	return hp_above(used, free);
}

static void look_at_group(const struct group *group, void *to)
{
	struct limits *ret = to;
	const struct version *version = group->is_v2 ? &v2 : &v1;
	uint64_t limit = limit_of(group, version);

	if (limit == UINT64_MAX && !hp_procfile_keeps())
		return;
	/* A limit may be set later, so files that say what is used are kept in any case. */
	uint64_t used = used_of(group, version), left = hp_above(limit, used);
	if (limit == UINT64_MAX)
		return;
	if (left < ret->cgroup_left) {
		ret->cgroup_left = left;
		ret->cgroup_limit = limit;
	}
}

void limits_look_at_cgroup(const char *root, struct limits *ret)
{
	*ret = (struct limits){
		.ram = limits_ram(false),
		.available = UINT64_MAX,
		.cgroup_limit = UINT64_MAX,
		.cgroup_left = UINT64_MAX,
	};
	/* Where there is no memory for the question, nothing may be kept. */
	if (!each_group(root, look_at_group, ret))
		ret->cgroup_limit = ret->cgroup_left = 0;
}

void limits_look(const char *root, struct limits *ret)
{
	char text[1024];
	const char *field = NULL;

	limits_look_at_cgroup(root, ret);
	if (hp_procfile_read(text, sizeof(text), PATH(root, "/proc/meminfo")))
		field = hp_procfile_field(text, "MemAvailable");
	uint64_t kib = field != NULL ? hp_procfile_number(field) : UINT64_MAX;
	if (kib <= UINT64_MAX / 1024)
		ret->available = kib * 1024;
}

/* cpu.max: "max 100000" or "150000 100000", quota and period in us. */
static void look_at_cpus(const struct group *group, void *to)
{
	char text[64];
	uint64_t *least = to;

	if (!group->is_v2 ||
	    !hp_procfile_read(text, sizeof(text),
			      PATH(group->root, v2.mount, group->name, "/cpu.max")))
		return;
	const char *blank = strchr(text, ' ');
	uint64_t quota = hp_procfile_number(text);
	uint64_t period = blank != NULL ? hp_procfile_number(blank + 1) : 0;
	if (quota != UINT64_MAX && period != 0)
		*least = hp_least(*least, quota / period);
}

uint64_t limits_cpus(const char *root)
{
	uint64_t least = UINT64_MAX;

	each_group(root, look_at_cpus, &least);
	return least;
}

static bool is_below(uint64_t left, uint64_t whole, uint64_t part, uint64_t most)
{
	return left < hp_least(whole / part, most);
}

static enum pressure_level level_of(uint64_t left, uint64_t whole)
{
	if (is_below(left, whole, SEVERE_PART, SEVERE_MOST))
		return PRESSURE_SEVERE;
	return is_below(left, whole, SOME_PART, SOME_MOST) ? PRESSURE_SOME : PRESSURE_NONE;
}

enum pressure_level limits_pressure(const struct limits *limits)
{
	enum pressure_level machine = level_of(limits->available, limits->ram);
	enum pressure_level cgroup = level_of(limits->cgroup_left, limits->cgroup_limit);

	return machine > cgroup ? machine : cgroup;
}

/* What a cgroup leaves is never more than its limit, or than an outer one's. */
void limits_cache(const struct limits *limits, bool attended, struct cache_bound *ret)
{
	enum pressure_level level = limits_pressure(limits);
	uint64_t part = hp_least(limits->ram, limits->cgroup_left) / CACHE_PART;
	uint64_t limit = hp_least(limits->ram, limits->cgroup_limit);
	uint64_t floor = hp_least(hp_least(limit / FLOOR_PART, FLOOR_MOST), part);
	uint64_t most = attended ? hp_least(part, CACHE_MOST) : floor;

	if (level == PRESSURE_SOME)
		most /= CACHE_PART;
	else if (level == PRESSURE_SEVERE)
		most = 0;
	*ret = (struct cache_bound){
		.most = (size_t)most,
		.floor = level == PRESSURE_NONE ? (size_t)floor : 0,
	};
}

uint64_t limits_pin_budget(const struct limits *limits)
{
	uint64_t budget = hp_least(limits->cgroup_left, limits->ram / 2);

	return budget >= BUDGET_LEAST ? budget : 0;
}
