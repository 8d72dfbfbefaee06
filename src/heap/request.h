/*
 * The needs of one allocation.
 *
 * Inside src/heap only.
 */
#ifndef HP_HEAP_REQUEST_H
#define HP_HEAP_REQUEST_H

#include "heap/block.h"
#include "heap/huge_pages.h"

struct request {
	size_t bytes;           /* as the program asked */
	size_t alignment;       /* of its address: a power of two */
	size_t room;            /* to allocate for it (coloring.h) */
	size_t most;            /* room of a recycled block that wastes at most an eighth */
	size_t stand;           /* alignment of the room */
	enum huge_verdict huge; /* whether 2 MiB pages are wanted */
	uintptr_t trial;        /* the site's block on trial (huge_pages.h) */
	uint32_t site;          /* allocation site (site.h) */
};

#endif
