/*
 * threads.c - the exported functions of threads.
 */
#define _GNU_SOURCE
#include "engine/thread_end.h"
#include "real/libc.h"
#include "shim/export.h"
#include "shim/libc/next.h"

#include <errno.h>

/*
 * A program may delete a key that it never created, for instance key 0.  libc refuses that, so
 * hotpin refuses it for its own key: otherwise the program's next key would be that one.
 */
HP_EXPORT int pthread_key_delete(pthread_key_t key)
{
	if (thread_end_is_key(key) || !HAS_NEXT(pthread_key_delete))
		return EINVAL;
	return real_libc.pthread_key_delete(key);
}
