/*
 * test_versions.c - the symbol versions of functions that hotpin looks up.
 */
#include "check.h"

#include <dlfcn.h>

/* libc has each function that we intercept under the listed version, or not at all. */
TEST(this_libc_has_what_is_listed)
{
	int looked_at = 0;

#define LIBC(name, since)                                                         \
	if (dlsym(RTLD_DEFAULT, #name) != NULL) {                                 \
		looked_at++;                                                      \
		if (!CHECK(dlvsym(RTLD_DEFAULT, #name, "GLIBC_" #since) != NULL)) \
			printf("# %s\n", #name);                                  \
	}
#include "real/libc.def"
	CHECK(looked_at > 20);
}

CHECK_MAIN()
