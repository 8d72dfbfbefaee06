/*
 * memory.c - reads /proc/self/statm, without stdio.
 */
#include "memory.h"
#include "sizes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns the first or second number of the file. */
static size_t pages(int field)
{
	char text[128] = "";
	int fd = open("/proc/self/statm", O_RDONLY);

	if (read(fd, text, sizeof(text) - 1) <= 0)
		abort();
	close(fd);
	return strtoul(field == 0 ? text : strchr(text, ' '), NULL, 10);
}

size_t memory_mapped(void)
{
	return pages(0) * PAGE;
}

size_t memory_resident(void)
{
	return pages(1) * PAGE;
}
