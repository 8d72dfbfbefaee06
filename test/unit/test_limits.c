/*
 * test_limits.c - resource limits turn the heap off; cgroup limits are read from made-up trees of
 * files.
 */
#include "heap/limits.h"
#include "heap/heap.h"
#include "heap/map.h"

#include "heap_check.h"
#include "tree.h"
#include "sizes.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

static void check_limited(int resource)
{
	struct rlimit limit = { 64 * GIB, RLIM_INFINITY };

#ifdef __SANITIZE_THREAD__
	CHECK_SKIP("the sanitizer itself needs more");
#endif
	CHECK(!limits_ration_space());
	CHECK_EQ(setrlimit(resource, &limit), 0);
	CHECK(limits_ration_space());
	errno = 55;
	CHECK(heap_alloc(MIB, 0, false, 0) == NULL);
	CHECK_EQ(heap_bytes, 0);
	CHECK_EQ(errno, 55);
	CHECK_EQ(heap_check(), 0);

	/* The limit is read once: a refusal stays. */
	limit.rlim_cur = RLIM_INFINITY;
	CHECK_EQ(setrlimit(resource, &limit), 0);
	CHECK(heap_alloc(MIB, 0, false, 0) == NULL);
}

CASE(rationed_address_space_is_left_alone, check_limited(RLIMIT_AS))
CASE(rationed_data_is_left_alone, check_limited(RLIMIT_DATA))

static bool refused;

/* Replaces libc's, which limits.c calls: a system call filter may refuse it. */
int sysinfo(struct sysinfo *info)
{
	if (refused) {
		errno = EPERM;
		return -1;
	}
	return (int)syscall(SYS_sysinfo, info);
}

TEST(ram_that_the_kernel_does_not_say)
{
	refused = true;
	errno = 55;
	CHECK_EQ(limits_ram(false), GIB);
	CHECK_EQ(limits_ram(true), GIB);
	CHECK_EQ(errno, 55);
	refused = false;
}

TEST(ram_is_what_the_kernel_says)
{
	unsigned long kib = 0;
	char text[4096];

	if (sscanf(check_read("/proc/meminfo", text, sizeof(text)), "MemTotal: %lu kB", &kib) != 1)
		CHECK_SKIP("no /proc/meminfo");
	CHECK_EQ(limits_ram(false) / 1024, kib);
	CHECK(limits_ram(true) >= limits_ram(false));
}

static uint64_t cgroup_left(void)
{
	struct limits limits;

	limits_look_at_cgroup(root, &limits);
	return limits.cgroup_left;
}

TEST_AFTER(where_2_mib_pages_are_used, make_tree())
{
	const char *path = "/sys/kernel/mm/transparent_hugepage/enabled";

	CHECK(!limits_huge_everywhere(root));
	put(path, "always [madvise] never\n");
	CHECK(!limits_huge_everywhere(root));
	put(path, "[always] madvise never\n");
	CHECK(limits_huge_everywhere(root));
}

TEST_AFTER(no_cgroup_at_all, make_tree())
{
	CHECK_EQ(cgroup_left(), UINT64_MAX);
	put("/proc/self/cgroup", "");
	CHECK_EQ(cgroup_left(), UINT64_MAX);
	put("/proc/self/cgroup", "0::/\n");
	CHECK_EQ(cgroup_left(), UINT64_MAX);
	put("/proc/self/cgroup", "nonsense\n7\n::\n0:\n");
	CHECK_EQ(cgroup_left(), UINT64_MAX);
}

TEST_AFTER(version_2, make_tree())
{
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/b/memory.max", "max\n");
	put("/sys/fs/cgroup/a/b/memory.current", "1000\n");
	CHECK_EQ(cgroup_left(), UINT64_MAX);
	put("/sys/fs/cgroup/a/b/memory.max", "8000\n");
	CHECK_EQ(cgroup_left(), 7000);
	/* The enclosing groups count too. */
	put("/sys/fs/cgroup/a/memory.max", "9000\n");
	put("/sys/fs/cgroup/a/memory.current", "8900\n");
	CHECK_EQ(cgroup_left(), 100);
	put("/sys/fs/cgroup/a/memory.current", "9001\n");
	CHECK_EQ(cgroup_left(), 0);
}

static void *ask_if(void *arg)
{
	if (arg != NULL)
		cgroup_left();
	return NULL;
}

/* free() asks, also in a thread with a stack of PTHREAD_STACK_MIN. */
TEST_AFTER(little_of_the_stack, make_tree())
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	CHECK_SKIP("the sanitizer itself needs more");
#endif
	put("/proc/self/cgroup", "0::/a\n");
	put("/sys/fs/cgroup/a/memory.max", "8000\n");
	put("/sys/fs/cgroup/a/memory.current", "1000\n");
	put("/sys/fs/cgroup/a/memory.stat", "inactive_file 500\n");
	CHECK_EQ(cgroup_left(), 7500);
	CHECK(check_stack_used(ask_if, root) <= check_stack_used(ask_if, NULL) + 4096);
}

