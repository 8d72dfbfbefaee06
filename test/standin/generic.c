/*
 * generic.c - the table of all entry points, and one function for those that are not modeled.
 *
 * This file must not include cuda.h: it defines every name a second time, weakly and without its
 * signature, so that the library exports all of them and the linker prefers the modeled ones.  The
 * others return CUDA_ERROR_NOT_SUPPORTED (801) and are logged.
 */
#include "entries.h"

#include <stddef.h>

int standin_unmodeled(const char *name);

#pragma GCC visibility push(default)
#define ENTRY(export, base, version, flags)        \
	int export(void);                          \
	__attribute__((weak)) int export(void)     \
	{                                          \
		return standin_unmodeled(#export); \
	}
#include "entry.def"
#pragma GCC visibility pop

const struct entry standin_entries[] = {
#define ENTRY(export, base, version, flags) { #base, version, flags, (void (*)(void)) export },
#include "entry.def"
	{ NULL, 0, 0, NULL }
};
