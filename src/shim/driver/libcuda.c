/*
 * libcuda.c - loads the driver.
 *
 * This runs under the loader's lock, in constructors of other libraries and inside cuInit(): hotpin
 * takes no lock and does not call the driver.
 */
#define _GNU_SOURCE
#include "shim/driver/libcuda.h"
#include "base/log.h"
#include "base/options.h"
#include "base/protections.h"
#include "engine/gate.h"
#include "engine/state.h"
#include "real/binding.h"
#include "real/dlsym.h"
#include "real/real.h"
#include "shim/driver/chain.h"
#include "shim/libc/large.h"

#include <dlfcn.h>

/* In place of each function that the driver lacks: a program that links libcuda can start. */
static CUresult missing(void)
{
	return CUDA_ERROR_NOT_FOUND;
}

/* In place of each function if there is no driver. */
static CUresult no_driver(void)
{
	return CUDA_ERROR_NO_DEVICE;
}

/* The driver lacks a function that hotpin needs: passes every call through from here on. */
static void stand_aside(const char *name)
{
	if (!atomic_exchange(&state_active, false))
		return;
	shim_large_without_device();
	/* The user loses a profile that was asked for. */
	hp_log(hp_options->profile != HP_PROFILE_OFF ? HP_WARN : HP_INFO,
	       "the driver lacks %s, so every call is passed through; install a newer driver",
	       name);
}

bool libcuda_find(void *handle)
{
	if (!real_dlsym_find())
		return false;
	if (handle == NULL)
		handle = dlopen("libcuda.so.1", RTLD_LAZY);
	if (handle == NULL ||
	    real_driver_load(handle, real_dlsym, real_is_ours, (void *)missing) == 0)
		return false;
	/* The program may close the driver, but hotpin's threads call it later. */
	if (hp_keeps(driver_stays))
		chain_keep(real_driver_own(REAL_ROW_cuInit));
	chain_start(handle);
	if (real_driver_lacks() != NULL)
		stand_aside(real_driver_lacks());
	gate_clear(GATE_UNREADY);
	return true;
}

void libcuda_is_missing(void)
{
	real_driver_fill((void *)no_driver);
}
