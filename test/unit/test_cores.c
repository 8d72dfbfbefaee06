/*
 * test_cores.c - the number of copy workers: the rule, and cgroups made of files in a folder.
 */
#include "stage/cores.h"
#include "base/parse.h"

#include "check.h"
#include "tree.h"

#define NONE UINT64_MAX

TEST(half_the_cores)
{
	static const struct {
		unsigned cores;
		uint64_t quota, period;
		unsigned threads;
	} table[] = {
		{ 0, NONE, 1, 0 },         { 1, NONE, 1, 0 },         { 2, NONE, 1, 1 },
		{ 3, NONE, 1, 1 },         { 4, NONE, 1, 2 },         { 15, NONE, 1, 7 },
		{ 16, NONE, 1, 8 },        { 17, NONE, 1, 8 },        { 1024, NONE, 1, 8 },
		{ 16, 800000, 100000, 4 }, { 16, 199999, 100000, 0 }, { 16, 200000, 100000, 1 },
		{ 2, 800000, 100000, 1 },  { 16, 50000, 100000, 0 },  { 64, 6400000, 100000, 8 },
		{ 8, 1000, 0, 4 },
	};

	for (size_t i = 0; i < HP_LEN(table); i++)
		if (!CHECK_EQ(cores_threads(table[i].cores, table[i].quota, table[i].period),
			      table[i].threads))
			printf("# row %zu\n", i);
}

static void check_quota(const char *folder, uint64_t quota_us, uint64_t period_us)
{
	uint64_t quota = 1, period = 1;

	cores_quota(folder, &quota, &period);
	CHECK_EQ(quota, quota_us);
	if (quota_us != NONE)
		CHECK_EQ(period, period_us);
}

TEST(no_cgroup_at_all)
{
	make_tree();
	check_quota(root, NONE, 0);
	remove_tree();
}

TEST(quotas_of_groups)
{
	make_tree();
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	check_quota(root, NONE, 0);
	put("/sys/fs/cgroup/a/cpu.max", "400000 100000\n");
	check_quota(root, 400000, 100000);
	/* The lower of two quotas counts, with any periods. */
	put("/sys/fs/cgroup/a/b/cpu.max", "30000 10000\n");
	check_quota(root, 30000, 10000);
	put("/sys/fs/cgroup/a/b/cpu.max", "50000 10000\n");
	check_quota(root, 400000, 100000);
	put("/sys/fs/cgroup/a/b/cpu.max", "garbage\n");
	check_quota(root, 400000, 100000);
	remove_tree();
}

TEST(in_a_namespace_of_its_own)
{
	make_tree();
	put("/proc/self/cgroup", "0::/\n");
	put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
	check_quota(root, 150000, 100000);
	remove_tree();
}

TEST(here)
{
	unsigned threads = cores_default();

	CHECK(threads <= 8);
	CHECK(threads <= (unsigned)sysconf(_SC_NPROCESSORS_ONLN) / 2);
}

CHECK_MAIN()
