/*
 * Memory pressure: how short memory is, and what follows for cached and pinned memory.
 *
 * Pinned memory cannot be swapped or reclaimed, and cached free memory is lost to the program.
 * Both shrink before the program feels that the machine or the cgroup runs short.
 */
#ifndef HP_HEAP_PRESSURE_H
#define HP_HEAP_PRESSURE_H

#include <stdint.h>

enum pressure_level {
	PRESSURE_NONE,
	PRESSURE_SOME,   /* nothing more is pinned, less is cached */
	PRESSURE_SEVERE, /* nothing is cached, pinned blocks are unpinned */
	PRESSURE_COUNT
};

struct pressure_facts {
	uint64_t ram, available;            /* of the machine, bytes; UINT64_MAX: not known */
	uint64_t cgroup_limit, cgroup_left; /* UINT64_MAX: no limit */
	unsigned stall; /* the worse of the machine's and the cgroup's, see hp_procfile_stall() */
};

/*
 * Asks the kernel, by about twenty system calls.  `root` precedes every file name; it is "" except
 * in tests.  Keeps errno.
 */
void pressure_look(const char *root, struct pressure_facts *ret);

/* Returns the level that follows from the facts.  Pure. */
enum pressure_level pressure_level(const struct pressure_facts *facts);

/*
 * Returns the default pin budget in bytes: half of the RAM, or what the cgroup leaves if that is
 * less.  0 if so little is left that pinning could do more harm than good.  Pure.
 */
uint64_t pressure_pin_budget(uint64_t ram, uint64_t cgroup_left);

#endif
