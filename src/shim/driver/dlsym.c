/*
 * dlsym.c - answers dlsym() for names of driver functions, for dlsym_entry.S.
 *
 * This runs under the loader's lock, in constructors of other libraries and inside cuInit(): hotpin
 * takes no lock and does not call the driver.
 */
#define _GNU_SOURCE
#include "engine/state.h"
#include "engine/visibility.h"
#include "real/binding.h"
#include "real/dlsym.h"
#include "real/real.h"
#include "shim/driver/callers.h"
#include "shim/driver/chain.h"
#include "shim/driver/libcuda.h"
#include "shim/load/start.h"

#include <dlfcn.h>

/* dlsym_entry.S continues to this function; NULL until shim_dlsym_prepare(). */
void *_Atomic shim_dlsym_ready;

/* In place of an answer of NULL; an actual NULL makes dlsym_entry.S continue to libc. */
#define SHIM_DLSYM_NULL ((void *)1)

/* dlsym_entry.S calls these. */
void *shim_dlsym_prepare(void);
void *shim_dlsym_answer(void *handle, const char *name, const void *caller);

/*
 * If libc has no dlsym() of a known version, the program's call returns NULL; dlerror() then names
 * the version that was looked up last.
 */
void *shim_dlsym_prepare(void)
{
	if (real_dlsym_find())
		atomic_store(&shim_dlsym_ready, (void *)real_dlsym_next);
	return (void *)real_dlsym_next;
}

/*
 * The look-up found hotpin's own function, since it searched the global scope.  A caller that must
 * not get that, and a name that no loaded driver has, get what they would get without hotpin.
 */
static void *answer_own(void *handle, const char *name, const void *caller, void *ours,
			bool give_ours)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *own = NULL;

	if (driver != NULL) {
		own = real_dlsym(driver, name);
		if (real_dlsym_next != real_dlsym && state_active && !real_driver_loaded())
			libcuda_find(driver);
		dlclose(driver);
	}
	if (own != NULL && chain_contains(caller))
		return own;
	void *next = real_dlsym(RTLD_NEXT, name);
	void *behind = chain_look_up(handle, name, next != NULL ? next : own);
	if (behind == NULL)
		return SHIM_DLSYM_NULL;
	if (next == NULL)
		dlerror();
	if (!give_ours)
		return behind;
	if (own != NULL && real_driver_row_at(own) >= 0)
		chain_use(real_driver_row_at(own), behind);
	return ours;
}

/*
 * Returns the answer to dlsym(handle, name) for a name cu[A-Z]* that `caller` looks up: hotpin's
 * function in front of the next library's.  NULL: the next dlsym() answers.
 */
void *shim_dlsym_answer(void *handle, const char *name, const void *caller)
{
	struct caller asking = { .is_nvidias = false };

	shim_start();
	if (!real_dlsym_find())
		return NULL;
	bool acts = state_active && !real_is_ours(caller);
	if (acts)
		asking = callers_look(caller);
	bool give_ours = acts && !asking.is_nvidias;

	void *own = real_dlsym(handle, name);
	if (own == NULL)
		return NULL;
	if (asking.has_other_api)
		visibility_raise(REAL_SEEN_UNTRACKED);
	if (real_is_ours(own))
		return answer_own(handle, name, caller, own, give_ours);
	if (!give_ours)
		return NULL;
	if (!real_driver_loaded() && !callers_is_libcuda(own))
		return NULL;
	if (!real_driver_loaded() && (!libcuda_find(handle) || !state_active))
		return NULL;
	if (chain_contains(caller))
		return own;

	void *answer = chain_look_up(handle, name, own);
	void *routed = answer != NULL ? chain_route(name, own, answer) : own;
	if (routed == own)
		return NULL;
	/* The look-up has succeeded: an error of hotpin's own look-ups must not remain. */
	dlerror();
	return routed;
}
