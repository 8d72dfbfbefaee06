/*
 * The limits that the system sets for this process, of memory, address space and CPU time, and what
 * follows for pinned memory and for freed blocks.
 *
 * Pinned memory cannot be swapped or reclaimed, and freed blocks that are kept are lost to the
 * program.  Both shrink before the program feels that the machine or the cgroup runs short.
 *
 * These functions have no cancellation point, and keep errno.  They need little of the stack; those
 * that look at cgroups take memory of the arena meanwhile, and no lock but the arena's.
 * `root` precedes every file name; it is "" except in tests.
 */
#ifndef HP_HEAP_LIMITS_H
#define HP_HEAP_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the bytes of RAM in this machine, and of swap if `with_swap`; never 0. */
uint64_t limits_ram(bool with_swap);

/*
 * True if reserving much address space and using little of it would limit what the program can
 * get: with a finite RLIMIT_AS or RLIMIT_DATA, in the strict overcommit mode (vm.overcommit_memory
 * 2), and with a finite RLIMIT_MEMLOCK after limits_lock_mappings().
 */
bool limits_ration_space(void);

/*
 * True if the kernel uses 2 MiB pages wherever a mapping has room for one.  Blocks of the heap lie
 * apart in one mapping, so the addresses between them would become memory.
 */
bool limits_huge_everywhere(const char *root);

/* Called when the program has all later mappings locked into memory (MCL_FUTURE). */
void limits_lock_mappings(void);

struct limits {
	uint64_t ram;
	uint64_t available; /* without swapping (MemAvailable); UINT64_MAX: not known */
	/*
	 * The limit of the cgroup (v1 or v2, this process's own or one around it) that leaves the
	 * least, and what it leaves.  Page cache that the kernel would drop first counts as free.
	 * Both UINT64_MAX: no limit.
	 */
	uint64_t cgroup_limit, cgroup_left;
};

/* Fills in *ret, by about twenty system calls. */
void limits_look(const char *root, struct limits *ret);

/* As limits_look(), but without what the machine has available. */
void limits_look_at_cgroup(const char *root, struct limits *ret);

/* Returns how many whole CPUs the quotas of the cgroups (v2) leave; UINT64_MAX: no limit. */
uint64_t limits_cpus(const char *root);

/* The functions from here on are pure. */

enum pressure_level {
	PRESSURE_NONE,
	PRESSURE_SOME,   /* nothing more is pinned, less is cached */
	PRESSURE_SEVERE, /* nothing is cached, pinned blocks are unpinned */
	PRESSURE_COUNT
};

/* Returns how short memory is. */
enum pressure_level limits_pressure(const struct limits *limits);

/* How much unpinned memory of freed blocks may stay, in bytes. */
struct cache_bound {
	size_t most;  /* at any time */
	size_t floor; /* after a second; 0: memory is short, and freed blocks go at the next look */
};

/*
 * Fills in *ret.  `attended`: a thread of ours gives freed blocks back by age.  Without it, no more
 * may stay than what may stay after a second.
 */
void limits_cache(const struct limits *limits, bool attended, struct cache_bound *ret);

/*
 * Returns the default pin budget in bytes: half of the RAM, or what the cgroup leaves if that is
 * less.  0 if so little is left that pinning could do more harm than good.
 */
uint64_t limits_pin_budget(const struct limits *limits);

#endif
