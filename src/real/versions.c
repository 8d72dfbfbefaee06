/*
 * versions.c - one table of symbol versions for all architectures.
 */
#include "real/versions.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* glibc 2.34 moved dlsym() from libdl into libc, with a new version. */
static const char *const dlsym_versions[REAL_MACHINE_COUNT][3] = {
	[REAL_X86_64] = { "GLIBC_2.34", "GLIBC_2.2.5" },
	[REAL_AARCH64] = { "GLIBC_2.34", "GLIBC_2.17" },
};

static const char *first_version(enum real_machine machine)
{
	return dlsym_versions[machine][1];
}

const char *const *real_dlsym_versions(enum real_machine machine)
{
	return dlsym_versions[machine];
}

/* "GLIBC_2.2.5" -> 0x020205 */
static unsigned number_of(const char *version)
{
	unsigned number = 0, part = 0, parts = 1;

	assert(strncmp(version, "GLIBC_", 6) == 0);
	for (const char *at = version + 6; *at != '\0'; at++) {
		if (*at != '.') {
			part = 10 * part + (unsigned)(*at - '0');
			continue;
		}
		number = number << 8 | part;
		part = 0;
		parts++;
	}
	number = number << 8 | part;
	return parts == 3 ? number : number << 8;
}

const char *real_version_since(enum real_machine machine, const char *since)
{
	const char *first = first_version(machine);

	return number_of(since) < number_of(first) ? first : since;
}
