/*
 * The limits that this process's cgroups set.
 *
 * Covers v1 and v2, the group itself and those around it.  Allocates nothing, takes no lock and
 * keeps errno.  Reading the memory limits takes about ten system calls a level.  `root` precedes
 * every file name; it is "" except in tests.
 */
#ifndef HP_HEAP_CGROUP_H
#define HP_HEAP_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A group, whose files are in the folder `group` ("": the outermost) below the mount point of its
 * kind.
 */
struct cgroup {
	const char *root, *group;
	bool is_v2;
	bool is_own; /* the group of the process itself, not one around it */
};

typedef void (*cgroup_look_fn)(const struct cgroup *at, void *to);

/*
 * Calls `look` for each group in which `controller` counts this process, inner ones first, for v1
 * and v2.
 */
void cgroup_each(const char *root, const char *controller, cgroup_look_fn look, void *to);

struct cgroup_memory {
	/*
	 * The limit of the group that leaves the least, and what it leaves.  Page cache that the
	 * kernel would drop first counts as free.  Both UINT64_MAX: no limit.
	 */
	uint64_t limit, left;
	/*
	 * Share of the last ten seconds in which some task of the group waited for memory, in
	 * hundredths of a percent; 0 if the kernel does not say.
	 */
	unsigned stall;
};

/* Fills in *ret. */
void cgroup_look(const char *root, struct cgroup_memory *ret);

/* Keeps the files of cgroup_look() open: base/procfile.h. */
void cgroup_keep(const char *root);

#endif
