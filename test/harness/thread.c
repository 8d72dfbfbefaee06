/*
 * thread.c - reads /proc/self/task.
 */
#include "thread.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool thread_is_blocked(pid_t id)
{
	char path[64], text[256];

	/* One look may hit a page fault or a short lock, four in a row hardly do. */
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)id);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
		if (fd >= 0)
			close(fd);
		text[got > 0 ? got : 0] = '\0';
		/* The state follows the name, which ends with the last parenthesis. */
		const char *name_end = strrchr(text, ')');
		if (name_end == NULL || name_end[1] != ' ' || name_end[2] != 'S')
			return false;
	}
	return true;
}

void thread_field(const char *task, const char *name, char *ret, size_t room)
{
	char path[64], line[256];

	ret[0] = '\0';
	snprintf(path, sizeof(path), "/proc/self/task/%s/status", task);
	FILE *status = fopen(path, "r");
	while (status != NULL && fgets(line, sizeof(line), status) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			snprintf(ret, room, "%s", line + strlen(name));
	if (status != NULL)
		fclose(status);
}

int thread_each_other(void (*look)(const char *task))
{
	DIR *tasks = opendir("/proc/self/task");
	char name[64];
	int count = 0;

	for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
		if (atoi(entry->d_name) == 0 || atoi(entry->d_name) == gettid())
			continue;
		thread_field(entry->d_name, "Name:\t", name, sizeof(name));
		if (strncmp(name, "iou-", 4) == 0)
			continue;
		count++;
		if (look != NULL)
			look(entry->d_name);
	}
	closedir(tasks);
	return count;
}
