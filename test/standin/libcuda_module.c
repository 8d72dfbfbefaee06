/*
 * libcuda_module.c - the exported module, library and function calls, and error texts.
 */
#include "engine.h"

#include <string.h>

#pragma GCC visibility push(default)

CUresult cuModuleLoad(CUmodule *ret, const char *path)
{
	return call_begin(__func__, NEED_CTX | NEED_UNSAFE, "")
		       ?: call_end(module_load(ret, path, false));
}

CUresult cuModuleLoadData(CUmodule *ret, const void *image)
{
	return call_begin(__func__, NEED_CTX | NEED_UNSAFE, "")
		       ?: call_end(module_load(ret, image, false));
}

CUresult cuModuleLoadDataEx(CUmodule *ret, const void *image, unsigned n, CUjit_option *options,
			    void **values)
{
	return call_begin(__func__, NEED_CTX | NEED_UNSAFE, "%u %p %p", n, options, values)
		       ?: call_end(module_load(ret, image, false));
}

CUresult cuModuleLoadFatBinary(CUmodule *ret, const void *image)
{
	return call_begin(__func__, NEED_CTX | NEED_UNSAFE, "")
		       ?: call_end(module_load(ret, image, false));
}

CUresult cuModuleUnload(CUmodule module)
{
	return call_begin(__func__, NEED_CTX | NEED_UNSAFE, "") ?: call_end(module_unload(module));
}

CUresult cuModuleGetFunction(CUfunction *ret, CUmodule module, const char *name)
{
	return call_begin(__func__, NEED_CTX, "%s", name)
		       ?: call_end(module_kernel(ret, module, name));
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *ret, size_t *bytes, CUmodule module, const char *name)
{
	return call_begin(__func__, NEED_CTX, "%s", name)
		       ?: call_end(module_global(ret, bytes, module, name));
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *ret)
{
	CUresult rc = call_begin(__func__, NEED_INIT, "");

	if (rc != CUDA_SUCCESS)
		return rc;
	if (ret == NULL)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	*ret = CU_MODULE_LAZY_LOADING;
	return call_end(CUDA_SUCCESS);
}

/* A library needs no context before a kernel or a global of it is asked for. */
CUresult cuLibraryLoadData(CUlibrary *ret, const void *image, CUjit_option *jit, void **jit_values,
			   unsigned njit, CUlibraryOption *options, void **values, unsigned n)
{
	return call_begin(__func__, NEED_INIT, "%p %p %u %p %p %u", jit, jit_values, njit, options,
			  values, n)
		       ?: call_end(module_load((CUmodule *)ret, image, true));
}

CUresult cuLibraryUnload(CUlibrary library)
{
	return call_begin(__func__, NEED_INIT, "") ?: call_end(module_unload((CUmodule)library));
}

CUresult cuLibraryGetKernel(CUkernel *ret, CUlibrary library, const char *name)
{
	return call_begin(__func__, NEED_INIT, "%s", name)
		       ?: call_end(module_kernel((CUfunction *)ret, (CUmodule)library, name));
}

