/*
 * dlsym.c - finds libc's dlsym() by its symbol version, since dlsym() itself is hotpin's.
 *
 * dlvsym() skips libraries without versions, as most preloaded libraries are.  libc's dlsym() finds
 * them.  A library whose dlsym() has libc's version (nvshare 1a8f211) answers with functions that
 * the loader has bound to hotpin's, so libc's own one is looked up in its file.
 */
#define _GNU_SOURCE
#include "real/dlsym.h"
#include "base/parse.h"
#include "real/binding.h"

#include <dlfcn.h>

real_dlsym_fn real_dlsym, real_dlsym_next;

typedef void *open_fn(const char *path, int flags);

/* Finds a function of libc behind `handle`, which is not hotpin's; NULL: there is none. */
static void *find(void *handle, const char *name)
{
	/* glibc 2.34 moved dlsym() from libdl into libc, with a new version. */
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.2.5" };
	void *found = NULL;

	for (size_t i = 0; i < HP_LEN(versions) && found == NULL; i++) {
		found = dlvsym(handle, name, versions[i]);
		if (found != NULL && real_is_ours(found))
			found = NULL;
	}
	return found;
}

/* Returns libc's dlsym(), which is in the file of its dlvsym(). */
static void *find_libcs(void)
{
	void *found = find(RTLD_NEXT, "dlsym"), *handle = NULL;
	Dl_info libc, file;

	if (found == NULL || dladdr((void *)dlvsym, &libc) == 0 || dladdr(found, &file) == 0 ||
	    file.dli_fbase == libc.dli_fbase)
		return found;
	/* Not by hotpin's dlopen(), which calls this. */
	open_fn *open = (open_fn *)find(RTLD_NEXT, "dlopen");
	if (open != NULL)
		handle = open(libc.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	return handle != NULL ? find(handle, "dlsym") : NULL;
}

/*
 * dlvsym() allocates its error text by hotpin's malloc(), which calls this function again in the
 * same thread.  libc declares dlvsym() as a leaf function, so the compiler would drop a mark that
 * is not volatile.
 */
bool real_dlsym_find(void)
{
	static __thread volatile bool finding __attribute__((tls_model("initial-exec")));

	if (real_dlsym != NULL || finding)
		return real_dlsym != NULL;
	finding = true;
	void *found = find_libcs();
	if (found != NULL) {
		void *next = ((real_dlsym_fn)found)(RTLD_NEXT, "dlsym");

		real_dlsym_next =
			(real_dlsym_fn)(next != NULL && !real_is_ours(next) ? next : found);
		real_dlsym = (real_dlsym_fn)found;
	}
	finding = false;
	return found != NULL;
}
