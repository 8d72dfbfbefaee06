/*
 * How many threads may copy?
 *
 * No allocation, no lock; errno is kept.
 */
#ifndef HP_COPY_CORES_H
#define HP_COPY_CORES_H

#include <stdint.h>

/*
 * Pure: copy threads for a program that may run on `cores` and use `quota_us` of CPU time in every
 * `period_us` (UINT64_MAX: as much as it likes).  Half of them, 8 at most; one core: none.
 */
unsigned cores_threads(unsigned cores, uint64_t quota_us, uint64_t period_us);

/*
 * The tightest CPU quota of this process's cgroup (v1 or v2, and those around it).  `root` stands
 * before every file name: "" but in tests.
 */
void cores_quota(const char *root, uint64_t *ret_quota_us, uint64_t *ret_period_us);

/* HOTPIN_THREADS=auto: what the two above make of the calling thread's affinity mask. */
unsigned cores_default(void);

#endif
