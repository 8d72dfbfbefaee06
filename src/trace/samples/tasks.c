/*
 * tasks.c - reads /proc/self/task by getdents64(2), since opendir() would take the program's
 * memory.
 */
#define _GNU_SOURCE
#include "trace/samples/tasks.h"
#include "base/procfile.h"
#include "base/thread.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
};

/* Returns the number that is the name; 0: not a number, as "." and "..". */
static pid_t number_of(const char *name)
{
	long number = 0;

	for (; *name >= '0' && *name <= '9' && number < 1 << 24; name++)
		number = number * 10 + (*name - '0');
	return *name == '\0' ? (pid_t)number : 0;
}

size_t tasks_list(pid_t *ret, size_t most)
{
	/* Aligned as the entries are. */
	uint64_t room[512];
	int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t count = 0;
	long bytes;

	while (fd >= 0 && (bytes = syscall(SYS_getdents64, fd, room, sizeof(room))) > 0) {
		for (long at = 0; at < bytes;) {
			const struct entry *entry = (const void *)((const char *)room + at);
			pid_t tid = number_of(entry->name);

			at += entry->length;
			if (tid == 0 || hp_thread_is_ours(tid))
				continue;
			if (count < most)
				ret[count] = tid;
			count++;
		}
	}
	if (fd >= 0)
		close(fd);
	return count;
}

bool tasks_have_ended(int *ret_code)
{
	char text[1024], task[24];
	pid_t left;

	/* The first thread stays in the list.  Twice: a thread may end as it starts the next. */
	for (int i = 0; i < 2; i++)
		if (hp_threads_are_starting() || tasks_list(&left, 1) != 1 || left != getpid())
			return false;
	snprintf(task, sizeof(task), "%d", (int)left);
	if (!hp_procfile_read(text, sizeof(text),
			      (const char *const[]){ "/proc/self/task/", task, "/stat", NULL }))
		return false;
	const char *last = strrchr(text, ' ');
	*ret_code = last != NULL ? (int)hp_procfile_number(last + 1) : 0;
	return true;
}

bool tasks_is_filtered(pid_t tid)
{
	char text[4096], task[24];

	snprintf(task, sizeof(task), "%d", (int)tid);
	if (!hp_procfile_read(text, sizeof(text),
			      (const char *const[]){ "/proc/self/task/", task, "/status", NULL }))
		return true;
	const char *mode = hp_procfile_field(text, "Seccomp");
	/* A kernel without seccomp has no such line. */
	return mode != NULL && mode[0] != '0';
}
