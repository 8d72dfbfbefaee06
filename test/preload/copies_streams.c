/*
 * copies_streams.c - the streams that rows of copies name, and work on them.
 */
#include "copies.h"

static CUdeviceptr flag;

CUstream copy_stream_of(enum copy_stream kind)
{
	static CUstream blocking, non_blocking;

	if (blocking == NULL) {
		OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
		OK(cuStreamCreate(&non_blocking, CU_STREAM_NON_BLOCKING));
	}
	switch (kind) {
	case COPY_LEGACY:
		return CU_STREAM_LEGACY;
	case COPY_PER_THREAD:
		return CU_STREAM_PER_THREAD;
	case COPY_BLOCKING:
		return blocking;
	case COPY_NON_BLOCKING:
		return non_blocking;
	default:
		return NULL;
	}
}

void copy_hold(CUstream stream)
{
	if (flag == 0)
		OK(cuMemAlloc_v2(&flag, 64));
	OK(cuCtxSynchronize());
	*(volatile uint32_t *)standin_host(flag) = 0;
	OK(cuStreamWaitValue32_v2(stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
}

void copy_let_go(void)
{
	*(volatile uint32_t *)standin_host(flag) = 1;
}
