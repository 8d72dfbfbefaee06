/*
 * machine.c - fixes the memory of the machine that the code under test sees.
 *
 * It is linked with --wrap for the functions of heap/limits.h.  Tests of those functions do not
 * link it.
 */
#include "heap/limits.h"
#include "sizes.h"

uint64_t __wrap_limits_ram(void);
uint64_t __wrap_limits_ram_and_swap(void);
uint64_t __wrap_limits_available(const char *root);
uint64_t __wrap_limits_cgroup_left(const char *root);

uint64_t __wrap_limits_ram(void)
{
	return 24 * GIB;
}

uint64_t __wrap_limits_ram_and_swap(void)
{
	return 24 * GIB;
}

uint64_t __wrap_limits_available(const char *root)
{
	(void)root;
	return 20 * GIB;
}

uint64_t __wrap_limits_cgroup_left(const char *root)
{
	(void)root;
	return UINT64_MAX;
}
