/*
 * dlsym.c - who gets ours: look-ups of driver functions, by dlsym() and by cuGetProcAddress().
 *
 * Routed by the pointer that the real look-up returned, never by name and version: the ABI that
 * the caller asked for is the one it gets.  Runs under the loader's lock, in other libraries'
 * constructors and inside cuInit(): no lock of ours is taken, and the driver is not called.
 */
#define _GNU_SOURCE
#include "shim/driver/dlsym.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/options.h"
#include "base/protections.h"
#include "engine/gate.h"
#include "engine/state.h"
#include "engine/visibility.h"
#include "real/versions.h"
#include "shim/driver/thunk.h"
#include "shim/load/load.h"

#include <dlfcn.h>
#include <string.h>

real_dlsym_fn shim_dlsym_next;
void *_Atomic shim_unknown_real[SHIM_UNKNOWN_MOST];

/*
 * dlvsym() allocates the text of its error by our malloc(), which comes back here in this thread.
 * libc's header says that it does not call back (__attribute__((leaf))), so the compiler would drop
 * a mark that is not volatile.
 */
void *shim_dlsym_find(void)
{
	static __thread volatile bool finding __attribute__((tls_model("initial-exec")));
	const char *const *versions = real_dlsym_versions(REAL_MACHINE);
	void *found = NULL;

	if (finding)
		return NULL;
	finding = true;
	for (; *versions != NULL && found == NULL; versions++) {
		found = dlvsym(RTLD_NEXT, "dlsym", *versions);
		if (found != NULL && shim_is_ours(found))
			found = NULL;
	}
	finding = false;
	if (found != NULL)
		shim_dlsym_next = (real_dlsym_fn)found;
	return found;
}

/*
 * What dlsym_entry.S goes on to; NULL until the program has looked something up.  Where libc has no
 * dlsym() under a version that we know, the program's call returns NULL, and dlerror() names the
 * version that was looked for last.
 */
void *_Atomic shim_dlsym_ready;
void *shim_dlsym_prepare(void);

void *shim_dlsym_prepare(void)
{
	if (shim_dlsym_next == NULL && shim_dlsym_find() == NULL)
		return NULL;
	atomic_store(&shim_dlsym_ready, (void *)shim_dlsym_next);
	return (void *)shim_dlsym_next;
}

bool shim_is_ours(const void *address)
{
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	extern const char _end[] __attribute__((visibility("hidden")));

	return (const char *)address >= __ehdr_start && (const char *)address < _end;
}

/* True if `name` starts with `head`. */
static bool starts_with(const char *name, const char *head)
{
	return strncmp(name, head, strlen(head)) == 0;
}

static const char *file_name_at(const void *address)
{
	Dl_info info;

	if (dladdr(address, &info) == 0 || info.dli_fname == NULL)
		return "";
	const char *slash = strrchr(info.dli_fname, '/');
	return slash != NULL ? slash + 1 : info.dli_fname;
}

/* Is `file` one whose name begins with one of `heads`? */
static bool is_one_of(const char *file, const char *const *heads)
{
	while (*heads != NULL && !starts_with(file, *heads))
		heads++;
	return *heads != NULL;
}

/*
 * NVIDIA's own tools need the driver's functions: CUPTI records what they do, and the driver
 * itself looks its functions up on some systems (WSL2).
 */
static bool is_nvidias(const char *file)
{
	static const char *const heads[] = {
		"libcupti.",       "libnvperf", "libcuda.so",    "libnvidia-",
		"libcudadebugger", "libcuda-",  "libcheckpoint", NULL,
	};

	return is_one_of(file, heads);
}

bool shim_is_nvidias(const void *caller)
{
	return is_nvidias(file_name_at(caller));
}

/*
 * Those of other APIs (video, ray tracing) have the device read and write the program's memory by
 * functions that do not come by here, on streams or past all of them.
 */
static bool has_other_apis(const char *file)
{
	static const char *const heads[] = {
		"libnvidia-encode.", "libnvidia-opticalflow.",
		"libnvidia-ngx.",    "libnvidia-rtcore.",
		"libnvoptix.",       NULL,
	};

	return is_one_of(file, heads);
}

