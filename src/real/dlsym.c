/*
 * dlsym.c - finds libc's dlsym() by its symbol version, since dlsym() itself is hotpin's.
 *
 * dlvsym() skips libraries without versions, as all other preloaded libraries are.  libc's dlsym()
 * finds them.
 */
#define _GNU_SOURCE
#include "real/dlsym.h"
#include "base/parse.h"
#include "real/binding.h"

#include <dlfcn.h>

real_dlsym_fn real_dlsym, real_dlsym_next;

/*
 * dlvsym() allocates its error text by hotpin's malloc(), which calls this function again in the
 * same thread.  libc declares dlvsym() as a leaf function, so the compiler would drop a mark that
 * is not volatile.
 */
bool real_dlsym_find(void)
{
	static __thread volatile bool finding __attribute__((tls_model("initial-exec")));
	/* glibc 2.34 moved dlsym() from libdl into libc, with a new version. */
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.2.5" };
	void *found = NULL;

	if (real_dlsym != NULL || finding)
		return real_dlsym != NULL;
	finding = true;
	for (size_t i = 0; i < HP_LEN(versions) && found == NULL; i++) {
		found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
		if (found != NULL && real_is_ours(found))
			found = NULL;
	}
	if (found != NULL) {
		void *next = ((real_dlsym_fn)found)(RTLD_NEXT, "dlsym");

		real_dlsym_next =
			(real_dlsym_fn)(next != NULL && !real_is_ours(next) ? next : found);
		real_dlsym = (real_dlsym_fn)found;
	}
	finding = false;
	return found != NULL;
}
