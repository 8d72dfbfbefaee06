/*
 * ages.c - a list in the order of freed_ns, searched from the late end.
 */
#include "host/ages.h"

#include <stddef.h>

void ages_add(struct ages *ages, struct block *block)
{
	struct block *older = ages->newest;

	while (older != NULL && older->freed_ns > block->freed_ns)
		older = older->older;
	block->older = older;
	block->newer = older != NULL ? older->newer : ages->oldest;
	if (block->newer != NULL)
		block->newer->older = block;
	else
		ages->newest = block;
	if (older != NULL)
		older->newer = block;
	else
		ages->oldest = block;
	ages->bytes += block->room;
}

void ages_remove(struct ages *ages, struct block *block)
{
	if (block->older != NULL)
		block->older->newer = block->newer;
	else
		ages->oldest = block->newer;
	if (block->newer != NULL)
		block->newer->older = block->older;
	else
		ages->newest = block->older;
	block->older = block->newer = NULL;
	ages->bytes -= block->room;
}

bool ages_hold(const struct ages *ages, size_t *count)
{
	const struct block *older = NULL;
	size_t bytes = 0;

	for (const struct block *at = ages->oldest; at != NULL; at = at->newer) {
		if (at->older != older || (older != NULL && older->freed_ns > at->freed_ns))
			return false;
		bytes += at->room;
		older = at;
		++*count;
	}
	return ages->newest == older && bytes == ages->bytes;
}
