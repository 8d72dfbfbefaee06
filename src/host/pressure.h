/*
 * How short is memory, and what follows for what we keep and pin?
 *
 * Pinned memory cannot be swapped or reclaimed, and freed memory that we keep is the program's to
 * lose: where the machine or the cgroup runs short, both go before the program feels it.
 */
#ifndef HP_HOST_PRESSURE_H
#define HP_HOST_PRESSURE_H

#include <stdint.h>

enum pressure_level {
	PRESSURE_NONE,
	PRESSURE_SOME,   /* nothing more is pinned, less is kept */
	PRESSURE_SEVERE, /* nothing is kept, what is pinned is let go */
	PRESSURE_COUNT
};

struct pressure_facts {
	uint64_t ram, available;            /* of the machine, bytes; UINT64_MAX: not known */
	uint64_t cgroup_limit, cgroup_left; /* UINT64_MAX: no limit */
	unsigned stall; /* the worse of the machine's and the cgroup's, see procfile_stall() */
};

/*
 * Asks the kernel; some twenty system calls.  `root` stands before every file name: "" but in
 * tests.  errno is kept.
 */
void pressure_look(const char *root, struct pressure_facts *ret);

/* Pure. */
enum pressure_level pressure_level(const struct pressure_facts *facts);

/*
 * The pin budget where the user names none, bytes: half of the RAM, or what the cgroup leaves if
 * that is less.  0 where so little is left that pinning could do more harm than good.  Pure.
 */
uint64_t pressure_pin_budget(uint64_t ram, uint64_t cgroup_left);

#endif
