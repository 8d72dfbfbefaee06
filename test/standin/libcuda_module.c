/*
 * libcuda_module.c - the exported module, library and function calls, and error texts.
 */
#include "bridge.h"

#include <string.h>

#pragma GCC visibility push(default)

static CUresult live_module(const void *handle)
{
	return handle_get(H_MODULE, handle) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult live_kernel(const void *handle)
{
	return kernel_get(handle) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult name_of(const char **ret, const void *handle)
{
	if (ret == NULL || kernel_get(handle) == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	*ret = kernel_get(handle)->name;
	return CUDA_SUCCESS;
}

static CUresult function_attribute(int *ret, CUfunction_attribute attribute, const void *handle)
{
	if (ret == NULL || (unsigned)attribute >= CU_FUNC_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (kernel_get(handle) == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*ret = 1024;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*ret = 32;
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*ret = 90;
		break;
	default:
		*ret = 0;
	}
	return CUDA_SUCCESS;
}

/* By threads alone: registers and shared memory of a twin are unknown. */
static CUresult occupancy(int *ret, const void *handle, int block)
{
	if (ret == NULL || block <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (kernel_get(handle) == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	*ret = block > 1024 ? 0 : 2048 / block < 32 ? 2048 / block : 32;
	return CUDA_SUCCESS;
}

static const struct {
	CUresult code;
	const char *name, *text;
} errors[] = {
#define ERROR(code, runtime_code, text) { code, #code, text },
#define RUNTIME_ERROR(code, text)
#include "error.def"
};

static CUresult describe(CUresult error, const char **ret, bool name)
{
	if (ret == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == error) {
			*ret = name ? errors[i].name : errors[i].text;
			return CUDA_SUCCESS;
		}
	*ret = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

#include "entry_module.def"

#pragma GCC visibility pop
