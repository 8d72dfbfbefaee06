/*
 * portable.c - counts the bytes under registrations whose only flag is PORTABLE, for a watching
 * process, and limits them.
 */
#include "engine.h"
#include "pins.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t now, most, limit = UINT64_MAX;
static struct standin_pins *entry; /* NULL: nobody watches */

/* Returns a number of bytes, with K, M or G; UINT64_MAX for any other text. */
static uint64_t size_of(const char *text)
{
	char *end;
	uint64_t number = strtoull(text, &end, 10);

	if (end == text)
		return UINT64_MAX;
	switch (*end) {
	case '\0':
		return number;
	case 'K':
		return number << 10;
	case 'M':
		return number << 20;
	case 'G':
		return number << 30;
	default:
		return UINT64_MAX;
	}
}

/* Claims an entry of the file for this process. */
static void join(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct standin_pins *got;

	if (fd < 0)
		return;
	got = mmap(NULL, STANDIN_PINS * sizeof(*got), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	for (int i = 0; got != MAP_FAILED && entry == NULL && i < STANDIN_PINS; i++) {
		int nobody = 0;

		if (__atomic_compare_exchange_n(&got[i].pid, &nobody, getpid(), false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			entry = &got[i];
	}
	if (entry != NULL)
		__atomic_store_n(&entry->limit, limit, __ATOMIC_SEQ_CST);
}

void portable_load(const char *path, const char *limit_text)
{
	if (limit_text != NULL)
		limit = size_of(limit_text);
	if (path != NULL)
		join(path);
}

void portable_count(const struct block *block, bool more)
{
	if (block->flags != CU_MEMHOSTREGISTER_PORTABLE)
		return;
	now += more ? block->bytes : -block->bytes;
	if (now > most)
		most = now;
	if (entry != NULL) {
		__atomic_store_n(&entry->now, now, __ATOMIC_SEQ_CST);
		__atomic_store_n(&entry->most, most, __ATOMIC_SEQ_CST);
	}
	if (now <= limit)
		return;
	fprintf(stderr,
		"standin: %llu bytes are registered with the flag PORTABLE, the limit is %llu\n",
		(unsigned long long)now, (unsigned long long)limit);
	abort();
}
