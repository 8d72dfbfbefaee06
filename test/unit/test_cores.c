/*
 * test_cores.c - the number of copy workers: the rule, and cgroups made of files in a folder.
 */
#include "stage/workers.h"
#include "base/parse.h"
#include "heap/limits.h"

#include "check.h"
#include "tree.h"

#define NONE UINT64_MAX

TEST(half_the_cores)
{
	static const struct {
		uint64_t cpus;
		unsigned workers;
	} table[] = {
		{ 0, 0 },  { 1, 0 },  { 2, 1 },  { 3, 1 },    { 4, 2 },
		{ 15, 7 }, { 16, 8 }, { 17, 8 }, { 1024, 8 }, { NONE, 8 },
	};

	for (size_t i = 0; i < HP_LEN(table); i++)
		if (!CHECK_EQ(workers_for(table[i].cpus), table[i].workers))
			printf("# row %zu\n", i);
}

TEST_AFTER(no_cgroup_at_all, make_tree())
{
	CHECK_EQ(limits_cpus(root), NONE);
}

TEST_AFTER(quotas_of_groups, make_tree())
{
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	CHECK_EQ(limits_cpus(root), NONE);
	put("/sys/fs/cgroup/a/cpu.max", "400000 100000\n");
	CHECK_EQ(limits_cpus(root), 4);
	/* The lower of two quotas counts, with any periods. */
	put("/sys/fs/cgroup/a/b/cpu.max", "30000 10000\n");
	CHECK_EQ(limits_cpus(root), 3);
	put("/sys/fs/cgroup/a/b/cpu.max", "50000 10000\n");
	CHECK_EQ(limits_cpus(root), 4);
	put("/sys/fs/cgroup/a/b/cpu.max", "garbage\n");
	CHECK_EQ(limits_cpus(root), 4);
}

TEST_AFTER(in_a_namespace_of_its_own, make_tree())
{
	put("/proc/self/cgroup", "0::/\n");
	put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
	CHECK_EQ(limits_cpus(root), 1);
}

CHECK_MAIN()
