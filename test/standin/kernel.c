/*
 * kernel.c - modules, and kernels that are host functions of the program.
 *
 * Images are never parsed.  Any name is a kernel, and it can be launched if the program exports its
 * twin.  The loader is called with the lock released, because a constructor of the program may want
 * the lock.
 */
#include "engine.h"
#include "control.h"
#pragma GCC visibility push(default)
#include "standin.h"
#pragma GCC visibility pop

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGS_MAX 128

struct global {
	char *name;
	uintptr_t at;
	size_t bytes;
	unsigned serial; /* of its block, which is freed with the context */
	struct global *next;
};

static __thread uint64_t twin_ns;
static __thread CUresult twin_fault;

static void *exported(const char *prefix, const char *name)
{
	char symbol[600];
	void *found;

	snprintf(symbol, sizeof(symbol), "%s%s", prefix, name);
	pthread_mutex_unlock(&engine.lock);
	found = dlsym(RTLD_DEFAULT, symbol);
	pthread_mutex_lock(&engine.lock);
	return found;
}

CUresult module_load(CUmodule *ret, const void *image, bool library)
{
	struct module *module;

	if (ret == NULL || image == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	module = calloc(1, sizeof(*module));
	if (module == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	module->library = library;
	module->handle = handle_new(H_MODULE, module);
	*ret = module->handle;
	return CUDA_SUCCESS;
}

CUresult module_unload(CUmodule handle)
{
	struct module *module = handle_get(H_MODULE, handle);

	if (module == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (ctx_check() == CUDA_SUCCESS)
		device_drain(ctx_current()->dev);
	while (module->kernels != NULL) {
		struct kernel *kernel = module->kernels;

		module->kernels = kernel->next;
		handle_free(kernel->handle);
		free(kernel->name);
		free(kernel);
	}
	while (module->globals != NULL) {
		struct global *global = module->globals;

		const struct block *block = block_find(global->at);

		module->globals = global->next;
		if (block != NULL && block->serial == global->serial)
			mem_free_now(global->at);
		free(global->name);
		free(global);
	}
	handle_free(handle);
	free(module);
	return CUDA_SUCCESS;
}

CUresult module_kernel(CUfunction *ret, CUmodule handle, const char *name)
{
	struct module *module = handle_get(H_MODULE, handle);
	struct kernel *kernel;

	if (ret == NULL || name == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (module == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	for (kernel = module->kernels; kernel != NULL; kernel = kernel->next)
		if (strcmp(kernel->name, name) == 0)
			break;
	if (kernel == NULL) {
		bool prints = exported("standin_prints_", name) != NULL;

		kernel = calloc(1, sizeof(*kernel));
		if (kernel == NULL)
			return CUDA_ERROR_OUT_OF_MEMORY;
		kernel->prints = prints;
		kernel->name = strdup(name);
		kernel->module = module;
		kernel->handle = handle_new(H_KERNEL, kernel);
		kernel->next = module->kernels;
		module->kernels = kernel;
	}
	*ret = kernel->handle;
	return CUDA_SUCCESS;
}

/* A global variable is created at its first use, and again after its context was reset. */
static CUresult global_make(struct global *global)
{
	const size_t *size = exported("standin_size_", global->name);
	size_t bytes = size != NULL ? *size : (size_t)1 << 20;
	uintptr_t at;
	CUresult rc = mem_alloc(&at, bytes, B_DEVICE, 0);

	if (rc != CUDA_SUCCESS)
		return rc;
	global->at = at;
	global->bytes = bytes;
	global->serial = block_find(at)->serial;
	memset(block_host(block_find(at), at), 0, bytes);
	return CUDA_SUCCESS;
}

CUresult module_global(CUdeviceptr *ret, size_t *bytes, CUmodule handle, const char *name)
{
	struct module *module = handle_get(H_MODULE, handle);
	const struct block *block;
	struct global *global;
	CUresult rc = CUDA_SUCCESS;

	if (module == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (name == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	for (global = module->globals; global != NULL; global = global->next)
		if (strcmp(global->name, name) == 0)
			break;
	if (global == NULL) {
		global = calloc(1, sizeof(*global));
		if (global == NULL)
			return CUDA_ERROR_OUT_OF_MEMORY;
		global->name = strdup(name);
		global->next = module->globals;
		module->globals = global;
	}
	block = block_find(global->at);
	if (block == NULL || block->serial != global->serial)
		rc = global_make(global);
	if (rc != CUDA_SUCCESS)
		return rc;
	if (ret != NULL)
		*ret = global->at;
	if (bytes != NULL)
		*bytes = global->bytes;
	return CUDA_SUCCESS;
}

struct kernel *kernel_get(const void *handle)
{
	return handle_get(H_KERNEL, handle);
}

/*
 * Determines number and sizes of the parameters, which a real driver reads from the image: the
 * program states them.  -1: it does not.
 */
static int parameters(const struct kernel *kernel, unsigned *sizes)
{
	const unsigned *given = exported("standin_args_", kernel->name);
	int n = 0;

	if (strcmp(kernel->name, "standin_noop") == 0)
		return 0;
	if (given == NULL)
		return -1;
	while (n < ARGS_MAX && given[n] != 0) {
		sizes[n] = given[n];
		n++;
	}
	return n;
}

/* The block of arguments: its own size, the size of each, then each at 16 bytes. */
static CUresult snapshot(struct launch *launch, const unsigned *sizes, int n, void **params)
{
	size_t bytes = sizeof(size_t) + (size_t)n * sizeof(unsigned), at;
	char *block;

	bytes = (bytes + 15) & ~(size_t)15;
	at = bytes;
	for (int i = 0; i < n; i++)
		bytes += (sizes[i] + 15u) & ~15u;
	block = malloc(bytes);
	if (block == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(block, &bytes, sizeof(bytes));
	memcpy(block + sizeof(bytes), sizes, (size_t)n * sizeof(unsigned));
	for (int i = 0; i < n; i++) {
		memcpy(block + at, params[i], sizes[i]);
		at += (sizes[i] + 15u) & ~15u;
	}
	launch->args = block;
	launch->nargs = (unsigned)n;
	return CUDA_SUCCESS;
}

/* CU_LAUNCH_PARAM_BUFFER_POINTER: one buffer, laid out as the kernel's parameter space. */
static const char *packed(void **extra)
{
	for (int i = 0; extra != NULL && extra[i] != CU_LAUNCH_PARAM_END; i += 2)
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			return extra[i + 1];
	return NULL;
}

/* The lock is not held: reading the arguments may run a fault handler of the program. */
static CUresult take_arguments(struct launch *launch, const unsigned *sizes, int n, void **params,
			       void **extra)
{
	const char *buffer = packed(extra);
	void *at[ARGS_MAX];
	size_t offset = 0;

	if (n > 0 && params == NULL && buffer == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < n; i++) {
		unsigned align = sizes[i] & (0u - sizes[i]);

		align = align > 8 ? 8 : align;
		offset = (offset + align - 1) / align * align;
		at[i] = buffer != NULL ? (void *)(uintptr_t)(buffer + offset) : params[i];
		offset += sizes[i];
	}
	return snapshot(launch, sizes, n, at);
}

CUresult kernel_prepare(struct launch *launch, const void *handle, const unsigned dim[6],
			void **params, void **extra)
{
	struct kernel *kernel = kernel_get(handle);
	static bool told; /* under the lock of the engine */
	unsigned sizes[ARGS_MAX];
	int n;

	if (kernel == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	/* cuda.h, cuLaunchKernel: every dimension is at least one, at most 1024 threads a block. */
	for (int i = 0; i < 6; i++)
		if (dim[i] == 0)
			return CUDA_ERROR_INVALID_VALUE;
	if ((uint64_t)dim[3] * dim[4] * dim[5] > 1024 || (params != NULL && extra != NULL))
		return CUDA_ERROR_INVALID_VALUE;
	if (strcmp(kernel->name, "standin_noop") != 0 &&
	    exported("standin_twin_", kernel->name) == NULL) {
		log_note("! no twin");
		if (!told)
			fprintf(stderr,
				"standin: %s does not run without a twin on the host; see \"Without "
				"a GPU\" in doc/getting-started.md\n",
				kernel->name);
		told = true;
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	n = parameters(kernel, sizes);
	if (n < 0) {
		fprintf(stderr, "standin: sizes of the parameters of %s are unknown\n",
			kernel->name);
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	*launch = (struct launch){ .kernel = kernel,
				   .grid = { dim[0], dim[1], dim[2] },
				   .block = { dim[3], dim[4], dim[5] } };
	pthread_mutex_unlock(&engine.lock);
	CUresult rc = take_arguments(launch, sizes, n, params, extra);
	pthread_mutex_lock(&engine.lock);
	return rc;
}

CUresult kernel_launch(const void *handle, const unsigned dim[6], struct stream *stream,
		       void **params, void **extra)
{
	struct work work = { .kind = W_KERNEL };
	CUresult rc = kernel_prepare(&work.launch, handle, dim, params, extra);

	if (rc != CUDA_SUCCESS)
		return rc;
	clock_spend(MODEL_OF(launch_ns));
	stream->ctx->prints = stream->ctx->prints || work.launch.kernel->prints;
	return stream_push(stream, &work, NULL);
}

void kernel_run(struct launch *launch, uint64_t *ret_ns)
{
	standin_twin_fn *twin = (standin_twin_fn *)exported("standin_twin_", launch->kernel->name);
	const unsigned *sizes = (const unsigned *)((char *)launch->args + sizeof(size_t));
	size_t at = (sizeof(size_t) + launch->nargs * sizeof(unsigned) + 15) & ~(size_t)15;
	void *args[ARGS_MAX + 1];

	*ret_ns = MODEL_OF(kernel_ns);
	for (unsigned i = 0; i < launch->nargs; i++) {
		args[i] = (char *)launch->args + at;
		at += (sizes[i] + 15u) & ~15u;
	}
	if (twin == NULL)
		return;
	twin_ns = 0;
	twin_fault = CUDA_SUCCESS;
	pthread_mutex_unlock(&engine.lock);
	twin(launch->grid, launch->block, args);
	pthread_mutex_lock(&engine.lock);
	if (twin_ns != 0)
		*ret_ns = twin_ns;
	launch->fault = twin_fault;
}

void standin_twin_ns(uint64_t ns)
{
	twin_ns = ns;
}

void standin_twin_fault(CUresult code)
{
	twin_fault = code;
}
