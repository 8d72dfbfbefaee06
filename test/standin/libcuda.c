/*
 * libcuda.c - the exported functions of initialization, devices and contexts.
 */
#include "bridge.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#pragma GCC visibility push(default)

/* Drivers from 570 on and the one of WSL2 look themselves up inside cuInit. */
static void reenter(void)
{
	void *self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), *found = NULL;
	__typeof__(cuGetProcAddress_v2) *resolve;

	if (self == NULL)
		return;
	dlsym(self, "cuInit");
	resolve = (__typeof__(resolve))dlsym(self, "cuGetProcAddress_v2");
	if (resolve != NULL)
		resolve("cuGetExportTable", &found, 3000, 0, NULL);
	dlclose(self);
}

CUresult cuInit(unsigned flags)
{
	CUresult rc = call_begin(__func__, NEED_NOTHING, "%u", flags);
	bool again;

	if (rc != CUDA_SUCCESS)
		return rc;
	again = engine.reenter;
	rc = call_end(flags != 0 ? CUDA_ERROR_INVALID_VALUE : engine_init());
	if (again)
		reenter();
	return rc;
}

static CUresult device(CUdevice dev)
{
	return dev < 0 || dev >= engine.devices ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

static CUresult uuid(CUuuid *ret, CUdevice dev)
{
	if (ret == NULL || device(dev) != CUDA_SUCCESS)
		return ret == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
	memcpy(ret->bytes, "stand-in device", 16);
	ret->bytes[15] = (char)dev;
	return CUDA_SUCCESS;
}

static CUresult primary_flags(CUdevice dev, unsigned flags)
{
	CUresult rc = device(dev);

	if (rc == CUDA_SUCCESS)
		ctx_primary(dev)->flags = flags;
	return rc;
}

/* Checks the context that a CUDA 13 call names; NULL is the current one. */
static CUresult named(CUcontext handle)
{
	const struct ctx *ctx = ctx_get(handle);

	if (ctx == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	return ctx->live ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static CUresult synchronize(struct ctx *ctx)
{
	for (struct stream *s = ctx->streams; s != NULL; s = s->next)
		if (s->capture != NULL)
			return capture_break_stream(s);
	ctx_drain(ctx);
	return ctx->sticky;
}

static CUresult limit(CUlimit which, size_t *value, bool set)
{
	static size_t limits[] = { [CU_LIMIT_STACK_SIZE] = 1024,
				   [CU_LIMIT_PRINTF_FIFO_SIZE] = 8448 << 10,
				   [CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20 };

	if (value == NULL || (size_t)which >= sizeof(limits) / sizeof(limits[0]))
		return CUDA_ERROR_INVALID_VALUE;
	/* Observed on an H200: the limit is fixed after the launch of a kernel that can print. */
	if (set && which == CU_LIMIT_PRINTF_FIFO_SIZE && ctx_current()->prints)
		return CUDA_ERROR_INVALID_VALUE;
	if (set)
		limits[which] = *value;
	else
		*value = limits[which];
	return CUDA_SUCCESS;
}

static CUresult device_name(char *name, int room, CUdevice dev)
{
	CUresult rc = name == NULL || room <= 0 ? CUDA_ERROR_INVALID_VALUE : device(dev);

	if (rc == CUDA_SUCCESS)
		snprintf(name, (size_t)room, "stand-in device");
	return rc;
}

static CUresult bus_id(char *ret, int room, CUdevice dev)
{
	CUresult rc = ret == NULL || room < 13 ? CUDA_ERROR_INVALID_VALUE : device(dev);

	if (rc == CUDA_SUCCESS)
		snprintf(ret, (size_t)room, "0000:%02X:00.0", dev + 1);
	return rc;
}

static CUresult primary_state(CUdevice dev, unsigned *flags, int *active)
{
	CUresult rc = flags == NULL || active == NULL ? CUDA_ERROR_INVALID_VALUE : device(dev);

	if (rc == CUDA_SUCCESS) {
		*flags = ctx_primary(dev)->flags;
		*active = ctx_primary(dev)->live;
	}
	return rc;
}

static CUresult priorities(int *least, int *greatest)
{
	if (least != NULL)
		*least = 0;
	if (greatest != NULL)
		*greatest = -5;
	return CUDA_SUCCESS;
}

/* A toolkit may lack cudaProfiler.h, which is a package of its own. */
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);
#include "entry_context.def"

#pragma GCC visibility pop
