/*
 * May a copy from the device come back before its data is there?  Pure.
 */
#ifndef HP_DEFER_FETCH_H
#define HP_DEFER_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* To close and open what is smaller costs more than the device takes for it. */
#define FETCH_LEAST ((size_t)4 << 20)

struct fetch_facts {
	bool allowed; /* HOTPIN_ASYNC=all, and nothing has spoken against it so far */
	bool exposed; /* what the device does is seen in other ways: exposure.h */
	bool pinned;  /* its destination lies in registrations of ours */
	bool huge;    /* on 2 MiB pages, which are closed one by one */
	bool altered; /* the program has changed the mapping */
	/* The destination, the block that it lies in, and what of that is the program's. */
	uintptr_t to, base, start;
	size_t bytes, room, size;
};

enum fetch_refusal {
	FETCH_FINE,
	FETCH_OFF,
	FETCH_SMALL,
	FETCH_PLACE, /* where it goes nothing can be closed */
	FETCH_PART,  /* it leaves some of the block as it is, which others may be reading */
	FETCH_EXPOSED,
	FETCH_REFUSALS
};

enum fetch_refusal fetch_refuse(const struct fetch_facts *facts);

#endif
