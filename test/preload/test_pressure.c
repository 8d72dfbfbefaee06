/*
 * test_pressure.c - in a memory cgroup that is nearly full, nothing more is pinned, pinned blocks
 * are unpinned, and freed blocks are returned to the kernel.  With memory available again,
 * everything works as before.  Of freed blocks only a small part of the group's memory stays.
 *
 * Needs the right to create a cgroup (v1, or v2 with its memory controller); otherwise it is
 * skipped.
 */
#include "resident.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define LIMIT (1024 * MIB)

/*
 * Memory that the ballast leaves, and memory that the machine must have so that the group's limit
 * counts.
 */
#define LEFT  (20 * MIB)
#define SPARE (2 * LIMIT)

static char group[512];
static const char *limit_file, *usage_file, *cache_field;

static void path_in(const char *file, char *ret, size_t room)
{
	snprintf(ret, room, "%.500s/%s", group, file);
}

static bool write_number(const char *file, size_t value)
{
	char path[1024], text[32];
	int length = snprintf(text, sizeof(text), "%zu", value);

	path_in(file, path, sizeof(path));
	int fd = open(path, O_WRONLY);
	if (fd < 0)
		return false;
	bool done = write(fd, text, (size_t)length) == length;
	close(fd);
	return done;
}

/*
 * Returns the number after `name` in the file `path`, or at its start if `name` is NULL; SIZE_MAX:
 * none.
 */
static size_t read_number(const char *path, const char *name)
{
	char text[8192];

	if (check_read(path, text, sizeof(text))[0] == '\0')
		return SIZE_MAX;
	const char *at = name != NULL ? strstr(text, name) : text;
	return at != NULL ? strtoull(at + (name != NULL ? strlen(name) : 0), NULL, 10) : SIZE_MAX;
}

/* Returns the usage without cached files, which no one counts as used. */
static size_t usage(void)
{
	char path[1024];

	path_in(usage_file, path, sizeof(path));
	size_t used = read_number(path, NULL);
	path_in("memory.stat", path, sizeof(path));
	size_t cache = read_number(path, cache_field);
	return cache < used ? used - cache : used;
}

/* True if a group further up, or the machine, would refuse so much more memory. */
static bool is_tight(size_t bytes)
{
	char path[1024];
	size_t mount = strlen("/sys/fs/cgroup/");

	if (read_number("/proc/meminfo", "MemAvailable:") < bytes / KIB)
		return true;
	snprintf(path, sizeof(path), "%s", group);
	for (char *slash; (slash = strrchr(path, '/')) > path + mount;) {
		size_t room = sizeof(path) - (size_t)(slash - path);

		snprintf(slash, room, "/%s", limit_file);
		size_t limit = read_number(path, NULL);
		snprintf(slash, room, "/%s", usage_file);
		size_t used = read_number(path, NULL);
		*slash = '\0';
		/* "max" is read as 0. */
		if (limit != 0 && limit != SIZE_MAX && used < limit && limit - used < bytes)
			return true;
	}
	return false;
}

static bool try_group(const char *mount, const char *own, const char *limit, const char *used,
		      const char *cache)
{
	snprintf(group, sizeof(group), "%s%.300s/hotpin-test-%d", mount,
		 strcmp(own, "/") == 0 ? "" : own, (int)getpid());
	limit_file = limit;
	usage_file = used;
	cache_field = cache;
	if (mkdir(group, 0755) != 0)
		return false;
	if (write_number(limit, LIMIT) && usage() != SIZE_MAX)
		return true;
	rmdir(group);
	return false;
}

/* Creates a group below our current one. */
static bool make_group(void)
{
	char line[512];
	bool made = false;

	FILE *file = fopen("/proc/self/cgroup", "r");
	while (!made && file != NULL && fgets(line, sizeof(line), file) != NULL) {
		char *own = strchr(line, '/');

		if (own == NULL)
			continue;
		own[strcspn(own, "\n")] = '\0';
		if (strstr(line, ":memory:") != NULL)
			made = try_group("/sys/fs/cgroup/memory", own, "memory.limit_in_bytes",
					 "memory.usage_in_bytes", "total_inactive_file ");
		else if (strncmp(line, "0::", 3) == 0)
			made = try_group("/sys/fs/cgroup", own, "memory.max", "memory.current",
					 "\ninactive_file ");
	}
	if (file != NULL)
		fclose(file);
	return made;
}

/* Memory outside of the library fills the group except for LEFT, even if other memory is freed. */
static char *ballast;
static size_t ballast_bytes;

