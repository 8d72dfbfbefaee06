/*
 * Links the stand-in driver into a test: real/ takes its functions for the driver's.
 */
#ifndef HP_TEST_ENGINE_LINKED_H
#define HP_TEST_ENGINE_LINKED_H

#include "real/real.h"

#include "check.h"

#include <dlfcn.h>
#include <sys/mman.h>

static inline void *linked_look_up(void *handle, const char *name)
{
	return dlsym(handle, name);
}

static inline bool linked_is_ours(const void *address)
{
	(void)address;
	return false;
}

static inline CUresult linked_missing(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static inline bool is_mapped(void *at)
{
	unsigned char page;

	return mincore(at, 1, &page) == 0;
}

/* `look_up`: linked_look_up(), or a test's own function that wraps it. */
static inline void linked_load(void *(*look_up)(void *, const char *))
{
	CHECK(real_driver_load(RTLD_DEFAULT, look_up, linked_is_ours, (void *)linked_missing) > 0);
}

#endif
