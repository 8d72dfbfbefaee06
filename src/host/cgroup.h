/*
 * What do the cgroups of this process leave it?
 *
 * v1 and v2, the group itself and those around it.  No allocation, no lock, errno is kept; some
 * ten system calls a level for memory.  `root` stands before every file name: "" but in tests.
 */
#ifndef HP_HOST_CGROUP_H
#define HP_HOST_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* A group's files are in a folder `group` ("": the outermost) below where its kind is mounted. */
struct cgroup {
	const char *root, *group;
	bool is_v2;
	bool is_own; /* of the process itself, not one around it */
};

typedef void (*cgroup_look_fn)(const struct cgroup *at, void *to);

/* The groups that `controller` counts this process in, inner ones first, each version by itself. */
void cgroup_each(const char *root, const char *controller, cgroup_look_fn look, void *to);

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

/* What of memory? */
void cgroup_look(const char *root, struct cgroup_memory *ret);

#endif