CUresult cuLibraryGetModule(CUmodule *ret, CUlibrary library)
{
	CUresult rc = call_begin(__func__, NEED_CTX, "");

	if (rc != CUDA_SUCCESS)
		return rc;
	if (ret == NULL)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	*ret = (CUmodule)library;
	return call_end(handle_get(H_MODULE, library) != NULL ? CUDA_SUCCESS
							      : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuLibraryGetGlobal(CUdeviceptr *ret, size_t *bytes, CUlibrary library, const char *name)
{
	return call_begin(__func__, NEED_CTX, "%s", name)
		       ?: call_end(module_global(ret, bytes, (CUmodule)library, name));
}

CUresult cuKernelGetFunction(CUfunction *ret, CUkernel kernel)
{
	CUresult rc = call_begin(__func__, NEED_CTX, "");

	if (rc != CUDA_SUCCESS)
		return rc;
	if (ret == NULL || kernel_get(kernel) == NULL)
		return call_end(ret == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	*ret = (CUfunction)kernel;
	return call_end(CUDA_SUCCESS);
}

static CUresult name_of(const char **ret, const void *handle)
{
	if (ret == NULL || kernel_get(handle) == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	*ret = kernel_get(handle)->name;
	return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **ret, CUfunction f)
{
	return call_begin(__func__, NEED_INIT, "") ?: call_end(name_of(ret, f));
}

CUresult cuKernelGetName(const char **ret, CUkernel kernel)
{
	return call_begin(__func__, NEED_INIT, "") ?: call_end(name_of(ret, kernel));
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

CUresult cuFuncGetAttribute(int *ret, CUfunction_attribute attribute, CUfunction f)
{
	return call_begin(__func__, NEED_INIT, "%u", (unsigned)attribute)
		       ?: call_end(function_attribute(ret, attribute, f));
}

CUresult cuKernelGetAttribute(int *ret, CUfunction_attribute attribute, CUkernel k, CUdevice dev)
{
	return call_begin(__func__, NEED_INIT, "%u %i", (unsigned)attribute, dev)
		       ?: call_end(function_attribute(ret, attribute, k));
}

CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute attribute, int value)
{
	return call_begin(__func__, NEED_INIT, "%u %i", (unsigned)attribute, value)
		       ?: call_end(kernel_get(f) != NULL ? CUDA_SUCCESS
							 : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuFuncSetCacheConfig(CUfunction f, CUfunc_cache config)
{
	return call_begin(__func__, NEED_INIT, "%u", (unsigned)config)
		       ?: call_end(kernel_get(f) != NULL ? CUDA_SUCCESS
							 : CUDA_ERROR_INVALID_HANDLE);
}

/* By threads alone: registers and shared memory of a twin are not known. */
static CUresult occupancy(int *ret, const void *handle, int block)
{
	if (ret == NULL || block <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (kernel_get(handle) == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	*ret = block > 1024 ? 0 : 2048 / block < 32 ? 2048 / block : 32;
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *ret, CUfunction f, int block, size_t n)
{
	return call_begin(__func__, NEED_CTX, "%i %z", block, n)
		       ?: call_end(occupancy(ret, f, block));
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret, CUfunction f, int block,
							      size_t n, unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%i %z %u", block, n, flags)
		       ?: call_end(occupancy(ret, f, block));
}

CUresult cuFuncGetModule(CUmodule *ret, CUfunction f)
{
	CUresult rc = call_begin(__func__, NEED_INIT, "");

	if (rc != CUDA_SUCCESS)
		return rc;
	if (ret == NULL || kernel_get(f) == NULL)
		return call_end(ret == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	*ret = kernel_get(f)->module->handle;
	return call_end(CUDA_SUCCESS);
}

static const struct {
	CUresult code;
	const char *name, *text;
} errors[] = {
#define ERROR(code, text)         \
	{                         \
		code, #code, text \
	}
	ERROR(CUDA_SUCCESS, "no error"),
	ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
	ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
	ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
	ERROR(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
	ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
	ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
	ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
	ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
	ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
	ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
	ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
	ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
	ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
	      "part or all of the requested memory range is already mapped"),
	ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
	      "pointer does not correspond to a registered memory region"),
	ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
	ERROR(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
	ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
	ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
	      "operation not permitted when stream is capturing"),
	ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
	      "operation failed due to a previous error during capture"),
	ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
	      "operation would make the legacy stream depend on a capturing blocking stream"),
	ERROR(CUDA_ERROR_CAPTURED_EVENT,
	      "operation not permitted on an event last recorded in a capturing stream"),
	ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
#undef ERROR
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

CUresult cuGetErrorString(CUresult error, const char **ret)
{
	return call_begin(__func__, NEED_NOTHING, "%u", (unsigned)error)
		       ?: call_end(describe(error, ret, false));
}

CUresult cuGetErrorName(CUresult error, const char **ret)
{
	return call_begin(__func__, NEED_NOTHING, "%u", (unsigned)error)
		       ?: call_end(describe(error, ret, true));
}

#pragma GCC visibility pop
