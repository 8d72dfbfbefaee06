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

typedef void *open_fn(Lmid_t space, const char *path, int flags);

/* Finds a function of libc behind `handle`, which is not hotpin's; NULL: there is none. */
static void *find(void *handle, const char *name)
{
	/* glibc 2.34 moved them from libdl into libc, with a new version. */
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.3.4", "GLIBC_2.2.5" };
	void *found = NULL;

	for (size_t i = 0; i < HP_LEN(versions) && found == NULL; i++) {
		found = dlvsym(handle, name, versions[i]);
		if (found != NULL && real_is_ours(found))
			found = NULL;
	}
	return found;
}

/* True if an address is in the file of libc's dlvsym(). */
static bool is_libcs(const void *address)
{
	return binding_in_one_file(address, (const void *)dlvsym);
}

/*
 * Returns libc's dlsym(), which is in the file of its dlvsym().  If that cannot be opened, returns
 * the one that is found first.
 *
 * Opens it by libc's own function, since another library's may look it up by hotpin's dlsym(),
 * which has no answer yet.  Few libraries replace dlmopen().
 */
static void *find_libcs(void)
{
	void *found = find(RTLD_NEXT, "dlsym"), *libcs = NULL;
	Dl_info libc;

	if (found == NULL || is_libcs(found))
		return found;
	open_fn *open = (open_fn *)find(RTLD_NEXT, "dlmopen");
	if (open != NULL && is_libcs((void *)open) && dladdr((void *)dlvsym, &libc) != 0) {
		void *handle = open(LM_ID_BASE, libc.dli_fname, RTLD_LAZY | RTLD_NOLOAD);

		libcs = handle != NULL ? find(handle, "dlsym") : NULL;
	}
	return libcs != NULL ? libcs : found;
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
