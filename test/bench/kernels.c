/*
 * kernels.c - how the benchmarks launch the kernels of ptx.h.
 */
#include "kernels.h"

#include "ptx.h"

void kernels_load(struct kernels *kernels)
{
	CUmodule module;

	ptx_find_stand_in(dlopen("libcuda.so.1", RTLD_NOW));
	CU_OK(CU(cuModuleLoadData)(&module, ptx_image));
	CU_OK(CU(cuModuleGetFunction)(&kernels->nothing, module, "test_nothing"));
	CU_OK(CU(cuModuleGetFunction)(&kernels->spin, module, "test_spin"));
	CU_OK(CU(cuModuleGetFunction)(&kernels->consume, module, "test_consume"));
	CU_OK(CU(cuModuleGetFunction)(&kernels->weigh, module, "test_weigh"));
	kernels->launch = CU(cuLaunchKernel);
}

void kernels_nothing(const struct kernels *kernels, CUstream stream)
{
	CU_OK(kernels->launch(kernels->nothing, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

void kernels_spin(const struct kernels *kernels, CUstream stream, uint64_t ns)
{
	void *arguments[] = { &ns };

	CU_OK(kernels->launch(kernels->spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

void kernels_consume(const struct kernels *kernels, CUstream stream, CUdeviceptr in, uint64_t words,
		     CUdeviceptr out, uint64_t ns)
{
	void *arguments[] = { &in, &words, &out, &ns };

	CU_OK(kernels->launch(kernels->consume, 64, 1, 1, 256, 1, 1, 0, stream, arguments, NULL));
}

void kernels_weigh(const struct kernels *kernels, CUstream stream, CUdeviceptr in, uint64_t words,
		   CUdeviceptr out)
{
	void *arguments[] = { &in, &words, &out };

	CU_OK(kernels->launch(kernels->weigh, 512, 1, 1, 256, 1, 1, 0, stream, arguments, NULL));
}
