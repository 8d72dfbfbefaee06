/*
 * The memory of the machine that the code under test sees: 24 GiB.
 */
#ifndef HP_HARNESS_MACHINE_H
#define HP_HARNESS_MACHINE_H

#include "heap/limits.h"

/* The limit of the cgroup, and what it leaves; at first there is none. */
extern struct machine_cgroup {
	uint64_t limit, left;
} machine_cgroup;

/* What the machine has available; 20 GiB at first. */
extern uint64_t machine_available;

#endif
