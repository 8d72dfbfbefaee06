/*
 * doctor_machine.c - checks memory, limits and other tools on this machine.
 *
 * The facts come from /proc and /sys.  A file that does not exist yields no finding.
 */
#include "cmd/doctor.h"
#include "profile/texts.h"
#include "base/cupti_find.h"
#include "base/options.h"
#include "base/procfile.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A CUDA program has some dozens of files open. */
#define FILES_LEAST 256

struct room {
	uint64_t limit, left; /* bytes */
};

/* Returns the number that a file of the folder begins with; UINT64_MAX: none. */
static uint64_t number_in(const char *folder, const char *name)
{
	char text[64];

	return doctor_read(text_made("%s/%s", folder, name), text, sizeof(text))
		       ? hp_procfile_number(text)
		       : UINT64_MAX;
}

/* Takes the limit of the cgroup in this folder if it leaves less. */
static void look_at_group(const char *folder, const char *limit_name, const char *used_name,
			  struct room *least)
{
	struct room room = { .limit = number_in(folder, limit_name) };
	uint64_t used = number_in(folder, used_name);

	if (room.limit == UINT64_MAX)
		return;
	/* The kernel drops these pages first. */
	uint64_t cached = doctor_field(text_made("%s/memory.stat", folder), "inactive_file");
	used = used == UINT64_MAX || used < cached ? 0 : used - cached;
	room.left = used < room.limit ? room.limit - used : 0;
	if (room.left < least->left)
		*least = room;
}

/* Returns the room of the cgroup that leaves least, from our own up to the root. */
static struct room cgroup_room(void)
{
	char text[1024], *own;
	struct room least = { UINT64_MAX, UINT64_MAX };

	/* With cgroup v1, a container sees its own group at the root. */
	look_at_group("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
		      &least);
	if (!doctor_read("/proc/self/cgroup", text, sizeof(text)) ||
	    (own = (char *)hp_procfile_field(text, "0")) == NULL)
		return least;
	for (own[strcspn(own, "\n")] = '\0';; *strrchr(own, '/') = '\0') {
		look_at_group(text_made("/sys/fs/cgroup%s", own), "memory.max", "memory.current",
			      &least);
		if (strrchr(own, '/') == NULL)
			return least;
	}
}

static void look_at_memory(void)
{
	struct room machine = { doctor_field("/proc/meminfo", "MemTotal") << 10,
				doctor_field("/proc/meminfo", "MemAvailable") << 10 };
	struct room group = cgroup_room();
	bool of_group = group.limit < machine.limit;
	const struct room *room = of_group ? &group : &machine;
	char line[256];

	if (room->left < room->limit / 8)
		doctor_find(
			LIMITS, "memory",
			"%" PRIu64 " MiB%s, %" PRIu64 " MiB available: pinned memory is never "
			"swapped out, so a program that pins more may be killed; free some memory",
			room->limit >> 20, of_group ? " allowed by the cgroup" : "",
			room->left >> 20);
	if (doctor_read("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line)) &&
	    strstr(line, "[never]") != NULL)
		doctor_find(LIMITS, "huge pages",
			    "transparent huge pages are off, so pinning takes about twice as long; "
			    "`madvise` in /sys/kernel/mm/transparent_hugepage/enabled is "
			    "enough");
	if (doctor_read("/proc/sys/vm/overcommit_memory", line, sizeof(line)) && line[0] == '2')
		doctor_find(
			LIMITS, "overcommit",
			"vm.overcommit_memory is 2, which limits address space, so no buffer is "
			"pinned; set it to 0 or 1 by sysctl");
}

static void look_at_limit(int resource, const char *name)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY)
		doctor_find(LIMITS, "limits",
			    "%s is limited to %" PRIu64
			    " MiB, but hotpin reserves addresses, so no "
			    "buffer is pinned; lift the limit",
			    name, (uint64_t)limit.rlim_cur >> 20);
}

static void look_at_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FILES_LEAST)
		doctor_find(LIMITS, "limits",
			    "only %" PRIu64 " files may be open (ulimit -n); beyond that, devices "
			    "cannot be opened and no profile is written; raise it",
			    (uint64_t)limit.rlim_cur);
}

static void look_at_kernel(void)
{
	char line[256];

	if (!doctor_read("/proc/sys/kernel/osrelease", line, sizeof(line)))
		return;
	line[strcspn(line, "\n")] = '\0';
	if (strstr(line, "microsoft") != NULL || strstr(line, "WSL") != NULL)
		doctor_find(
			LIMITS, "wsl",
			"%s: Windows limits pinned memory, so buffers may stay pageable; CUPTI may "
			"refuse, and profiles then have no device times",
			line);
	if (!hp_procfile_fork_keeps_pins(line))
		doctor_find(LIMITS, "kernel",
			    "Linux %s: before 5.9 a fork moves pinned pages away, so no buffer is "
			    "pinned; large copies are staged",
			    line);
}

static void look_at_preloads(void)
{
	static const char *const mallocs[] = { "jemalloc", "tcmalloc", "mimalloc" };
	const char *preload = getenv("LD_PRELOAD");

	if (preload == NULL)
		return;
	if (strstr(preload, "libasan") != NULL || strstr(preload, "libclang_rt.asan") != NULL)
		doctor_find(
			FAILS, "preloaded",
			"%s: AddressSanitizer must be loaded first, so hotpin cannot be; remove it "
			"from LD_PRELOAD",
			preload);
	for (size_t i = 0; i < sizeof(mallocs) / sizeof(mallocs[0]); i++)
		if (strstr(preload, mallocs[i]) != NULL)
			doctor_find(
				LIMITS, "preloaded",
				"%s replaces malloc(), so buffers are not pinned; remove it from "
				"LD_PRELOAD",
				mallocs[i]);
}

static void look_at_tools(void)
{
	char why[256];

	if (hp_options->cupti == HP_CUPTI_AUTO && hp_cupti_is_someone_elses(why, sizeof(why)))
		doctor_find(LIMITS, "other tools",
			    "%s, so profiles have no device times; run without that tool, or set "
			    "HOTPIN_CUPTI=force",
			    why);
}

void doctor_machine(void)
{
	look_at_kernel();
	look_at_memory();
	look_at_limit(RLIMIT_AS, "the address space (ulimit -v)");
	look_at_limit(RLIMIT_DATA, "data (ulimit -d)");
	look_at_files();
	look_at_preloads();
	look_at_tools();
}
