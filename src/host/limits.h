/*
 * What do the system and its administrator allow us to take?
 *
 * No stdio, no allocation, no point where a thread can be cancelled; errno is kept.
 */
#ifndef HP_HOST_LIMITS_H
#define HP_HOST_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of RAM in this machine, swap not counted; never 0. */
uint64_t limits_ram(void);

/* The largest single allocation that the kernel could grant: RAM and swap, bytes. */
uint64_t limits_ram_and_swap(void);

/*
 * Bytes that could be had without swapping (MemAvailable); UINT64_MAX where the kernel does not
 * say.  `root` stands before the file's name: "" but in tests.
 */
uint64_t limits_available(const char *root);

/*
 * Would a large reservation of address space, of which little is ever used, change what the
 * program itself can get?  True with a finite RLIMIT_AS or RLIMIT_DATA and in the kernel's strict
 * mode (vm.overcommit_memory 2), where address space is what is rationed.
 */
bool limits_ration_space(void);

/*
 * What the memory limit of this process's cgroup (v1 or v2, and those around it) leaves, bytes;
 * UINT64_MAX where there is none.  `root` as above.
 */
uint64_t limits_cgroup_left(const char *root);

#endif
