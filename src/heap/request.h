/*
 * The needs of one allocation.
 *
 * Inside src/heap only.
 */
#ifndef HP_HEAP_REQUEST_H
#define HP_HEAP_REQUEST_H

#include "heap/huge_pages.h"

#include <stddef.h>
#include <stdint.h>

struct request {
	size_t bytes;           /* as the program asked */
	size_t alignment;       /* of its address: a power of two */
	unsigned size_class;    /* map.h */
	enum huge_verdict huge; /* whether 2 MiB pages are wanted */
	uint32_t site;          /* allocation site (site.h) */
};

#endif