/*
 * VDPAU's have been there since CUDA 3: their header wants another project's, and nobody is to
 * wonder at them.
 */
static void tell_unknown(const void *address)
{
	Dl_info info;
	const char *name = "a function";

	if (dladdr(address, &info) != 0 && info.dli_sname != NULL)
		name = info.dli_sname;
	if (strstr(name, "VDPAU") != NULL)
		return;
	hp_count(names_unknown);
	hp_debug("%s is new to this version: handed out through a gate", name);
}

/* Stands where the driver has no such function: a program that links libcuda could not start. */
static CUresult missing(void)
{
	return CUDA_ERROR_NOT_FOUND;
}

/* Whoever has opened it may close it again, and we call it later, by threads of ours too. */
static void keep_driver(void)
{
	Dl_info info;

	if (dladdr(atomic_load(&real_driver[REAL_ROW_cuInit]), &info) == 0)
		return;
	void *kept = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (kept != NULL)
		dlclose(kept);
	else
		dlerror(); /* it is in another namespace */
}

bool shim_find_driver(void *handle)
{
	if (shim_dlsym_next == NULL && shim_dlsym_find() == NULL)
		return false;
	if (handle == NULL)
		handle = dlopen("libcuda.so.1", RTLD_LAZY);
	if (handle == NULL ||
	    real_driver_load(handle, shim_dlsym_next, shim_is_ours, (void *)missing) == 0)
		return false;
	if (hp_keeps(driver_stays))
		keep_driver();
	if (real_driver_lacks() != NULL)
		shim_stand_aside(real_driver_lacks());
	gate_open(GATE_UNREADY);
	return true;
}

/* A stub that settles first, for a function that no row of driver.def knows. */
static void *unknown_stub(void *address)
{
	for (size_t i = 0; i < SHIM_UNKNOWN_MOST; i++) {
		void *found = NULL;

		if (atomic_compare_exchange_strong(&shim_unknown_real[i], &found, address)) {
			tell_unknown(address);
			found = address;
		}
		if (found == address)
			return (char *)shim_unknown_stubs + SHIM_UNKNOWN_BYTES * i;
	}
	return address;
}

void *shim_route(void *address)
{
	int row = real_driver_row_at(address);

	if (row < 0)
		return real_driver_contains(address) ? unknown_stub(address) : address;
	if (real_driver_facts[row].class == REAL_PASS)
		return address;
	hp_count(names_routed);
	return shim_exports[row];
}

/*
 * The name is found in ourselves: the global scope was asked.  Whoever is not to get ours, and a
 * name that no loaded driver has, gets what it would have got without us.
 */
static void *answer_own(const char *name, void *own, bool give_ours)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *behind = NULL;

	if (driver != NULL) {
		behind = shim_dlsym_next(driver, name);
		dlclose(driver);
	}
	if (behind == NULL)
		behind = shim_dlsym_next(RTLD_NEXT, name);
	if (behind == NULL)
		return SHIM_DLSYM_NULL;
	return give_ours ? own : behind;
}

void *shim_dlsym_answer(void *handle, const char *name, const void *caller)
{
	shim_start();
	if (shim_dlsym_next == NULL && shim_dlsym_find() == NULL)
		return NULL;
	bool acts = state_active() && !shim_is_ours(caller);
	const char *file = acts ? file_name_at(caller) : "";
	bool give_ours = acts && !is_nvidias(file);

	void *address = shim_dlsym_next(handle, name);
	if (address == NULL)
		return NULL;
	if (has_other_apis(file))
		visibility_raise(REAL_SEEN_PAST_US);
	if (shim_is_ours(address))
		return answer_own(name, address, give_ours);
	if (!give_ours)
		return NULL;
	if (!real_driver_loaded() && !starts_with(file_name_at(address), "libcuda.so"))
		return NULL;
	if (!real_driver_loaded() && (!shim_find_driver(handle) || !state_active()))
		return NULL;

	void *routed = shim_route(address);
	if (routed == address)
		return NULL;
	/* The look-up has succeeded; what our own have left behind is nobody's error. */
	dlerror();
	return routed;
}
