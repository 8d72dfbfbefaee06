/*
 * limits.c - RAM, resource limits and cgroup limits.
 *
 * May run under the lock heap inside malloc(): files are read by bare system calls, because
 * open() and read() of libc are points where a thread with a pending cancellation would vanish
 * with the lock in its hand.
 */
#define _GNU_SOURCE
#include "host/limits.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define PATH_ROOM 1024

/* Reads the file's first room - 1 bytes as text.  False: there is none. */
static bool read_text(const char *path, char *buffer, size_t room)
{
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	long length = syscall(SYS_read, fd, buffer, room - 1);
	syscall(SYS_close, fd);
	if (length < 0)
		return false;
	buffer[length] = '\0';
	return true;
}

/* The number that `text` starts with; UINT64_MAX for "max" and for anything too large. */
static uint64_t number(const char *text)
{
	uint64_t value = 0;

	if (*text < '0' || *text > '9')
		return UINT64_MAX;
	for (; *text >= '0' && *text <= '9'; text++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return UINT64_MAX;
	}
	return value;
}

static void memory(uint64_t *ret_ram, uint64_t *ret_swap)
{
	struct sysinfo info;

	memset(&info, 0, sizeof(info));
	sysinfo(&info);
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

	return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

bool limits_ration_space(void)
{
	char text[16];

	if (is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA))
		return true;
	return read_text("/proc/sys/vm/overcommit_memory", text, sizeof(text)) && text[0] == '2';
}

/* Joins the pieces (ended by NULL) in `path`.  False: too long. */
static bool join(char path[PATH_ROOM], const char *const *pieces)
{
	size_t used = 0;

	for (; *pieces != NULL; pieces++) {
		size_t length = strlen(*pieces);

		if (used + length >= PATH_ROOM)
			return false;
		memcpy(path + used, *pieces, length);
		used += length;
	}
	path[used] = '\0';
	return true;
}

/* Room between the number in one file of a cgroup and that in another. */
static uint64_t left_in(const char *root, const char *mount, const char *group,
			const char *limit_file, const char *usage_file)
{
	char path[PATH_ROOM], text[32];
	uint64_t limit, usage = 0;

	if (!join(path, (const char *const[]){ root, mount, group, "/", limit_file, NULL }) ||
	    !read_text(path, text, sizeof(text)))
		return UINT64_MAX;
	limit = number(text);
	/* v1 writes "none" as the largest multiple of a page. */
	if (limit >= (uint64_t)1 << 62)
		return UINT64_MAX;
	if (join(path, (const char *const[]){ root, mount, group, "/", usage_file, NULL }) &&
	    read_text(path, text, sizeof(text)))
		usage = number(text);
	return usage < limit ? limit - usage : 0;
}

/* The least that the group and those around it leave. */
static uint64_t left_upwards(const char *root, const char *mount, char *group,
			     const char *limit_file, const char *usage_file)
{
	uint64_t least = UINT64_MAX;

	for (;;) {
		uint64_t left = left_in(root, mount, group, limit_file, usage_file);

		if (left < least)
			least = left;
		char *slash = strrchr(group, '/');
		if (slash == NULL)
			return least;
		*slash = '\0';
	}
}

/* Is `word` one of those between commas in the `length` bytes at `list`? */
static bool lists(const char *list, size_t length, const char *word)
{
	size_t wanted = strlen(word);

	for (const char *at = list, *end = list + length; at < end;) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		size_t room = (size_t)((comma != NULL ? comma : end) - at);

		if (room == wanted && memcmp(at, word, wanted) == 0)
			return true;
		at += room + 1;
	}
	return false;
}

uint64_t limits_cgroup_left(const char *root)
{
	char path[PATH_ROOM], text[4096];
	uint64_t least = UINT64_MAX;

	if (!join(path, (const char *const[]){ root, "/proc/self/cgroup", NULL }) ||
	    !read_text(path, text, sizeof(text)))
		return UINT64_MAX;

	/* Lines of "id:controllers:/group"; v2 is the one without controllers. */
	for (char *line = text, *next; *line != '\0'; line = next) {
		size_t length = strcspn(line, "\n");

		next = line + length + (line[length] == '\n');
		line[length] = '\0';

		char *controllers = strchr(line, ':');
		char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
		if (group == NULL)
			continue;

		size_t named = (size_t)(group - ++controllers);
		uint64_t left = UINT64_MAX;
		group++;
		if (strcmp(group, "/") == 0)
			*group = '\0';
		if (named == 0)
			left = left_upwards(root, "/sys/fs/cgroup", group, "memory.max",
					    "memory.current");
		else if (lists(controllers, named, "memory"))
			left = left_upwards(root, "/sys/fs/cgroup/memory", group,
					    "memory.limit_in_bytes", "memory.usage_in_bytes");
		if (left < least)
			least = left;
	}
	return least;
}
