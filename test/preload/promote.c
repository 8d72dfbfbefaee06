/*
 * promote.c - copies a block until it is pinned.
 */
#include "promote.h"

CUcontext context;
CUdeviceptr there;

void begin(void)
{
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&context, 0, 0));
	OK(cuMemAlloc_v2(&there, 64 * MIB));
}

bool device_holds(CUdeviceptr from, size_t bytes, unsigned seed)
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

void launch(CUstream stream)
{
	static CUfunction noop;
	CUmodule module;

	if (noop == NULL) {
		OK(cuModuleLoadData(&module, "standin"));
		OK(cuModuleGetFunction(&noop, module, "standin_noop"));
	}
	OK(cuLaunchKernel(noop, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

bool heat(const char *block, size_t bytes)
{
	for (int i = 0; i < (preloaded() ? 200 : 3) && !standin_pinned(block); i++)
		OK(cuMemcpyHtoD_v2(there, block, bytes));
	return standin_pinned(block) != 0;
}

char *promoted(size_t bytes)
{
	char *block = malloc(bytes);

	fill(block, bytes, 1);
	CHECK_EQ(heat(block, bytes), preloaded());
	OK(cuCtxSynchronize()); /* a copy in flight could otherwise come after a later one on
				   another stream */
	return block;
}
