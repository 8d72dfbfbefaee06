/*
 * test_versions.c - the symbol versions of each architecture.
 */
#include "check.h"

#include "real/versions.h"

#include <dlfcn.h>

static int is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

TEST(dlsym_on_each_machine)
{
	const char *const *x86 = real_dlsym_versions(REAL_X86_64);
	const char *const *arm = real_dlsym_versions(REAL_AARCH64);

	CHECK(is(x86[0], "GLIBC_2.34") && is(x86[1], "GLIBC_2.2.5") && x86[2] == NULL);
	CHECK(is(arm[0], "GLIBC_2.34") && is(arm[1], "GLIBC_2.17") && arm[2] == NULL);
}

TEST(no_version_before_the_first)
{
	static const struct {
		const char *since, *x86, *arm;
	} rows[] = {
		{ "GLIBC_2.2.5", "GLIBC_2.2.5", "GLIBC_2.17" },
		{ "GLIBC_2.3", "GLIBC_2.3", "GLIBC_2.17" },
		{ "GLIBC_2.3.4", "GLIBC_2.3.4", "GLIBC_2.17" },
		{ "GLIBC_2.16", "GLIBC_2.16", "GLIBC_2.17" },
		{ "GLIBC_2.17", "GLIBC_2.17", "GLIBC_2.17" },
		{ "GLIBC_2.27", "GLIBC_2.27", "GLIBC_2.27" },
		{ "GLIBC_2.34", "GLIBC_2.34", "GLIBC_2.34" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CHECK(is(real_version_since(REAL_X86_64, rows[i].since), rows[i].x86));
		CHECK(is(real_version_since(REAL_AARCH64, rows[i].since), rows[i].arm));
	}
}

/* libc has dlsym() under at least one of this machine's versions. */
TEST(this_libc_knows_one)
{
	const char *const *versions = real_dlsym_versions(REAL_MACHINE);
	int found = 0;

	for (size_t i = 0; versions[i] != NULL; i++)
		found += dlvsym(RTLD_DEFAULT, "dlsym", versions[i]) != NULL;
	CHECK(found > 0);
}

/* libc has each function that we intercept under the listed version, or not at all. */
TEST(this_libc_has_what_is_listed)
{
	int looked_at = 0;

#define LIBC(name, since)                                                                      \
	if (dlsym(RTLD_DEFAULT, #name) != NULL) {                                              \
		looked_at++;                                                                   \
		if (!CHECK(dlvsym(RTLD_DEFAULT, #name,                                         \
				  real_version_since(REAL_MACHINE, "GLIBC_" #since)) != NULL)) \
			printf("# %s\n", #name);                                               \
	}
#include "real/libc.def"
	CHECK(looked_at > 20);
}

CHECK_MAIN()
