/*
 * threads.c - the exported functions of threads.
 */
#define _GNU_SOURCE
#include "engine/thread_end.h"
#include "real/libc.h"
#include "shim/export.h"
#include "shim/libc/libc.h"

#include <errno.h>

/*
 * A program may delete a key that it never made, a zero.  Plain libc refuses that, so ours does
 * too: the next key of the program would be ours, with a destructor for what we put there.
 */
HP_EXPORT int pthread_key_delete(pthread_key_t key)
{
	if (thread_end_is_key(key) || (real_libc.pthread_key_delete == NULL &&
				       (!shim_libc_find() || real_libc.pthread_key_delete == NULL)))
		return EINVAL;
	return real_libc.pthread_key_delete(key);
}
