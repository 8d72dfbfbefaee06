/*
 * limits.c - the exported functions that limit the program's memory.
 *
 * Every mapping counts against a limit, and the heap has reserved more addresses than any limit
 * allows: the heap is closed.
 */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS /* it would make setrlimit() another name of setrlimit64() */
#include "base/protections.h"
#include "engine/state.h"
#include "heap/limits.h"
#include "heap/map.h"
#include "heap/reclaim.h"
#include "real/libc.h"
#include "shim/export.h"
#include "shim/libc/next.h"

/* A child of vfork() limits itself, but uses its parent's memory. */
static void limit_was_set(int resource)
{
	struct rlimit limit;

	if (hp_keeps(limits_close_the_heap) && (resource == RLIMIT_AS || resource == RLIMIT_DATA) &&
	    getpid() == atomic_load(&state_process) && getrlimit(resource, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY)
		heap_close();
}

static int set_limit(pid_t pid, int resource, const void *limit, void *ret_old)
{
	return (int)syscall(SYS_prlimit64, pid, resource, limit, ret_old);
}

#define SETRLIMIT(name, type)                                                           \
	HP_EXPORT int name(__rlimit_resource_t resource, const struct type *limit)      \
	{                                                                               \
		int result = HAS_NEXT(name) ? real_libc.name(resource, limit)           \
					    : set_limit(0, (int)resource, limit, NULL); \
                                                                                        \
		if (result == 0)                                                        \
			limit_was_set((int)resource);                                   \
		return result;                                                          \
	}
SETRLIMIT(setrlimit, rlimit)
SETRLIMIT(setrlimit64, rlimit64)
#undef SETRLIMIT

#define PRLIMIT(name, type)                                                                      \
	HP_EXPORT int name(pid_t pid, enum __rlimit_resource resource, const struct type *limit, \
			   struct type *ret_old)                                                 \
	{                                                                                        \
		int result = HAS_NEXT(name) ? real_libc.name(pid, resource, limit, ret_old)      \
					    : set_limit(pid, (int)resource, limit, ret_old);     \
                                                                                                 \
		if (result == 0 && limit != NULL && (pid == 0 || pid == getpid()))               \
			limit_was_set((int)resource);                                            \
		return result;                                                                   \
	}
PRLIMIT(prlimit, rlimit)
PRLIMIT(prlimit64, rlimit64)
#undef PRLIMIT

/* The kernel would count reserved addresses as locked, and populate the writable ones. */
HP_EXPORT int mlockall(int flags)
{
	if (hp_keeps(limits_close_the_heap) &&
	    (flags & MCL_FUTURE || (flags & MCL_CURRENT && heap_bytes != 0)))
		heap_close();
	if (flags & MCL_FUTURE)
		limits_lock_mappings();
	return CALL_NEXT(mlockall, flags);
}
