/*
 * chain.c - finds the functions of other libraries that stand in front of the driver's.
 *
 * A program reaches them in two ways: by its own symbols, and by dlsym() and cuGetProcAddress().  A
 * row has one function.  If a look-up finds another function than the driver's, it is that one,
 * else the one that is exported.
 *
 * This runs under the loader's lock and inside cuInit(): hotpin takes no lock and does not call the
 * driver.
 */
#define _GNU_SOURCE
#include "shim/driver/chain.h"
#include "base/counters.h"
#include "real/binding.h"
#include "real/dlsym.h"
#include "shim/driver/callers.h"
#include "shim/driver/thunk.h"
#include "shim/driver/unknown.h"
#include "trace/trace.h"

#include <dlfcn.h>

#define OBJECTS_MOST 16

/* The loaded files whose functions are real, by their addresses; 0: none. */
static _Atomic uintptr_t objects[OBJECTS_MOST];

static uintptr_t object_at(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) != 0 ? (uintptr_t)info.dli_fbase : 0;
}

void chain_keep(const void *address)
{
	Dl_info info;

	if (dladdr(address, &info) == 0)
		return;
	void *kept = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (kept != NULL)
		dlclose(kept);
	else
		dlerror(); /* the file is in another namespace */
}

/*
 * False: the file of `address` is unknown, or there are too many.  The program may close the file,
 * but calls of the row go there.
 */
static bool note_object(const void *address)
{
	uintptr_t object = object_at(address);

	for (int i = 0; object != 0 && i < OBJECTS_MOST; i++) {
		uintptr_t found = 0;

		if (atomic_compare_exchange_strong(&objects[i], &found, object))
			chain_keep(address);
		if (found == 0 || found == object)
			return true;
	}
	return false;
}

bool chain_contains(const void *address)
{
	uintptr_t found = atomic_load_explicit(&objects[0], memory_order_acquire);

	if (found == 0)
		return false;
	uintptr_t object = object_at(address);
	for (int i = 0; i < OBJECTS_MOST && found != object && found != 0; i++)
		found = atomic_load(&objects[i]);
	return found == object && object != 0;
}

void *chain_look_up(void *handle, const char *name, void *own)
{
	if (real_dlsym_next == real_dlsym)
		return own;
	void *answer = real_dlsym_next(handle, name);
	return answer != NULL && real_is_ours(answer) ? own : answer;
}

void chain_use(int row, void *answer)
{
	if (answer == NULL || answer == real_driver_own((enum real_row)row) ||
	    answer == atomic_load_explicit(&real_driver[row], memory_order_relaxed))
		return;
	if (!real_is_ours(answer) && note_object(answer))
		real_driver_use((enum real_row)row, answer);
}

/* Returns the definition of `name` behind hotpin's that another library exports, or NULL. */
static void *exported(const char *name, const void *own)
{
	void *found = real_dlsym(RTLD_NEXT, name);

	return found != NULL && found != own && !callers_is_libcuda(found) ? found : NULL;
}

void chain_start(void *handle)
{
	for (int row = 0; row < REAL_ROW_COUNT; row++) {
		const struct real_driver_fact *fact = &real_driver_facts[row];
		void *own = real_driver_own((enum real_row)row);

		if (own == NULL)
			continue;
		chain_use(row, exported(fact->name, own));
		/* The program looks the others up itself. */
		if (fact->need != REAL_UNUSED)
			chain_use(row, chain_look_up(handle, fact->name, own));
	}
}

void *chain_route(const char *name, void *own, void *answer)
{
	int row = real_driver_row_at(own);

	if (row < 0)
		return real_driver_contains(own) ? unknown_stub(name, answer) : answer;
	chain_use(row, answer);
	/* Calls that cannot matter do not pass hotpin, unless a profile times them. */
	if (real_driver_facts[row].class == REAL_PASS && !trace_wanted())
		return answer;
	hp_count(names_routed);
	return shim_exports[row];
}
