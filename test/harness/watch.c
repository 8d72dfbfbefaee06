/*
 * watch.c - a page that each process with the stand-in driver updates.
 */
#include "watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct standin_pins *page;

void watch_begin(void)
{
	size_t bytes = STANDIN_PINS * sizeof(*page);
	int fd = memfd_create("pins", MFD_CLOEXEC);
	char path[64];

	if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
		return;
	void *got = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (got == MAP_FAILED)
		return;
	page = got;
	/* The page belongs to the file, which other processes find by its descriptor. */
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	setenv("STANDIN_PINS", path, 1);
}

bool watch_is_kept(void)
{
	bool kept = page != NULL;

	if (!kept)
		printf("# pinned bytes cannot be watched\n");
	for (int i = 0; page != NULL && i < STANDIN_PINS; i++) {
		const struct standin_pins *at = &page[i];

		if (at->pid == 0 || at->most <= at->limit)
			continue;
		printf("# process %d: %llu bytes pinned, limit %llu\n", at->pid,
		       (unsigned long long)at->most, (unsigned long long)at->limit);
		kept = false;
	}
	if (page != NULL)
		memset(page, 0, STANDIN_PINS * sizeof(*page));
	return kept;
}

const struct standin_pins *watch_own(void)
{
	int file = open(getenv("STANDIN_PINS"), O_RDONLY | O_CLOEXEC);
	const struct standin_pins *own =
		mmap(NULL, STANDIN_PINS * sizeof(*own), PROT_READ, MAP_SHARED, file, 0);

	close(file);
	while (own->pid != getpid())
		own++;
	return own;
}
