/*
 * Filters of system calls, as containers and services have them.
 */
#ifndef HP_HARNESS_FILTER_H
#define HP_HARNESS_FILTER_H

#include <linux/seccomp.h>
#include <stdbool.h>

/*
 * From now on, the system call `number` of every thread of this process ends as `action` says,
 * SECCOMP_RET_TRAP for example.  False: filters are not permitted here.
 */
bool filter_call(int number, unsigned action);

#endif
