/*
 * test_pressure.c - memory pressure: a table of facts, and facts read from made-up trees of files.
 */
#include "heap/limits.h"
#include "base/procfile.h"

#include "tree.h"
#include "sizes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>

#define NONE UINT64_MAX

static const struct row {
	struct limits facts; /* RAM, available, the cgroup's limit, left in it */
	enum pressure_level level;
} table[] = {
	/* Nothing is known, nothing is limited. */
	{ { 24 * GIB, NONE, NONE, NONE }, PRESSURE_NONE },
	/* The machine: less than a tenth, or than a thirty-second, is available. */
	{ { 20 * GIB, 20 * GIB, NONE, NONE }, PRESSURE_NONE },
	{ { 20 * GIB, 2 * GIB, NONE, NONE }, PRESSURE_NONE },
	{ { 20 * GIB, 2 * GIB - 1, NONE, NONE }, PRESSURE_SOME },
	{ { 20 * GIB, 640 * MIB, NONE, NONE }, PRESSURE_SOME },
	{ { 20 * GIB, 640 * MIB - 1, NONE, NONE }, PRESSURE_SEVERE },
	{ { 20 * GIB, 0, NONE, NONE }, PRESSURE_SEVERE },
	/* On a large machine, less is enough. */
	{ { 2048 * GIB, 5 * GIB, NONE, NONE }, PRESSURE_NONE },
	{ { 2048 * GIB, 3 * GIB, NONE, NONE }, PRESSURE_SOME },
	{ { 2048 * GIB, GIB - 1, NONE, NONE }, PRESSURE_SEVERE },
	/* The cgroup, on a machine with plenty of memory. */
	{ { 20 * GIB, 20 * GIB, GIB, 300 * MIB }, PRESSURE_NONE },
	{ { 20 * GIB, 20 * GIB, GIB, 100 * MIB }, PRESSURE_SOME },
	{ { 20 * GIB, 20 * GIB, GIB, 30 * MIB }, PRESSURE_SEVERE },
	{ { 20 * GIB, 20 * GIB, GIB, 0 }, PRESSURE_SEVERE },
	{ { 20 * GIB, 20 * GIB, 0, 0 }, PRESSURE_NONE },
	/* The worse of both counts. */
	{ { 20 * GIB, 100 * MIB, GIB, 100 * MIB }, PRESSURE_SEVERE },
	{ { 20 * GIB, GIB, GIB, 10 * MIB }, PRESSURE_SEVERE },
};

TEST(levels)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!CHECK_EQ(limits_pressure(&table[i].facts), table[i].level))
			printf("# row %zu\n", i);
}

/* What may stay of freed blocks: with a thread of ours, without one, and after a second. */
static const struct {
	struct limits facts; /* as above */
	size_t attended, unattended, floor;
} caches[] = {
	/* A large machine, and a small one. */
	{ { 24 * GIB, 20 * GIB, NONE, NONE }, GIB, 32 * MIB, 32 * MIB },
	{ { 4 * GIB, 3 * GIB, NONE, NONE }, 512 * MIB, 32 * MIB, 32 * MIB },
	{ { 256 * MIB, 200 * MIB, NONE, NONE }, 32 * MIB, 16 * MIB, 16 * MIB },
	/* The limit of a cgroup, and what it has left. */
	{ { 24 * GIB, 20 * GIB, 16 * GIB, 12 * GIB }, GIB, 32 * MIB, 32 * MIB },
	{ { 24 * GIB, 20 * GIB, 512 * MIB, 512 * MIB }, 64 * MIB, 32 * MIB, 32 * MIB },
	{ { 24 * GIB, 20 * GIB, 256 * MIB, 256 * MIB }, 32 * MIB, 16 * MIB, 16 * MIB },
	{ { 24 * GIB, 20 * GIB, 512 * MIB, 80 * MIB }, 10 * MIB, 10 * MIB, 10 * MIB },
	{ { 24 * GIB, 20 * GIB, 8 * GIB, 2 * GIB }, 256 * MIB, 32 * MIB, 32 * MIB },
	/* Memory is short, in the cgroup or on the machine. */
	{ { 24 * GIB, 20 * GIB, 512 * MIB, 32 * MIB }, 512 * KIB, 512 * KIB, 0 },
	{ { 24 * GIB, 20 * GIB, 512 * MIB, 8 * MIB }, 0, 0, 0 },
	{ { 24 * GIB, 2 * GIB, NONE, NONE }, 128 * MIB, 4 * MIB, 0 },
	{ { 24 * GIB, 512 * MIB, NONE, NONE }, 0, 0, 0 },
};

TEST(the_bound_of_the_cache)
{
	for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++) {
		struct cache_bound bound;

		limits_cache(&caches[i].facts, true, &bound);
		CHECK_EQ(bound.most, caches[i].attended);
		CHECK_EQ(bound.floor, caches[i].floor);
		limits_cache(&caches[i].facts, false, &bound);
		CHECK_EQ(bound.most, caches[i].unattended);
		if (!CHECK_EQ(bound.floor, caches[i].floor))
			printf("# row %zu\n", i);
	}
}

static uint64_t budget(uint64_t ram, uint64_t left)
{
	return limits_pin_budget(&(struct limits){ .ram = ram, .cgroup_left = left });
}

TEST(the_default_budget)
{
	CHECK_EQ(budget(24 * GIB, NONE), 12 * GIB);
	CHECK_EQ(budget(24 * GIB, 18 * GIB), 12 * GIB);
	CHECK_EQ(budget(24 * GIB, 12 * GIB), 12 * GIB);
	CHECK_EQ(budget(24 * GIB, 3 * GIB), 3 * GIB);
	CHECK_EQ(budget(24 * GIB, 16 * MIB), 16 * MIB);
	CHECK_EQ(budget(24 * GIB, 16 * MIB - 1), 0);
	CHECK_EQ(budget(24 * GIB, 0), 0);
	CHECK_EQ(budget(31 * MIB, NONE), 0);
}

