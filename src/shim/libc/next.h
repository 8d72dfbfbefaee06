/*
 * Calls the function behind an exported one, or the kernel if libc has none.
 */
#ifndef HP_SHIM_LIBC_NEXT_H
#define HP_SHIM_LIBC_NEXT_H

#include "real/libc.h"
#include "shim/libc/first.h"

#include <sys/syscall.h>
#include <unistd.h>

/* True if real_libc.name can be called. */
#define HAS_NEXT(name) (real_libc.name != NULL || (shim_libc_find() && real_libc.name != NULL))

#define CALL_NEXT(name, ...)                   \
	(HAS_NEXT(name)                        \
		 ? real_libc.name(__VA_ARGS__) \
		 : (__typeof__(real_libc.name(__VA_ARGS__)))syscall(SYS_##name, __VA_ARGS__))

#endif
