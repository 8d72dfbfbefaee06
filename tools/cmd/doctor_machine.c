/*
 * doctor_machine.c - checks memory, limits and other tools on this machine.
 *
 * The facts come from /proc and /sys.  A file that does not exist yields no finding.
 */
#include "cmd/doctor.h"
#include "base/cupti_find.h"
#include "base/options.h"
#include "base/procfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A CUDA program has some dozens of files open. */
#define FILES_LEAST 256

static void look_at_huge_pages(void)
{
	char line[256];

	if (!doctor_line("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line)))
		return;
	if (strstr(line, "[never]") != NULL)
		doctor_find(LIMITS, "huge pages",
			    "transparent huge pages are off, so pinning takes about twice as long; "
			    "`madvise` in /sys/kernel/mm/transparent_hugepage/enabled is "
			    "enough");
	else
		doctor_find(WORKS, "huge pages", "transparent huge pages: %s", line);
}

/* Returns the lowest limit from our own cgroup up to the root; UINT64_MAX if there is none. */
static uint64_t cgroup_limit(void)
{
	char line[512], path[768], *own;
	uint64_t limit = UINT64_MAX;

	/* With cgroup v1, a container sees its own group at the root. */
	if (doctor_line("/sys/fs/cgroup/memory/memory.limit_in_bytes", line, sizeof(line)))
		limit = strtoull(line, NULL, 10);
	if (!doctor_line("/proc/self/cgroup", line, sizeof(line)) ||
	    (own = strstr(line, "0::")) == NULL)
		return limit;
	for (own += 3;; *strrchr(own, '/') = '\0') {
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", own);
		char value[64];
		if (doctor_line(path, value, sizeof(value)) && value[0] != 'm') {
			uint64_t bytes = strtoull(value, NULL, 10);
			limit = bytes < limit ? bytes : limit;
		}
		if (strrchr(own, '/') == NULL)
			return limit;
	}
}

static void look_at_memory(void)
{
	uint64_t total = doctor_field("/proc/meminfo", "MemTotal:") << 10;
	uint64_t available = doctor_field("/proc/meminfo", "MemAvailable:") << 10;
	uint64_t group = cgroup_limit();

	if (total == 0)
		return;
	if (group < total)
		doctor_find(WORKS, "memory",
			    "%" PRIu64 " MiB allowed by the cgroup, of %" PRIu64 " MiB",
			    group >> 20, total >> 20);
	else
		doctor_find(WORKS, "memory", "%" PRIu64 " MiB, %" PRIu64 " MiB available",
			    total >> 20, available >> 20);

	char line[64];
	if (doctor_line("/proc/sys/vm/overcommit_memory", line, sizeof(line)) && line[0] == '2')
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

/*
 * The driver does not count what it pins as locked memory: no use of locked_vm in its open kernel
 * module, and VmLck and VmPin stay 0 (580.159.04).
 */
static void look_at_counts(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		doctor_find(WORKS, "limits",
			    "locked memory (ulimit -l) is limited to %" PRIu64
			    " KiB; the driver does not count pinned memory, so that is enough",
			    (uint64_t)limit.rlim_cur >> 10);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FILES_LEAST)
		doctor_find(LIMITS, "limits",
			    "only %" PRIu64 " files may be open (ulimit -n); beyond that, devices "
			    "cannot be opened and no profile is written; raise it",
			    (uint64_t)limit.rlim_cur);
}

static void look_at_kernel(void)
{
	char line[256];

	if (!doctor_line("/proc/sys/kernel/osrelease", line, sizeof(line)))
		return;
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
	const char *preload = getenv("LD_PRELOAD");
	static const char *const mallocs[] = { "jemalloc", "tcmalloc", "mimalloc" };
	char line[512];

	if (preload == NULL || preload[0] == '\0')
		preload = NULL;
	else if (strstr(preload, "libasan") != NULL || strstr(preload, "libclang_rt.asan") != NULL)
		doctor_find(
			FAILS, "preloaded",
			"%s: AddressSanitizer must be loaded first, so hotpin cannot be; remove it "
			"from LD_PRELOAD",
			preload);
	else
		doctor_find(WORKS, "preloaded", "%s: hotpin is loaded before it", preload);
	for (size_t i = 0; preload != NULL && i < sizeof(mallocs) / sizeof(mallocs[0]); i++)
		if (strstr(preload, mallocs[i]) != NULL)
			doctor_find(
				LIMITS, "preloaded",
				"%s replaces malloc(), so buffers are not pinned; remove it from "
				"LD_PRELOAD",
				mallocs[i]);
	if (doctor_line("/etc/ld.so.preload", line, sizeof(line)) && line[0] != '\0')
		doctor_find(WORKS, "preloaded",
			    "%s, by /etc/ld.so.preload: hotpin is loaded before it", line);
}

static void look_at_tools(void)
{
	char why[256];

	if (hp_options->cupti == HP_CUPTI_AUTO && hp_cupti_is_someone_elses(why, sizeof(why)))
		doctor_find(LIMITS, "other tools",
			    "%s, so profiles have no device times; run without that tool, or set "
			    "HOTPIN_CUPTI=force",
			    why);
	else
		doctor_find(WORKS, "other tools", "none that uses CUPTI");
}

/* Makes each call with arguments that change nothing, whether a filter allows it or not. */
void doctor_calls(void)
{
	static const struct {
		long number;
		const char *name, *loss;
	} calls[] = {
		{ SYS_madvise, "madvise", "no huge pages, and freed memory is returned late" },
		{ SYS_mincore, "mincore",
		  "copies whose pages cannot be checked are passed through" },
		{ SYS_mremap, "mremap", "realloc() of large blocks copies" },
		{ SYS_mprotect, "mprotect", "no buffer is pinned" },
	};
	char refused[256] = "";

	if (doctor_field("/proc/self/status", "Seccomp:") != 2)
		return;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		/* The kernel itself answers invalid or empty ranges with another error. */
		long answer = syscall(calls[i].number, 0L, 0L, 0L, 0L, 0L);
		if (answer == 0 || (errno != EPERM && errno != EACCES && errno != ENOSYS))
			continue;
		size_t used = strlen(refused);
		snprintf(refused + used, sizeof(refused) - used, "%s%s (%s)", used > 0 ? ", " : "",
			 calls[i].name, calls[i].loss);
	}
	if (refused[0] != '\0')
		doctor_find(LIMITS, "seccomp", "a filter refuses %s; allow it in its profile",
			    refused);
	else
		doctor_find(WORKS, "seccomp",
			    "a filter is active, as in containers; it allows all calls of hotpin");
}

void doctor_machine(void)
{
	look_at_kernel();
	look_at_huge_pages();
	look_at_memory();
	look_at_limit(RLIMIT_AS, "the address space (ulimit -v)");
	look_at_limit(RLIMIT_DATA, "data (ulimit -d)");
	look_at_counts();
	look_at_preloads();
	look_at_tools();
}
