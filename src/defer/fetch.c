/*
 * fetch.c - what must be true of a copy before the pages of its destination are closed.
 *
 * Pages that are closed must be the copy's alone.  A block of the heap has its pages for itself;
 * with all of the program's bytes in it written by the copy, nobody else can have a right to them
 * until it is over, not even the kernel for a read() that has been waiting for long.
 */
#include "defer/fetch.h"

enum fetch_refusal fetch_refuse(const struct fetch_facts *facts)
{
	if (!facts->allowed)
		return FETCH_OFF;
	if (facts->bytes < FETCH_LEAST)
		return FETCH_SMALL;
	if (!facts->pinned || !facts->huge || facts->altered)
		return FETCH_PLACE;
	if (facts->to > facts->start || facts->to < facts->base ||
	    facts->to + facts->bytes < facts->start + facts->size ||
	    facts->to + facts->bytes > facts->base + facts->room)
		return FETCH_PART;
	return facts->exposed ? FETCH_EXPOSED : FETCH_FINE;
}
