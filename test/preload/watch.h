/*
 * The bytes that the library pins, observed from another process.
 *
 * In each process that inherits STANDIN_PINS, the stand-in driver updates a page that it shares
 * with us.  The highest figure of each process stays there even after its end.
 */
#ifndef HP_TEST_PRELOAD_WATCH_H
#define HP_TEST_PRELOAD_WATCH_H

#include "../standin/pins.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct standin_pins *watch_page;

/* Applies to all processes that are started from here on. */
static inline void watch_begin(void)
{
	size_t bytes = STANDIN_PINS * sizeof(*watch_page);
	int fd = memfd_create("pins", MFD_CLOEXEC);
	char path[64];

	if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
		return;
	void *got = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (got == MAP_FAILED)
		return;
	watch_page = got;
	/* The page belongs to the file, which other processes find by its descriptor. */
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	setenv("STANDIN_PINS", path, 1);
}

/* True if each process since the last call kept to its limit. */
static inline bool watch_is_kept(void)
{
	bool kept = watch_page != NULL;

	if (!kept)
		printf("# pinned bytes cannot be watched\n");
	for (int i = 0; watch_page != NULL && i < STANDIN_PINS; i++) {
		const struct standin_pins *at = &watch_page[i];

		if (at->pid == 0 || at->most <= at->limit)
			continue;
		printf("# process %d: %llu bytes pinned, limit %llu\n", at->pid,
		       (unsigned long long)at->most, (unsigned long long)at->limit);
		kept = false;
	}
	if (watch_page != NULL)
		memset(watch_page, 0, STANDIN_PINS * sizeof(*watch_page));
	return kept;
}

#endif