TEST_AFTER(no_memory_to_ask, make_tree())
{
	struct rlimit none = { 0, RLIM_INFINITY };

#ifdef __SANITIZE_THREAD__
	CHECK_SKIP("the sanitizer itself needs more");
#endif
	CHECK_EQ(setrlimit(RLIMIT_AS, &none), 0);
	errno = 55;
	CHECK_EQ(cgroup_left(), 0);
	CHECK_EQ(errno, 55);
}

TEST_AFTER(version_2_in_a_container, make_tree())
{
	put("/proc/self/cgroup", "0::/\n");
	put("/sys/fs/cgroup/memory.max", "5000\n");
	put("/sys/fs/cgroup/memory.current", "2000\n");
	CHECK_EQ(cgroup_left(), 3000);
	/* A group that this mount does not show: the root of the mount counts. */
	put("/proc/self/cgroup", "0::/docker/1234\n");
	CHECK_EQ(cgroup_left(), 3000);
}

TEST_AFTER(version_1, make_tree())
{
	put("/proc/self/cgroup", "12:cpu,cpuacct:/x\n5:memory:/x\n1:name=systemd:/x\n0::/y\n");
	put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "1\n");
	CHECK_EQ(cgroup_left(), UINT64_MAX);
	put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "600\n");
	CHECK_EQ(cgroup_left(), 599);
	/* Lines of other controllers do not count, even if a name begins in the same way. */
	put("/proc/self/cgroup", "12:cpu,memory2:/x\n0::/y\n");
	CHECK_EQ(cgroup_left(), UINT64_MAX);
	put("/proc/self/cgroup", "12:cpu,memory:/x\n0::/y\n");
	CHECK_EQ(cgroup_left(), 599);
}

/* Containers in containers: the names of a dozen groups. */
TEST_AFTER(long_names, make_tree())
{
	char text[8192], name[600];
	size_t used = 0;

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (int id = 12; id > 1; id--)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%d:other%d:/%s\n", id,
					 id, name);
	snprintf(text + used, sizeof(text) - used, "1:memory:/x\n0::/y\n");
	put("/proc/self/cgroup", text);
	put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "600\n");
	put("/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "1\n");
	CHECK_EQ(cgroup_left(), 599);
}

/* Memory that the kernel would drop first does not count as used. */
TEST_AFTER(page_cache_is_not_usage, make_tree())
{
	put("/proc/self/cgroup", "0::/a\n");
	put("/sys/fs/cgroup/a/memory.max", "8000\n");
	put("/sys/fs/cgroup/a/memory.current", "7000\n");
	put("/sys/fs/cgroup/a/memory.stat", "anon 100\nfile 6000\ninactive_anon 7\n"
					    "inactive_file 4000\nactive_file 1\n");
	CHECK_EQ(cgroup_left(), 5000);
	put("/sys/fs/cgroup/a/memory.stat", "inactive_file 9000\n");
	CHECK_EQ(cgroup_left(), 8000);
	put("/sys/fs/cgroup/a/memory.stat", "inactive_file_too 9000\n");
	CHECK_EQ(cgroup_left(), 1000);

	/* In v1 only the names with this prefix include inner groups. */
	put("/proc/self/cgroup", "5:memory:/x\n");
	put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "600\n");
	put("/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "500\n");
	put("/sys/fs/cgroup/memory/x/memory.stat", "inactive_file 7\ntotal_inactive_file 300\n");
	CHECK_EQ(cgroup_left(), 400);
}

/* Beyond memory.high the kernel slows the group down. */
TEST_AFTER(the_lower_of_two_limits, make_tree())
{
	put("/proc/self/cgroup", "0::/a\n");
	put("/sys/fs/cgroup/a/memory.max", "8000\n");
	put("/sys/fs/cgroup/a/memory.high", "3000\n");
	put("/sys/fs/cgroup/a/memory.current", "1000\n");
	CHECK_EQ(cgroup_left(), 2000);
	put("/sys/fs/cgroup/a/memory.high", "max\n");
	CHECK_EQ(cgroup_left(), 7000);
}

TEST_AFTER(names_that_are_too_long, make_tree())
{
	static char line[3000];

	memset(line, 'x', sizeof(line) - 1);
	memcpy(line, "0::/", 4);
	put("/proc/self/cgroup", line);
	put("/sys/fs/cgroup/memory.max", "5000\n");
	CHECK_EQ(cgroup_left(), 5000);
}

TEST_AFTER(quotas_of_groups, make_tree())
{
	CHECK_EQ(limits_cpus(root), UINT64_MAX);
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	CHECK_EQ(limits_cpus(root), UINT64_MAX);
	put("/sys/fs/cgroup/a/cpu.max", "400000 100000\n");
	CHECK_EQ(limits_cpus(root), 4);
	/* The lower of two quotas counts, with any periods. */
	put("/sys/fs/cgroup/a/b/cpu.max", "30000 10000\n");
	CHECK_EQ(limits_cpus(root), 3);
	put("/sys/fs/cgroup/a/b/cpu.max", "50000 10000\n");
	CHECK_EQ(limits_cpus(root), 4);
	put("/sys/fs/cgroup/a/b/cpu.max", "garbage\n");
	CHECK_EQ(limits_cpus(root), 4);
	/* In a namespace of its own. */
	put("/proc/self/cgroup", "0::/\n");
	put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
	CHECK_EQ(limits_cpus(root), 1);
}

CHECK_MAIN()
