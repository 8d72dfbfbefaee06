/*
 * twin.h - functions that a host twin inside a program calls, without linking the stand-in.
 *
 * A runtime opens libcuda.so.1 privately, so the linker cannot bind the names of standin.h: the
 * functions here look them up.  C and C++; link with -ldl on an old glibc, and with -rdynamic.
 */
#ifndef STANDIN_TWIN_H
#define STANDIN_TWIN_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

static inline void *twin_find(const char *name)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	return library != NULL ? dlsym(library, name) : NULL;
}

/* Returns the host address of a device pointer. */
static inline void *twin_host(const void *device)
{
	void *(*find)(unsigned long long) =
		(void *(*)(unsigned long long))twin_find("standin_host");

	return find != NULL ? find((unsigned long long)(uintptr_t)device) : NULL;
}

/* Sets the duration of the running kernel on the virtual clock. */
static inline void twin_ns(uint64_t ns)
{
	void (*set)(uint64_t) = (void (*)(uint64_t))twin_find("standin_twin_ns");

	if (set != NULL)
		set(ns);
}

#endif
