/*
 * The limits of memory and address space that the system sets for this process.
 *
 * Uses no stdio, no allocation and no cancellation point; keeps errno.
 */
#ifndef HP_HEAP_LIMITS_H
#define HP_HEAP_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the bytes of RAM in this machine, without swap; never 0. */
uint64_t limits_ram(void);

/* Returns the largest allocation that the kernel could grant, in bytes: RAM and swap. */
uint64_t limits_ram_and_swap(void);

/*
 * Returns the bytes that can be had without swapping (MemAvailable); UINT64_MAX if the kernel does
 * not say.  `root` precedes the file name; it is "" except in tests.
 */
uint64_t limits_available(const char *root);

/*
 * True if reserving much address space and using little of it would limit what the program can
 * get: with a finite RLIMIT_AS or RLIMIT_DATA, in the strict overcommit mode (vm.overcommit_memory
 * 2), and with a finite RLIMIT_MEMLOCK after limits_lock_mappings().
 */
bool limits_ration_space(void);

/* Called when the program has all later mappings locked into memory (MCL_FUTURE). */
void limits_lock_mappings(void);

/*
 * Returns what the memory limits of this process's cgroups (v1 or v2) leave, in bytes; UINT64_MAX:
 * no limit.  `root` as above.
 */
uint64_t limits_cgroup_left(const char *root);

/* Keeps the files of these functions open: base/procfile.h.  `root` as above. */
void limits_keep(const char *root);

#endif
