/*
 * The NUMA policy by which the kernel places pages that a thread touches first.
 *
 * A copy worker that touches the program's pages first takes the policy of the calling thread over,
 * so that the pages are placed as by the driver's copy in that thread.
 */
#ifndef HP_STAGE_PLACEMENT_H
#define HP_STAGE_PLACEMENT_H

#include <stdbool.h>

#define PLACEMENT_NODES 1024u /* the most that a kernel supports */

struct placement {
	bool is_known; /* false: the kernel does not say, or must not be asked */
	int mode;      /* set_mempolicy(2), with its flags */
	unsigned long nodes[PLACEMENT_NODES / (8 * sizeof(unsigned long))];
};

/* Fills in the policy of the calling thread; without one, its node is preferred.  errno changes. */
void placement_get(struct placement *ret);

/* Sets the policy of the calling thread, a copy worker.  errno changes. */
void placement_set(const struct placement *placement);

#endif
