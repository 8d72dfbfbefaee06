/*
 * limits.c - RAM, resource limits, and what is left of the machine's memory.
 *
 * May run under the lock heap inside malloc().
 */
#define _GNU_SOURCE
#include "heap/limits.h"
#include "base/procfile.h"
#include "heap/cgroup.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

static void memory(uint64_t *ret_ram, uint64_t *ret_swap)
{
	struct sysinfo info;
	int saved = errno;

	memset(&info, 0, sizeof(info));
	sysinfo(&info);
	errno = saved;
	*ret_ram = (uint64_t)info.totalram * info.mem_unit;
	*ret_swap = (uint64_t)info.totalswap * info.mem_unit;
	if (*ret_ram == 0)
		*ret_ram = (uint64_t)1 << 30;
}

uint64_t limits_ram(void)
{
	uint64_t ram, swap;

	memory(&ram, &swap);
	return ram;
}

uint64_t limits_ram_and_swap(void)
{
	uint64_t ram, swap;

	memory(&ram, &swap);
	return ram + swap;
}

static bool is_limited(int resource)
{
	struct rlimit limit;
	int saved = errno;
	bool is = getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;

	errno = saved;
	return is;
}

static const char *const overcommit[] = { "/proc/sys/vm/overcommit_memory", NULL };

/* The kernel does not say so.  Any thread. */
static _Atomic bool mappings_are_locked;

void limits_lock_mappings(void)
{
	atomic_store(&mappings_are_locked, true);
}

bool limits_ration_space(void)
{
	char text[16];

	if (is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA) ||
	    (atomic_load(&mappings_are_locked) && is_limited(RLIMIT_MEMLOCK)))
		return true;
	return hp_procfile_read(text, sizeof(text), overcommit) && text[0] == '2';
}

uint64_t limits_available(const char *root)
{
	char text[1024];
	const char *field = NULL;
	uint64_t kib = UINT64_MAX;

	if (hp_procfile_read(text, sizeof(text),
			     (const char *const[]){ root, "/proc/meminfo", NULL }))
		field = hp_procfile_field(text, "MemAvailable");
	if (field != NULL)
		kib = hp_procfile_number(field);
	return kib > UINT64_MAX / 1024 ? UINT64_MAX : kib * 1024;
}

uint64_t limits_cgroup_left(const char *root)
{
	struct cgroup_memory cgroup;

	cgroup_look(root, &cgroup);
	return cgroup.left;
}

void limits_keep(const char *root)
{
	hp_procfile_keep(overcommit);
	hp_procfile_keep((const char *const[]){ root, "/proc/meminfo", NULL });
	cgroup_keep(root);
}
