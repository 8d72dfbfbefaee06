/*
 * machine.c - fixes the memory of the machine that the code under test sees.
 *
 * It is linked with --wrap for functions of heap/limits.h.  Tests of those functions do not link
 * it.
 */
#include "machine.h"
#include "sizes.h"

struct machine_cgroup machine_cgroup = { .limit = UINT64_MAX, .left = UINT64_MAX };
uint64_t machine_available = 20 * GIB;

uint64_t __wrap_limits_ram(bool with_swap);
void __wrap_limits_look(const char *root, struct limits *ret);
void __wrap_limits_look_at_cgroup(const char *root, struct limits *ret);

uint64_t __wrap_limits_ram(bool with_swap)
{
	(void)with_swap;
	return 24 * GIB;
}

void __wrap_limits_look(const char *root, struct limits *ret)
{
	(void)root;
	*ret = (struct limits){ .ram = 24 * GIB,
				.available = machine_available,
				.cgroup_limit = machine_cgroup.limit,
				.cgroup_left = machine_cgroup.left };
}

void __wrap_limits_look_at_cgroup(const char *root, struct limits *ret)
{
	__wrap_limits_look(root, ret);
}
