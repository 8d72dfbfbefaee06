/*
 * doctor_machine.c - memory, limits and other tools on this machine.
 *
 * Read from /proc and /sys; a file that is not there is not a finding.
 */
#include "doctor.h"
#include "base/cupti_find.h"
#include "base/options.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static bool read_line(const char *path, char *ret, int room)
{
	FILE *file = fopen(path, "re");

	if (file == NULL)
		return false;
	bool got = fgets(ret, room, file) != NULL;
	fclose(file);
	if (got)
		ret[strcspn(ret, "\n")] = '\0';
	return got;
}

/* A "Name:   number" line of a /proc file, 0 where there is none. */
static uint64_t read_field(const char *path, const char *name)
{
	FILE *file = fopen(path, "re");
	char line[256];
	uint64_t value = 0;

	if (file == NULL)
		return 0;
	while (fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtoull(line + strlen(name), NULL, 10);
	fclose(file);
	return value;
}

static void look_at_huge_pages(void)
{
	char line[256];

	if (!read_line("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line)))
		return;
	if (strstr(line, "[never]") != NULL)
		doctor_find(LIMITS, "huge pages",
			    "transparent huge pages are off: pinning takes about twice as long; "
			    "`madvise` in /sys/kernel/mm/transparent_hugepage/enabled is enough");
	else
		doctor_find(WORKS, "huge pages", "transparent huge pages: %s", line);
}

/* The tightest limit from our own cgroup up to the root; UINT64_MAX: none. */
static uint64_t cgroup_limit(void)
{
	char line[512], path[768], *own;
	uint64_t limit = UINT64_MAX;

	/* Version 1 shows the group of the container itself at the root. */
	if (read_line("/sys/fs/cgroup/memory/memory.limit_in_bytes", line, sizeof(line)))
		limit = strtoull(line, NULL, 10);
	if (!read_line("/proc/self/cgroup", line, sizeof(line)) ||
	    (own = strstr(line, "0::")) == NULL)
		return limit;
	for (own += 3;; *strrchr(own, '/') = '\0') {
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", own);
		char value[64];
		if (read_line(path, value, sizeof(value)) && value[0] != 'm') {
			uint64_t bytes = strtoull(value, NULL, 10);
			limit = bytes < limit ? bytes : limit;
		}
		if (strrchr(own, '/') == NULL)
			return limit;
	}
}

static void look_at_memory(void)
{
	uint64_t total = read_field("/proc/meminfo", "MemTotal:") << 10;
	uint64_t available = read_field("/proc/meminfo", "MemAvailable:") << 10;
	uint64_t group = cgroup_limit();

	if (total == 0)
		return;
	if (group < total)
		doctor_find(WORKS, "memory",
			    "%" PRIu64 " MiB allowed by the control group, of %" PRIu64 " MiB",
			    group >> 20, total >> 20);
	else
		doctor_find(WORKS, "memory", "%" PRIu64 " MiB, %" PRIu64 " MiB available",
			    total >> 20, available >> 20);

	char line[64];
	if (read_line("/proc/sys/vm/overcommit_memory", line, sizeof(line)) && line[0] == '2')
		doctor_find(LIMITS, "overcommit",
			    "vm.overcommit_memory is 2, which rations addresses: no buffer is "
			    "pinned");
}

static void look_at_limit(int resource, const char *name)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY)
		doctor_find(LIMITS, "limits",
			    "%s is limited to %" PRIu64 " MiB, which rations addresses: no buffer "
			    "is pinned",
			    name, (uint64_t)limit.rlim_cur >> 20);
}

static void look_at_tools(void)
{
	const char *preload = getenv("LD_PRELOAD");
	bool alone = true;
	char why[256];

	if (preload != NULL && preload[0] != '\0') {
		doctor_find(WORKS, "preloaded", "%s: hotpin goes before it", preload);
		alone = false;
	}
	if (hp_options->cupti == HP_CUPTI_AUTO && hp_cupti_is_someone_elses(why, sizeof(why))) {
		doctor_find(LIMITS, "other tools", "%s: the profile has no device times", why);
		alone = false;
	}
	if (alone)
		doctor_find(WORKS, "other tools", "none");
	if (read_field("/proc/self/status", "TracerPid:") != 0)
		doctor_find(LIMITS, "debugger", "attached to this process");
	if (read_field("/proc/self/status", "Seccomp:") == 2)
		doctor_find(WORKS, "seccomp", "a filter is active, as in containers");
}

void doctor_machine(void)
{
	look_at_huge_pages();
	look_at_memory();
	look_at_limit(RLIMIT_AS, "the address space (ulimit -v)");
	look_at_limit(RLIMIT_DATA, "data (ulimit -d)");
	look_at_tools();
}
