/*
 * no_dlsym.c - dlvsym() of a libc that has no dlsym() under any requested version: it returns NULL
 * and sets dlerror().
 */
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#pragma GCC visibility push(default)
void *dlvsym(void *restrict handle, const char *restrict name, const char *restrict version);
#pragma GCC visibility pop

void *dlvsym(void *restrict handle, const char *restrict name, const char *restrict version)
{
	void *unused;

	(void)handle;
	(void)name;
	(void)version;
	/* A request that no libc knows sets dlerror(). */
	dlinfo(_r_debug.r_map, -1, &unused);
	return NULL;
}
