/*
 * libc.c - finds the definitions that a program would be bound to without hotpin.
 */
#define _GNU_SOURCE
#include "real/libc.h"
#include "real/binding.h"
#include "real/dlsym.h"

#include <dlfcn.h>

struct real_libc real_libc;

/*
 * dlsym() skips objects that have only old versions of a function, as libc_malloc_debug.so does.
 * dlvsym() skips objects without versions, as all other preloaded libraries are.
 */
static void *find_next(const char *name, const char *version)
{
	void *found = real_dlsym(RTLD_NEXT, name);
	void *versioned = dlvsym(RTLD_NEXT, name, version);

	if (versioned == NULL || versioned == found || !binding_is_libcs(found))
		return found;
	return versioned;
}

/* dlsym() may allocate its error text in this thread; that allocation finds `finding` set. */
bool real_libc_find(void)
{
	static __thread bool finding __attribute__((tls_model("initial-exec")));

	if (finding || !real_dlsym_find())
		return false;
	finding = true;
#define LIBC(name, version)         \
	if (real_libc.name == NULL) \
		real_libc.name = (__typeof__(name) *)find_next(#name, "GLIBC_" #version);
#include "real/libc.def"
	finding = false;
	return true;
}
