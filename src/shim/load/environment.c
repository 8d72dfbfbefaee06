/*
 * environment.c - finds the environment before libc has set `environ`.
 */
#define _GNU_SOURCE
#include "shim/load/environment.h"
#include "base/parse.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/*
 * Returns the HOTPIN entries of the environment that the kernel gave the process.  libc sets
 * `environ` in its initializer.  An executable's .preinit_array runs earlier, and may use the
 * driver.
 */
static char *const *kernel_environment(void)
{
	static char text[128 << 10], *entries[64];
	size_t used = 0, count = 0;
	int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);

	for (ssize_t n = 1; fd >= 0 && n > 0; used += n > 0 ? (size_t)n : 0)
		n = read(fd, text + used, sizeof(text) - 1 - used);
	if (fd >= 0)
		close(fd);
	for (char *at = text; at < text + used && count < HP_LEN(entries) - 1; at += strlen(at) + 1)
		if (strncmp(at, "HOTPIN", 6) == 0)
			entries[count++] = at;
	return entries;
}

char *const *environment_of_options(void)
{
	static char *const off[] = { (char *)"HOTPIN=0", NULL };

	if (getauxval(AT_SECURE) != 0)
		return off;
	char *const *entries = environ != NULL ? environ : kernel_environment();
	for (char *const *entry = entries; *entry != NULL; entry++)
		if (strcmp(*entry, off[0]) == 0)
			return off;
	return entries;
}
