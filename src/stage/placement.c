/*
 * placement.c - reads and sets NUMA policies by system calls, because libnuma need not be there.
 *
 * Without a policy of its own, a thread gets pages of the node of its CPU.  In a worker on another
 * node, the same takes a policy that prefers the caller's node.
 */
#define _GNU_SOURCE
#include "stage/placement.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LONG_BITS (8 * sizeof(unsigned long))

static bool is_local(const struct placement *placement)
{
	return placement->mode == MPOL_DEFAULT || placement->mode == MPOL_LOCAL;
}

static bool read_policy(struct placement *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->is_known = syscall(SYS_get_mempolicy, &ret->mode, ret->nodes,
				(unsigned long)PLACEMENT_NODES, NULL, 0L) == 0;
	return ret->is_known;
}

/* Finds the node of the calling thread's CPU. */
static bool find_node(unsigned *ret)
{
	unsigned cpu;

	return getcpu(&cpu, ret) == 0 && *ret < PLACEMENT_NODES;
}

void placement_get(struct placement *ret)
{
	unsigned node;

	if (!read_policy(ret) || !is_local(ret))
		return;
	ret->is_known = find_node(&node);
	if (!ret->is_known)
		return;
	ret->mode = MPOL_PREFERRED;
	ret->nodes[node / LONG_BITS] = 1ul << node % LONG_BITS;
}

/* True if a thread without a policy of its own would get pages of the same node. */
static bool is_own_node(const struct placement *placement)
{
	unsigned node;

	return placement->mode == MPOL_PREFERRED && find_node(&node) &&
	       placement->nodes[node / LONG_BITS] == 1ul << node % LONG_BITS;
}

void placement_set(const struct placement *placement)
{
	struct placement now;

	if (!placement->is_known || !read_policy(&now) ||
	    memcmp(&now, placement, sizeof(now)) == 0 || (is_local(&now) && is_own_node(placement)))
		return;
	syscall(SYS_set_mempolicy, placement->mode, placement->nodes,
		(unsigned long)PLACEMENT_NODES);
}