static void fill_group(void)
{
	if (ballast == NULL) {
		ballast = mmap(NULL, LIMIT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
		/* Without 2 MiB pages, which would take more than requested. */
		madvise(ballast, LIMIT, MADV_NOHUGEPAGE);
	}
	for (size_t used; (used = usage()) < LIMIT - LEFT && ballast_bytes < LIMIT;) {
		size_t lacking = (LIMIT - LEFT - used + 4095) & -(size_t)4096;

		memset(ballast + ballast_bytes, 1, lacking);
		ballast_bytes += lacking;
	}
}

static size_t resident_without_ballast(void)
{
	return memory_resident() - ballast_bytes;
}

/*
 * True if a block can be pinned, or not.  Repeated for a while, because the library checks once a
 * second.
 */
static bool turns_to(bool pinned)
{
	for (int i = 0; i < (preloaded() ? 100 : 3); i++) {
		char *block = malloc(4 * MIB);

		memset(block, 1, 4 * MIB);
		for (int n = 0; n < 30 && !standin_pinned(block); n++)
			OK(cuMemcpyHtoD_v2(there, block, 4 * MIB));
		bool now = standin_pinned(block) != 0;
		free(block);
		if (now == pinned)
			return true;
		if (!pinned)
			fill_group();
		test_clock_pass(200 * TEST_MS);
		check_pause(CHECK_PAUSE_LONG);
	}
	return false;
}

static void live_in_the_group(void)
{
	begin();
	OK(cuMemsetD8_v2(there, 1, 64 * MIB));
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = promoted(24 * MIB);
		CHECK(holds(blocks[i], 24 * MIB, 1));
	}
	CHECK_EQ(standin_registered_bytes() >= 192 * MIB, preloaded());

	fill_group();

	CHECK(turns_to(false));
	OK(cuCtxSynchronize()); /* the stand-in's device only advances when waited for */
	PASS_UNTIL((fill_group(), standin_registered_bytes() == 0), 20 * TEST_MS);
	size_t before = resident_without_ballast();
	for (int i = 0; i < BLOCKS; i++) {
		CHECK(holds(blocks[i], 24 * MIB, 1));
		free(blocks[i]);
		fill_group();
	}
	/* Everything is released, including memory that an idle process may otherwise keep. */
	PASS_UNTIL((fill_group(), resident_without_ballast() <= before - 185 * MIB), 20 * TEST_MS);

	munmap(ballast, LIMIT);
	CHECK_EQ(turns_to(true), preloaded());
}

/* Runs `check` in a process in the group. */
static void in_a_group(void (*check)(void))
{
	int status = -1;

	if (!make_group())
		CHECK_SKIP("no memory cgroup can be made here");
	if (is_tight(SPARE)) {
		rmdir(group);
		CHECK_SKIP("the machine, or a group around this one, has too little memory");
	}
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		alarm(check_limit(90));
		if (!write_number("cgroup.procs", (size_t)getpid()))
			_exit(77);
		check();
		exit(check_failures == 0 ? 7 : 1);
	}
	waitpid(child, &status, 0);
	WAIT_FOR(rmdir(group) == 0 || errno != EBUSY);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		CHECK_SKIP("no process may be put into a memory cgroup here");
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

CASE_WITH(a_group_that_is_nearly_full,
	  ("STANDIN_LATE=cuMemcpy2DAsync:5", "STANDIN_LEAN=1", "HOTPIN_RING=0"),
	  in_a_group(live_in_the_group))

/* No block is freed, and no call submits work, so nothing else wakes the housekeeper. */
static void pin_in_the_group(void)
{
	begin();
	blocks[0] = memset(malloc(64 * MIB), 1, 64 * MIB);
	/* The copy that pins the block is the last one. */
	for (int i = 0; i < 10 && standin_registered_bytes() == 0; i++)
		OK(cuMemcpyHtoD_v2(there, blocks[0], 64 * MIB));
	CHECK_EQ(standin_registered_bytes() >= 64 * MIB, preloaded());
	fill_group();
	OK(cuCtxSynchronize());
	PASS_UNTIL((fill_group(), standin_registered_bytes() == 0), 200 * TEST_MS);
	CHECK(all_are(blocks[0], 64 * MIB, 1));
}

CASE_WITH(blocks_in_use_are_unpinned, ("STANDIN_LEAN=1", "HOTPIN_RING=0"),
	  in_a_group(pin_in_the_group))

static CUstream always;
static _Atomic bool is_over;

/* No pause between two submissions is as long as the rest that the housekeeper waits for. */
static void *submit_always(void *arg)
{
	OK(cuCtxSetCurrent(context));
	while (!is_over) {
		OK(cuMemcpyDtoDAsync_v2(there, there + MIB, KIB, always));
		test_clock_pass(TEST_MS);
	}
	return arg;
}

/* The device is idle only when new work waits. */
static void work_in_the_group(void)
{
	begin();
	OK(cuStreamCreate(&always, CU_STREAM_NON_BLOCKING));
	blocks[0] = promoted(64 * MIB);
	fill_group();
	pthread_t submitter = check_thread(submit_always, NULL);
	WAIT_FOR((fill_group(), cuStreamSynchronize(always), standin_registered_bytes() == 0));
	is_over = true;
	pthread_join(submitter, NULL);
	CHECK(holds(blocks[0], 64 * MIB, 1));
}

CASE_WITH(blocks_are_unpinned_next_to_work, ("STANDIN_LEAN=1", "HOTPIN_RING=0"),
	  in_a_group(work_in_the_group))

/* Allocates, writes and frees half of the group's memory.  Returns what is resident then. */
static size_t resident_after_half(void)
{
	for (int i = 0; i < BLOCKS; i++)
		memset(blocks[i] = malloc(LIMIT / 2 / BLOCKS), 1, LIMIT / 2 / BLOCKS);
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return memory_resident();
}

/* No time passes here, so only free() and fork() can give the memory back. */
static void free_in_the_group(void)
{
	size_t before = memory_resident();

	CHECK(resident_after_half() <= before + 33 * MIB);
	malloc_trim(0);
	begin();
	before = memory_resident();
	CHECK(resident_after_half() <= before + LIMIT / 8 + MIB);
	if (CHECK_CHILD(0))
		_exit(memory_resident() <= before + 4 * MIB ? 0 : 1);
}

/* What a program has freed, the rest of its container may use at once. */
CASE(freed_blocks_in_a_group, in_a_group(free_in_the_group))

PRELOAD_MAIN()
