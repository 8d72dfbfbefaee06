/*
 * The default number of copy workers.
 *
 * No allocation, no lock; errno is kept.
 */
#ifndef HP_STAGE_CORES_H
#define HP_STAGE_CORES_H

#include <stdint.h>

/*
 * Returns the copy workers of a program that may run on `cores` and use `quota_us` of CPU time in
 * every `period_us` (UINT64_MAX: without limit): one for two cores, 8 at most.  Pure.
 */
unsigned cores_threads(unsigned cores, uint64_t quota_us, uint64_t period_us);

/*
 * Finds the tightest CPU quota of this process's cgroup (v2) and its ancestors.  `root` is
 * put before every file name; "" except in tests.
 */
void cores_quota(const char *root, uint64_t *ret_quota_us, uint64_t *ret_period_us);

/* Returns the number for HOTPIN_THREADS=auto, from the calling thread's affinity mask. */
unsigned cores_default(void);

#endif
