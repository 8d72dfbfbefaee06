/*
 * zero_bytes - what is left of a random program; test/walk/replay.py wrote it.
 */
#include "replay.h"

static void part_0(void)
{
	h[0] = malloc(4096);
	fill(h[0], 4096, 1);
	CODE(cu[0].cuMemAlloc_v2(&d[3], 8192));
	CODE(cu[0].cuStreamCreate(&l[4], CU_STREAM_NON_BLOCKING));
	CODE(cu[0].cuMemsetD8_v2(d[3], 17, 8192));
	CODE(cu[0].cuCtxSynchronize());
	CODE(cu[0].cuMemcpyHtoD_v2(d[3], h[0], 16));
	CODE(cu[0].cuMemcpyDtoH_v2(h[0], d[3] + 4608, 0));
	KERNEL(K_XOR, l[4], (uint64_t)(d[3]), 2, 7, 0);
	CODE(cu[0].cuStreamSynchronize(l[4]));
	CODE(cu[0].cuCtxSynchronize());
	{
		char *room = malloc(64);

		CODE(cu[0].cuMemcpyDtoH_v2(room, d[3], 64));
		LOOK(room, 64);
		free(room);
	}
}

PROGRAM(zero_bytes, "HOTPIN_ASYNC=1")
{
	on(0, part_0);
}
