/*
 * loop.c - `malloc; write; upload; free`, and the same with a download, repeatedly.
 *
 *	loop malloc|advised|pinned SIZE...
 *
 * advised: with madvise() for huge pages from the first whole page on, as numpy does for every
 * array of 4 MiB and more.
 */
#include "loop.h"

#include <sys/mman.h>

static void *take_malloc(size_t bytes, void *kept)
{
	(void)kept;
	return bench_allocate("malloc", bytes);
}

static void *take_advised(size_t bytes, void *kept)
{
	char *memory = (char *)take_malloc(bytes, kept);
	size_t before = 4096 - (uintptr_t)memory % 4096;

	if (before < bytes)
		madvise(memory + before, bytes - before, MADV_HUGEPAGE);
	return memory;
}

static void *take_kept(size_t bytes, void *kept)
{
	(void)bytes;
	return kept;
}

static void drop_nothing(void *memory)
{
	(void)memory;
}

int main(int argc, char **argv)
{
	static const struct loop_kind kinds[] = {
		{ "malloc", 0, take_malloc, free },
		{ "advised", 0, take_advised, free },
		{ "pinned", 1, take_kept, drop_nothing },
	};

	return loop_main(kinds, sizeof(kinds) / sizeof(*kinds), argc, argv);
}
