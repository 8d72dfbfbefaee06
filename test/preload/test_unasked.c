/*
 * test_unasked.c - freed pinned blocks with a driver that cannot be asked whether the device is
 * idle (before CUDA 12.5): a call of the program that waits is the only sign, and may be the last
 * one.
 */
#include "resident.h"

/* The program frees blocks, waits, and is idle from then on. */
TEST_AFTER_WITH(the_first_blocks_that_are_due, begin(), "HOTPIN_RING=0")
{
	allocate(true);
	free_all();
	OK(cuCtxSynchronize());
	rest(4);
	CHECK_EQ(standin_registered_bytes(), 0);
}

/* The same with two contexts while a block was due, and one later. */
TEST_AFTER_WITH(one_context_again, begin(), "HOTPIN_RING=0")
{
	CUcontext other;

	OK(cuCtxCreate_v2(&other, 0, 0));
	OK(cuCtxSetCurrent(context));
	char *block = malloc(24 * MIB);
	memset(block, 1, 24 * MIB);
	CHECK_EQ(heat(block, 24 * MIB), preloaded());
	free(block);
	rest(2);
	block = malloc(24 * MIB);
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxSetCurrent(context));
	rest(2);
	OK(cuMemcpyHtoD_v2(there, block, 24 * MIB));
	free(block);
	OK(cuCtxSynchronize());
	rest(4);
	CHECK_EQ(standin_registered_bytes(), 0);
}

PRELOAD_MAIN()
