/*
 * thread.c - reads the state of a thread from /proc.
 */
#include "thread.h"

#include <fcntl.h>
#include <stdio.h>
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
