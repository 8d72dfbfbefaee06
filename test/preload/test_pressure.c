/*
 * test_pressure.c - in a memory cgroup that is nearly full nothing more is pinned, what is pinned
 * is let go, and freed blocks go back whole; when there is room again all is as before.
 *
 * Needs the right to make a cgroup (v1, or v2 with its memory controller); skipped without.
 */
#include "promote.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define LIMIT (1024 * MIB)

static char group[512];
static const char *limit_file, *usage_file;

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

static size_t usage(void)
{
	char path[1024], text[32] = "";

	path_in(usage_file, path, sizeof(path));
	int fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return SIZE_MAX;
	close(fd);
	return strtoull(text, NULL, 10);
}

static bool try_group(const char *mount, const char *own, const char *limit, const char *used)
{
	snprintf(group, sizeof(group), "%s%.300s/hotpin-test-%d", mount,
		 strcmp(own, "/") == 0 ? "" : own, (int)getpid());
	limit_file = limit;
	usage_file = used;
	if (mkdir(group, 0755) != 0)
		return false;
	if (write_number(limit, LIMIT) && usage() != SIZE_MAX)
		return true;
	rmdir(group);
	return false;
}

/* A group of our own below the one that we are in. */
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
					 "memory.usage_in_bytes");
		else if (strncmp(line, "0::", 3) == 0)
			made = try_group("/sys/fs/cgroup", own, "memory.max", "memory.current");
	}
	if (file != NULL)
		fclose(file);
	return made;
}

static size_t resident(void)
{
	char text[128] = "";
	int fd = open("/proc/self/statm", O_RDONLY);

	if (read(fd, text, sizeof(text) - 1) <= 0)
		return SIZE_MAX;
	close(fd);
	return strtoul(strchr(text, ' '), NULL, 10) * 4096;
}

/* Can a block still be pinned?  Asked for a while, since the kernel is looked at once a second. */
static bool turns_to(bool pinned)
{
	for (int i = 0; i < 40; i++) {
		char *block = malloc(4 * MIB);

		memset(block, 1, 4 * MIB);
		for (int n = 0; n < 30 && !standin_pinned(block); n++)
			OK(cuMemcpyHtoD_v2(there, block, 4 * MIB));
		bool now = standin_pinned(block) != 0;
		free(block);
		if (now == pinned)
			return true;
		usleep(200000);
	}
	return false;
}

static void live_in_the_group(void)
{
	enum { BLOCKS = 8 };
	char *blocks[BLOCKS];

	begin();
	OK(cuMemsetD8_v2(there, 1, 64 * MIB));
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = promoted(24 * MIB);
		CHECK(holds(blocks[i], 24 * MIB, 1));
	}
	CHECK_EQ(standin_registered_bytes() >= 192 * MIB, preloaded());

	/* All but 20 MiB of the group is taken by memory that is not ours. */
	size_t ballast_bytes = LIMIT - usage() - 20 * MIB;
	char *ballast = mmap(NULL, ballast_bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(ballast, 1, ballast_bytes);

	CHECK(turns_to(false));
	OK(cuCtxSynchronize()); /* the stand-in's device moves only when waited for */
	for (int i = 0; i < 400 && standin_registered_bytes() != 0; i++)
		usleep(20000);
	CHECK_EQ(standin_registered_bytes(), 0);
	size_t before = resident();
	for (int i = 0; i < BLOCKS; i++) {
		CHECK(holds(blocks[i], 24 * MIB, 1));
		free(blocks[i]);
	}
	/* All of it: what an idle process may otherwise keep goes too. */
	for (int i = 0; i < 100 && resident() > before - 185 * MIB; i++)
		usleep(20000);
	CHECK(resident() <= before - 185 * MIB);

	munmap(ballast, ballast_bytes);
	CHECK_EQ(turns_to(true), preloaded());
}

TEST(a_group_that_is_nearly_full)
{
	int status = -1;

	if (!make_group())
		CHECK_SKIP("no memory cgroup can be made here");
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		alarm(80);
		if (!write_number("cgroup.procs", (size_t)getpid()))
			_exit(77);
		live_in_the_group();
		exit(check_failures == 0 ? 7 : 1);
	}
	waitpid(child, &status, 0);
	for (int i = 0; i < 100 && rmdir(group) != 0 && errno == EBUSY; i++)
		usleep(50000);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		CHECK_SKIP("no process may be put into a memory cgroup here");
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

PRELOAD_MAIN()
