/*
 * machine.c - fixes the memory of the machine that the code under test sees.
 *
 * It is linked with --wrap for the functions of heap/limits.h and cgroup_look().  Tests of those
 * functions do not link it.
 */
#include "machine.h"
#include "heap/limits.h"
#include "sizes.h"

struct cgroup_memory machine_cgroup = { .limit = UINT64_MAX, .left = UINT64_MAX };

uint64_t __wrap_limits_ram(void);
uint64_t __wrap_limits_ram_and_swap(void);
uint64_t __wrap_limits_available(const char *root);
uint64_t __wrap_limits_cgroup_left(const char *root);
void __wrap_cgroup_look(const char *root, struct cgroup_memory *ret);

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

void __wrap_cgroup_look(const char *root, struct cgroup_memory *ret)
{
	(void)root;
	*ret = machine_cgroup;
}
