/*
 * before_2_34.c - dlsym() as in a libc of several files: timer_create() is not among what comes
 * next, though a program that has opened librt.so.1 finds it there.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#pragma GCC visibility push(default)
void *dlsym_of_many(void *handle, const char *name);
#pragma GCC visibility pop
__asm__(".symver dlsym_of_many, dlsym@@GLIBC_2.34");

void *dlsym_of_many(void *handle, const char *name)
{
	void *(*of_libc)(void *, const char *);
	void *found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");

	if (found == NULL)
		found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	memcpy(&of_libc, &found, sizeof(found));
	return handle == RTLD_NEXT && strcmp(name, "timer_create") == 0 ? NULL
									: of_libc(handle, name);
}
