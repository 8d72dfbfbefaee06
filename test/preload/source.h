/*
 * Programs whose uploads of a pinned block come back before the block has been read
 * (HOTPIN_ASYNC=all).
 *
 * The stand-in reads nothing until it is waited for, so what is written too early is on the device.
 */
#ifndef HP_TEST_PRELOAD_SOURCE_H
#define HP_TEST_PRELOAD_SOURCE_H

#include "promote.h"
#include "base/bare.h"

#include <sys/syscall.h>
#include <time.h>

#define BLOCK (4 * MIB)

/* What every test here runs with. */
#define EARLY "HOTPIN_ASYNC=all"

static CUfunction noop;

static inline void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

/* Asked past libc: whoever wrote to it would open it. */
static inline bool kernel_may_write(char *at)
{
	return hp_bare4(SYS_getrandom, (long)at, 1, 0, 0) == 1;
}

/* The last byte of the block's room, which is nobody's. */
static inline bool is_closed(char *block)
{
	return !kernel_may_write(block + malloc_usable_size(block) - 1);
}

/* A block of `bytes` that is pinned wherever the library acts, and a kernel to run before it. */
static inline char *source_of(size_t bytes)
{
	CUmodule module;

	begin();
	OK(cuModuleLoadData(&module, "module"));
	OK(cuModuleGetFunction(&noop, module, "standin_noop"));
	return promoted(bytes);
}

static inline void launch(CUstream stream)
{
	OK(cuLaunchKernel(noop, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

/* The bytes of `seed` go up behind a kernel; the block has not been read when this returns. */
static inline void upload(char *block, size_t bytes, unsigned seed)
{
	fill(block, bytes, seed);
	/* What was written to too early the last time waits for some turns. */
	for (int i = 0; i < 100; i++) {
		launch(NULL);
		OK(cuMemcpyHtoD_v2(there, block, bytes));
		if (!preloaded() || is_closed(block))
			break;
		OK(cuCtxSynchronize());
	}
	CHECK_EQ(is_closed(block), preloaded());
}

#endif
