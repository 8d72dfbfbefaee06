/* selftest.h - a device for tests of the stand-in.  Every test is a process of its own. */
#ifndef STANDIN_SELFTEST_H
#define STANDIN_SELFTEST_H

#include "check.h"
#include "standin.h"

#include <stdbool.h>
#include <sys/mman.h>

/* Initializes and makes the primary context current. */
static inline CUcontext start(void)
{
	CUcontext ctx = NULL;

	CHECK_EQ(cuInit(0), 0);
	CHECK_EQ(cuDevicePrimaryCtxRetain(&ctx, 0), 0);
	CHECK_EQ(cuCtxSetCurrent(ctx), 0);
	return ctx;
}

static inline CUdeviceptr device(size_t bytes)
{
	CUdeviceptr at = 0;

	CHECK_EQ(cuMemAlloc(&at, bytes), 0);
	return at;
}

static inline unsigned char *pages(size_t bytes, int value)
{
	unsigned char *at = (unsigned char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE,
						  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(at, value, bytes);
	return at;
}

static inline CUstream stream(unsigned flags)
{
	CUstream s = NULL;

	CHECK_EQ(cuStreamCreate(&s, flags), 0);
	return s;
}

static inline CUfunction kernel(const char *name)
{
	CUmodule module = NULL;
	CUfunction f = NULL;

	CHECK_EQ(cuModuleLoadData(&module, "image"), 0);
	CHECK_EQ(cuModuleGetFunction(&f, module, name), 0);
	return f;
}

/* Returns the device's value, without a call that could advance anything. */
static inline int peek(CUdeviceptr at)
{
	return *(unsigned char *)standin_host(at);
}

#endif
