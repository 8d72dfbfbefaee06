/*
 * placement.c - reads and sets NUMA policies by system calls, because libnuma need not be there.
 *
 * Without a policy of its own, a thread gets pages of the node of its CPU.  In a worker, the same
 * takes a policy that prefers the caller's node.
 */
#define _GNU_SOURCE
#include "stage/placement.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LONG_BITS (8 * sizeof(unsigned long))

void placement_get(struct placement *ret)
{
	unsigned cpu, node;

	memset(ret, 0, sizeof(*ret));
	ret->is_known = syscall(SYS_get_mempolicy, &ret->mode, ret->nodes,
				(unsigned long)PLACEMENT_NODES, NULL, 0L) == 0;
	if (ret->mode != MPOL_DEFAULT && ret->mode != MPOL_LOCAL)
		return;
	ret->is_known = ret->is_known && getcpu(&cpu, &node) == 0 && node < PLACEMENT_NODES;
	if (!ret->is_known)
		return;
	ret->mode = MPOL_PREFERRED;
	ret->nodes[node / LONG_BITS] = 1ul << node % LONG_BITS;
}

void placement_set(const struct placement *placement)
{
	if (placement->is_known)
		syscall(SYS_set_mempolicy, placement->mode, placement->nodes,
			(unsigned long)PLACEMENT_NODES);
}
