/*
 * Whether memory can be read.
 */
#ifndef HP_TRACE_READABLE_H
#define HP_TRACE_READABLE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * True if eight bytes at the address can be read: the kernel reads them as a mask of signals before
 * it rejects the operation -1.  Every seccomp filter allows this system call.  Keeps errno.
 */
static inline bool is_readable(uintptr_t address)
{
	int saved = errno;
	bool readable = syscall(SYS_rt_sigprocmask, -1L, address, NULL, 8L) < 0 && errno == EINVAL;

	errno = saved;
	return readable;
}

#endif