TEST_AFTER(nothing_to_look_at, make_tree())
{
	struct limits facts;

	errno = 77;
	limits_look(root, &facts);
	CHECK_EQ(errno, 77);
	CHECK_EQ(facts.available, NONE);
	CHECK_EQ(facts.cgroup_limit, NONE);
	CHECK_EQ(facts.cgroup_left, NONE);
	CHECK(facts.ram > 0);
	CHECK_EQ(limits_pressure(&facts), PRESSURE_NONE);
}

TEST_AFTER(everything_to_look_at, make_tree())
{
	struct limits facts;

	put("/proc/meminfo", "MemTotal:   1000 kB\nMemFree:    11 kB\nMemAvailable:     800 kB\n");
	put("/proc/self/cgroup", "0::/a\n");
	put("/sys/fs/cgroup/a/memory.max", "8000\n");
	put("/sys/fs/cgroup/a/memory.current", "1000\n");
	errno = 77;
	limits_look(root, &facts);
	CHECK_EQ(errno, 77);
	CHECK_EQ(facts.available, 800 * 1024);
	CHECK_EQ(facts.cgroup_limit, 8000);
	CHECK_EQ(facts.cgroup_left, 7000);

	put("/proc/self/cgroup", "4:memory:/m\n0::/b\n");
	put("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "500\n");
	put("/sys/fs/cgroup/memory/m/memory.usage_in_bytes", "200\n");
	limits_look(root, &facts);
	CHECK_EQ(facts.cgroup_limit, 500);
	CHECK_EQ(facts.cgroup_left, 300);
}

/* The limit and the memory left are of the same group. */
TEST_AFTER(the_tightest_group_decides, make_tree())
{
	struct limits facts;

	put("/proc/self/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/b/memory.max", "900\n");
	put("/sys/fs/cgroup/a/b/memory.current", "100\n");
	put("/sys/fs/cgroup/a/memory.max", "5000\n");
	put("/sys/fs/cgroup/a/memory.current", "4900\n");
	limits_look(root, &facts);
	CHECK_EQ(facts.cgroup_limit, 5000);
	CHECK_EQ(facts.cgroup_left, 100);
}

#define HIGH 32

/* Calls `call` for each descriptor with a high number; returns how many there are. */
static int each_high(void (*call)(int fd))
{
	int count = 0;

	for (int fd = HIGH; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) != -1) {
			count++;
			call(fd);
		}
	return count;
}

static void check_flag(int fd)
{
	CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
}

static void close_it(int fd)
{
	close(fd);
}

static const char *path_of_another;

static void replace(int fd)
{
	int another = open(path_of_another, O_RDONLY);

	CHECK_EQ(dup2(another, fd), fd);
	close(another);
}

static struct limits look(void)
{
	struct limits facts;

	errno = 77;
	limits_look(root, &facts);
	CHECK_EQ(errno, 77);
	return facts;
}

/* Creates the files and keeps them.  All reads see what the files contain then. */
static void keep_files(void)
{
	int lowest = dup(0);

	close(lowest);
	/* Those that this process has inherited. */
	closefrom(HIGH);
	make_tree();
	put("/proc/meminfo", "MemAvailable:     800 kB\n");
	put("/proc/self/cgroup", "0::/a\n");
	put("/sys/fs/cgroup/a/memory.max", "max\n");
	put("/sys/fs/cgroup/a/memory.current", "1000\n");
	hp_procfile_keep(true);
	look();
	int kept = each_high(check_flag);
	look();
	hp_procfile_keep(false);
	CHECK_EQ(each_high(check_flag), kept);
	CHECK(each_high(check_flag) >= 4);
	CHECK_EQ(dup(0), lowest);
	close(lowest);
	CHECK_EQ(look().available, 800 * 1024);
	CHECK_EQ(look().cgroup_limit, NONE);
	hp_procfile_seal();
	put("/proc/meminfo", "MemAvailable:     500 kB\n");
	put("/sys/fs/cgroup/a/memory.max", "8000\n");
	CHECK_EQ(look().available, 500 * 1024);
	CHECK_EQ(look().cgroup_limit, 8000);
	CHECK_EQ(look().cgroup_left, 7000);
}

static void check_unknown(void)
{
	CHECK_EQ(look().available, NONE);
	CHECK_EQ(look().cgroup_limit, NONE);
}

static long table_size(void)
{
	char text[4096];
	const char *at = strstr(check_read("/proc/self/status", text, sizeof(text)), "FDSize:");

	return at != NULL ? atol(at + strlen("FDSize:")) : 0;
}

/* The kernel waits for milliseconds where it grows the table of a process with several threads. */
TEST(kept_files_leave_the_table_as_large_as_it_is)
{
	long size = table_size();

	keep_files();
	CHECK(size > 0);
	CHECK_EQ(table_size(), size);
}

TEST(kept_files)
{
	keep_files();
	each_high(close_it);
	check_unknown();
}

/* Numbers that the program has closed, and uses for a file of its own. */
TEST(kept_files_that_were_replaced)
{
	char path[300];

	keep_files();
	snprintf(path, sizeof(path), "%s/another", root);
	put("/another", "MemAvailable:     9 kB\n");
	path_of_another = path;
	each_high(replace);
	check_unknown();
}

CHECK_MAIN()
