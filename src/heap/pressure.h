/*
 * Memory pressure: how short memory is, and what follows for cached and pinned memory.
 *
 * Pinned memory cannot be swapped or reclaimed, and cached free memory is lost to the program.
 * Both shrink before the program feels that the machine or the cgroup runs short.
 */
#ifndef HP_HEAP_PRESSURE_H
#define HP_HEAP_PRESSURE_H

#include <stdbool.h>
#include <stddef.h>
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

/* Keeps the files of pressure_look() and of heap/limits.h open: base/procfile.h. */
void pressure_keep(const char *root);

/* Returns the level that follows from the facts.  Pure. */
enum pressure_level pressure_level(const struct pressure_facts *facts);

/* How much unpinned memory of freed blocks may stay, in bytes. */
struct cache_bound {
	size_t most;  /* at any time */
	size_t floor; /* after a second; 0: memory is short, and freed blocks go at the next look */
};

/*
 * Fills in *ret.  `attended`: a thread of ours gives freed blocks back by age.  Without it, no more
 * may stay than what may stay after a second.  Pure.
 */
void pressure_cache(const struct pressure_facts *facts, bool attended, struct cache_bound *ret);

/*
 * Returns the default pin budget in bytes: half of the RAM, or what the cgroup leaves if that is
 * less.  0 if so little is left that pinning could do more harm than good.  Pure.
 */
uint64_t pressure_pin_budget(uint64_t ram, uint64_t cgroup_left);

#endif
