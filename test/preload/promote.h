/*
 * For programs that link the stand-in driver: a context, device memory, and blocks of malloc()
 * memory that are copied until the library pins them.  Without the library the blocks stay ordinary
 * memory.
 */
#ifndef HP_TEST_PRELOAD_PROMOTE_H
#define HP_TEST_PRELOAD_PROMOTE_H

#include "pattern.h"
#include "preload.h"
#include "sizes.h"

#define __CUDA_API_VERSION_INTERNAL
#include "../standin/standin.h"

#include <malloc.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Some newer architectures only have the system call clone. */
static inline pid_t fork_past_libc(void)
{
#ifdef SYS_fork
	return (pid_t)syscall(SYS_fork);
#else
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

/* Shared by the files of one program. */
__attribute__((weak)) CUcontext context;
__attribute__((weak)) CUdeviceptr there; /* 64 MiB */

static inline void begin(void)
{
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&context, 0, 0));
	OK(cuMemAlloc_v2(&there, 64 * MIB));
}

/*
 * True if the device's bytes at `from`, downloaded into memory that is never pinned, are those of
 * `seed`.
 */
static inline bool device_holds(CUdeviceptr from, size_t bytes, unsigned seed)
{
	static char quiet[64 * KIB];
	bool right = true;

	OK(cuCtxSynchronize());
	for (size_t done = 0; done < bytes && right; done += sizeof(quiet)) {
		size_t now = bytes - done < sizeof(quiet) ? bytes - done : sizeof(quiet);

		OK(cuMemcpyDtoH_v2(quiet, from + done, now));
		right = holds_from(quiet, done, now, seed);
	}
	return right;
}

/* Copies from the block until it is pinned, or for as long as that should take. */
static inline bool heat(const char *block, size_t bytes)
{
	for (int i = 0; i < (preloaded() ? 200 : 3) && !standin_pinned(block); i++)
		OK(cuMemcpyHtoD_v2(there, block, bytes));
	return standin_pinned(block) != 0;
}

/* Returns a block that is pinned if the library acts. */
static inline char *promoted(size_t bytes)
{
	char *block = malloc(bytes);

	fill(block, bytes, 1);
	CHECK_EQ(heat(block, bytes), preloaded());
	OK(cuCtxSynchronize()); /* a copy in flight could otherwise come after a later one on
				   another stream */
	return block;
}

#endif
