/*
 * linked.c - replaces real/binding.c in a program that contains the library: see renames.sh.
 */
#define _GNU_SOURCE
#include "base/options.h"
#include "engine/state.h"
#include "heap/map.h"
#include "real/binding.h"
#include "real/libc.h"
#include "shim/load/start.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The harness asks whether this is there (test/harness/preload.c). */
extern const char whole_is_linked[];
const char whole_is_linked[] = "";

bool binding_is_ours(const char *name)
{
	(void)name;
	return true;
}

/*
 * The allocator after hotpin is the sanitizer's.  It is found first, before libc's, and then serves
 * as libc's.
 */
bool binding_is_libcs(const void *address)
{
	return address == (const void *)real_libc.malloc || address == (const void *)real_libc.free;
}

/* No library stands before libc's dlsym(). */
bool binding_in_one_file(const void *one, const void *other)
{
	(void)one;
	(void)other;
	return true;
}

/*
 * Program and library are one file.  A function of the library that was looked up is exported, and
 * begins at its address; no call returns to such an address, so the program as a caller has none.
 */
bool real_is_ours(const void *address)
{
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	extern const char _end[] __attribute__((visibility("hidden")));
	Dl_info info;

	return (const char *)address >= __ehdr_start && (const char *)address < _end &&
	       dladdr(address, &info) != 0 && info.dli_saddr == address;
}

void *reallocarray(void *block, size_t count, size_t each)
{
	size_t bytes;

	if (!__builtin_mul_overflow(count, each, &bytes))
		return realloc(block, bytes);
	errno = ENOMEM;
	return NULL;
}

/* If the heap served nothing, the tests would prove nothing. */
__attribute__((constructor)) static void check_that_the_heap_serves(void)
{
	shim_start();
	if (!state_active || hp_options->heap_min == 0)
		return;
	void *block = malloc((size_t)1 << 20);
	if (!heap_owns(block)) {
		fprintf(stderr, "whole: the library's heap does not serve the program\n");
		abort();
	}
	free(block);
}
