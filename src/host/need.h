/*
 * What is one allocation in want of?
 *
 * Inside host/ only.
 */
#ifndef HP_HOST_NEED_H
#define HP_HOST_NEED_H

#include "host/block.h"
#include "host/huge.h"

struct need {
	size_t bytes;        /* what the program asked for */
	size_t alignment;    /* of its address: a power of two */
	size_t room;         /* what must be dealt out for it, see stagger.h */
	size_t most;         /* what may be, so that no more than an eighth is wasted */
	size_t stand;        /* alignment of the room */
	enum huge_wish huge; /* are 2 MiB pages wanted? */
	uintptr_t trial;     /* what the site has on trial: huge.h */
	uint32_t site;       /* see site.h */
};

#endif
