/*
 * lru.c - a list sorted by freed_ns, searched from the late end.
 */
#include "heap/lru.h"

#include <stddef.h>

void lru_add(struct lru *lru, struct block *block)
{
	struct block *older = lru->newest;

	while (older != NULL && older->freed_ns > block->freed_ns)
		older = older->older;
	block->older = older;
	block->newer = older != NULL ? older->newer : lru->oldest;
	if (block->newer != NULL)
		block->newer->older = block;
	else
		lru->newest = block;
	if (older != NULL)
		older->newer = block;
	else
		lru->oldest = block;
	lru->bytes += block->room;
}

void lru_remove(struct lru *lru, struct block *block)
{
	if (block->older != NULL)
		block->older->newer = block->newer;
	else
		lru->oldest = block->newer;
	if (block->newer != NULL)
		block->newer->older = block->older;
	else
		lru->newest = block->older;
	block->older = block->newer = NULL;
	lru->bytes -= block->room;
}
