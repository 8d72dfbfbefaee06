/*
 * another_context - what is left of a random program; test/walk/replay.py wrote it.
 */
#include "replay.h"

static void part_0(void)
{
	CODE(cu[0].cuMemAlloc_v2(&d[1], 16384));
	CODE(cu[0].cuMemsetD8_v2(d[1], 17, 16384));
	h[3] = of_data(65536);
	fill(h[3], 65536, 1);
	CODE(cu[0].cuCtxCreate_v2(&c[1], 0, 0));
}

static void part_1(void)
{
	CODE(cu[0].cuMemcpyHtoD_v2(d[1], h[3], 16384));
	CODE(cu[0].cuCtxSetCurrent(c[1]));
	CODE(cu[0].cuMemcpyAsync((CUdeviceptr)(h[3]), d[1], 16384, CU_STREAM_PER_THREAD));
}

static void part_2(void)
{
	CODE(cu[0].cuCtxSetCurrent(c[0]));
	LOOK(h[3], 65536);
	{
		char *room = malloc(16384);

		CODE(cu[0].cuMemcpyDtoH_v2(room, d[1], 16384));
		LOOK(room, 16384);
		free(room);
	}
	CODE(cu[0].cuMemFree_v2(d[1]));
	CODE(cu[0].cuCtxSynchronize());
	CODE(cu[0].cuCtxDestroy_v2(c[1]));
	CODE(cu[0].cuCtxSetCurrent(c[0]));
}

PROGRAM(another_context, "HOTPIN_ASYNC=1")
{
	on(0, part_0);
	on(1, part_1);
	on(0, part_2);
}
