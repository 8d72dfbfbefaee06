/*
 * The memory of the machine that the code under test sees: 24 GiB, of which 20 are available.
 */
#ifndef HP_HARNESS_MACHINE_H
#define HP_HARNESS_MACHINE_H

#include "heap/cgroup.h"

/* The answer of cgroup_look(); at first there is no limit. */
extern struct cgroup_memory machine_cgroup;

#endif
