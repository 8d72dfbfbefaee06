/*
 * What does the memory cgroup of this process leave it?
 *
 * v1 and v2, the group itself and those around it.  No allocation, no lock, errno is kept; some
 * ten system calls a level.
 */
#ifndef HP_HOST_CGROUP_H
#define HP_HOST_CGROUP_H

#include <stdint.h>

struct cgroup_memory {
	/*
	 * Of the group that leaves the least: its limit, and what may still be taken; page cache
	 * that the kernel would drop first counts as free.  UINT64_MAX both: no limit at all.
	 */
	uint64_t limit, left;
	/*
	 * Share of the last ten seconds in which some task of the group waited for memory, in
	 * hundredths of a percent; 0 also where the kernel does not say.
	 */
	unsigned stall;
};

/* `root` stands before every file name: "" but in tests. */
void cgroup_look(const char *root, struct cgroup_memory *ret);

#endif
