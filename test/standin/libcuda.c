/*
 * libcuda.c - the exported functions of initialisation, devices and contexts.
 */
#include "engine.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#pragma GCC visibility push(default)

/* What drivers from 570 on and the one of WSL2 do inside cuInit: look themselves up. */
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

CUresult cuDriverGetVersion(int *ret)
{
	CUresult rc = call_begin(__func__, NEED_NOTHING, "");

	if (rc != CUDA_SUCCESS)
		return rc;
	if (ret == NULL)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	*ret = engine.version;
	return call_end(CUDA_SUCCESS);
}

static CUresult device(CUdevice dev)
{
	return dev < 0 || dev >= engine.devices ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *ret, int ordinal)
{
	CUresult rc = call_begin(__func__, NEED_INIT, "%i", ordinal);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = ret == NULL ? CUDA_ERROR_INVALID_VALUE : device(ordinal);
	if (rc == CUDA_SUCCESS)
		*ret = ordinal;
	return call_end(rc);
}

CUresult cuDeviceGetCount(int *ret)
{
	CUresult rc = call_begin(__func__, NEED_INIT, "");

	if (rc != CUDA_SUCCESS)
		return rc;
	if (ret == NULL)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	*ret = engine.devices;
	return call_end(CUDA_SUCCESS);
}

CUresult cuDeviceGetName(char *name, int room, CUdevice dev)
{
	CUresult rc = call_begin(__func__, NEED_INIT, "%i", dev);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = name == NULL || room <= 0 ? CUDA_ERROR_INVALID_VALUE : device(dev);
	if (rc == CUDA_SUCCESS)
		snprintf(name, (size_t)room, "hotpin stand-in");
	return call_end(rc);
}

static CUresult uuid(CUuuid *ret, CUdevice dev)
{
	if (ret == NULL || device(dev) != CUDA_SUCCESS)
		return ret == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
	memcpy(ret->bytes, "hotpin stand-in", 16);
	ret->bytes[15] = (char)dev;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *ret, CUdevice dev)
{
	return call_begin(__func__, NEED_INIT, "%i", dev) ?: call_end(uuid(ret, dev));
}

CUresult cuDeviceGetUuid_v2(CUuuid *ret, CUdevice dev)
{
	return call_begin(__func__, NEED_INIT, "%i", dev) ?: call_end(uuid(ret, dev));
}

CUresult cuDeviceTotalMem_v2(size_t *ret, CUdevice dev)
{
	CUresult rc = call_begin(__func__, NEED_INIT, "%i", dev);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = ret == NULL ? CUDA_ERROR_INVALID_VALUE : device(dev);
	if (rc == CUDA_SUCCESS)
		*ret = MODEL_OF(memory_bytes);
	return call_end(rc);
}

CUresult cuDeviceGetPCIBusId(char *ret, int room, CUdevice dev)
{
	CUresult rc = call_begin(__func__, NEED_INIT, "%i", dev);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = ret == NULL || room < 13 ? CUDA_ERROR_INVALID_VALUE : device(dev);
	if (rc == CUDA_SUCCESS)
		snprintf(ret, (size_t)room, "0000:%02X:00.0", dev + 1);
	return call_end(rc);
}

CUresult cuDeviceGetByPCIBusId(CUdevice *ret, const char *id)
{
	unsigned domain, bus;
	CUresult rc = call_begin(__func__, NEED_INIT, "%s", id);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (ret == NULL || id == NULL || sscanf(id, "%x:%x", &domain, &bus) != 2)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	rc = device((int)bus - 1);
	if (rc == CUDA_SUCCESS)
		*ret = (int)bus - 1;
	return call_end(rc);
}

CUresult cuDeviceCanAccessPeer(int *ret, CUdevice dev, CUdevice peer)
{
	CUresult rc = call_begin(__func__, NEED_INIT, "%i %i", dev, peer);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = ret == NULL ? CUDA_ERROR_INVALID_VALUE : device(dev) ?: device(peer);
	if (rc == CUDA_SUCCESS)
		*ret = dev != peer;
	return call_end(rc);
}

CUresult cuDeviceGetAttribute(int *ret, CUdevice_attribute attribute, CUdevice dev)
{
	CUresult rc = call_begin(__func__, NEED_INIT, "%u %i", (unsigned)attribute, dev);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = ret == NULL ? CUDA_ERROR_INVALID_VALUE : device(dev);
	return call_end(rc != CUDA_SUCCESS ? rc : device_attribute(ret, attribute, dev));
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ret, CUdevice dev)
{
	return call_begin(__func__, NEED_INIT, "%i", dev) ?: call_end(primary_retain(ret, dev));
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
	return call_begin(__func__, NEED_INIT, "%i", dev) ?: call_end(primary_release(dev));
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	return call_begin(__func__, NEED_INIT, "%i", dev) ?: call_end(primary_release(dev));
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
	return call_begin(__func__, NEED_INIT, "%i", dev) ?: call_end(primary_reset(dev));
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	return call_begin(__func__, NEED_INIT, "%i", dev) ?: call_end(primary_reset(dev));
}

static CUresult primary_flags(CUdevice dev, unsigned flags)
{
	CUresult rc = device(dev);

	if (rc == CUDA_SUCCESS)
		ctx_primary(dev)->flags = flags;
	return rc;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned flags)
{
	return call_begin(__func__, NEED_INIT, "%i %u", dev, flags)
		       ?: call_end(primary_flags(dev, flags));
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned flags)
{
	return call_begin(__func__, NEED_INIT, "%i %u", dev, flags)
		       ?: call_end(primary_flags(dev, flags));
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned *flags, int *active)
{
	CUresult rc = call_begin(__func__, NEED_INIT, "%i", dev);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = flags == NULL || active == NULL ? CUDA_ERROR_INVALID_VALUE : device(dev);
	if (rc == CUDA_SUCCESS) {
		*flags = ctx_primary(dev)->flags;
		*active = ctx_primary(dev)->live;
	}
	return call_end(rc);
}

CUresult cuCtxCreate_v2(CUcontext *ret, unsigned flags, CUdevice dev)
{
	return call_begin(__func__, NEED_INIT, "%u %i", flags, dev)
		       ?: call_end(ctx_create(ret, flags, dev, 3020));
}

CUresult cuCtxCreate_v3(CUcontext *ret, CUexecAffinityParam *affinity, int n, unsigned flags,
			CUdevice dev)
{
	return call_begin(__func__, NEED_INIT, "%p %i %u %i", affinity, n, flags, dev)
		       ?: call_end(n != 0 ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
					  : ctx_create(ret, flags, dev, 3020));
}

CUresult cuCtxCreate_v4(CUcontext *ret, CUctxCreateParams *params, unsigned flags, CUdevice dev)
{
	return call_begin(__func__, NEED_INIT, "%p %u %i", params, flags, dev)
		       ?: call_end(ctx_create(ret, flags, dev, 3020));
}

CUresult cuCtxDestroy(CUcontext ctx)
{
	return call_begin(__func__, NEED_INIT, "%p", ctx) ?: call_end(ctx_destroy(ctx));
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	return call_begin(__func__, NEED_INIT, "%p", ctx) ?: call_end(ctx_destroy(ctx));
}

CUresult cuCtxAttach(CUcontext *ret, unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%p %u", ret, flags)
		       ?: call_end(ctx_attach(ret, flags));
}

CUresult cuCtxDetach(CUcontext ctx)
{
	return call_begin(__func__, NEED_CTX, "%p", ctx) ?: call_end(ctx_detach(ctx));
}

CUresult cuCtxPushCurrent(CUcontext ctx)
{
	return call_begin(__func__, NEED_INIT, "%p", ctx) ?: call_end(ctx_push(ctx));
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
	return call_begin(__func__, NEED_INIT, "%p", ctx) ?: call_end(ctx_push(ctx));
}

CUresult cuCtxPopCurrent(CUcontext *ret)
{
	return call_begin(__func__, NEED_INIT, "") ?: call_end(ctx_pop(ret));
}

CUresult cuCtxPopCurrent_v2(CUcontext *ret)
{
	return call_begin(__func__, NEED_INIT, "") ?: call_end(ctx_pop(ret));
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	return call_begin(__func__, NEED_INIT, "%p", ctx) ?: call_end(ctx_set(ctx));
}

CUresult cuCtxGetCurrent(CUcontext *ret)
{
	CUresult rc = call_begin(__func__, NEED_INIT, "");

	if (rc != CUDA_SUCCESS)
		return rc;
	if (ret == NULL)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	*ret = ctx_current() != NULL ? ctx_current()->handle : NULL;
	return call_end(CUDA_SUCCESS);
}

CUresult cuCtxGetDevice(CUdevice *ret)
{
	CUresult rc = call_begin(__func__, NEED_CTX, "");

	if (rc != CUDA_SUCCESS)
		return rc;
	if (ret == NULL)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	*ret = ctx_current()->dev;
	return call_end(CUDA_SUCCESS);
}

/* The forms of CUDA 13 that name a context; NULL is the current one. */
static CUresult named(CUcontext handle, struct ctx **ret)
{
	*ret = ctx_get(handle);
	if (*ret == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	return (*ret)->live ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult cuCtxGetDevice_v2(CUdevice *ret, CUcontext handle)
{
	struct ctx *ctx;
	CUresult rc = call_begin(__func__, NEED_INIT, "%p", handle);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = ret == NULL ? CUDA_ERROR_INVALID_VALUE : named(handle, &ctx);
	if (rc == CUDA_SUCCESS)
		*ret = ctx->dev;
	return call_end(rc);
}

CUresult cuCtxGetFlags(unsigned *ret)
{
	CUresult rc = call_begin(__func__, NEED_CTX, "");

	if (rc != CUDA_SUCCESS)
		return rc;
	if (ret == NULL)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	*ret = ctx_current()->flags;
	return call_end(CUDA_SUCCESS);
}

CUresult cuCtxSetFlags(unsigned flags)
{
	CUresult rc = call_begin(__func__, NEED_CTX, "%u", flags);

	if (rc != CUDA_SUCCESS)
		return rc;
	ctx_current()->flags = flags;
	return call_end(CUDA_SUCCESS);
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *ret)
{
	struct ctx *ctx;
	CUresult rc = call_begin(__func__, NEED_INIT, "%p", handle);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = ret == NULL ? CUDA_ERROR_INVALID_VALUE : named(handle, &ctx);
	if (rc == CUDA_SUCCESS)
		*ret = ctx->id;
	return call_end(rc);
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned *ret)
{
	struct ctx *ctx;
	CUresult rc = call_begin(__func__, NEED_INIT, "%p", handle);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = ret == NULL ? CUDA_ERROR_INVALID_VALUE : named(handle, &ctx);
	if (rc == CUDA_SUCCESS)
		*ret = ctx->version;
	return call_end(rc);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	CUresult rc = call_begin(__func__, NEED_CTX, "");

	if (rc != CUDA_SUCCESS)
		return rc;
	if (least != NULL)
		*least = 0;
	if (greatest != NULL)
		*greatest = -5;
	return call_end(CUDA_SUCCESS);
}

static CUresult synchronize(struct ctx *ctx)
{
	for (struct stream *s = ctx->streams; s != NULL; s = s->next)
		if (s->capture != NULL)
			return capture_break_stream(s);
	ctx_drain(ctx);
	return ctx->sticky;
}

CUresult cuCtxSynchronize(void)
{
	return call_begin(__func__, NEED_CTX | NEED_UNSAFE, "")
		       ?: call_end(synchronize(ctx_current()));
}

CUresult cuCtxSynchronize_v2(CUcontext handle)
{
	struct ctx *ctx;
	CUresult rc = call_begin(__func__, NEED_INIT | NEED_UNSAFE, "%p", handle);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = named(handle, &ctx);
	return call_end(rc != CUDA_SUCCESS ? rc : synchronize(ctx));
}

static CUresult peer(CUcontext handle)
{
	struct ctx *ctx;
	CUresult rc = named(handle, &ctx);

	if (rc == CUDA_SUCCESS && ctx->dev == ctx_current()->dev)
		rc = CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	return rc;
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%p %u", handle, flags)
		       ?: call_end(flags != 0 ? CUDA_ERROR_INVALID_VALUE : peer(handle));
}

CUresult cuCtxDisablePeerAccess(CUcontext handle)
{
	return call_begin(__func__, NEED_CTX, "%p", handle) ?: call_end(peer(handle));
}

static CUresult limit(CUlimit which, size_t *value, bool set)
{
	static size_t limits[] = { [CU_LIMIT_STACK_SIZE] = 1024,
				   [CU_LIMIT_PRINTF_FIFO_SIZE] = 8448 << 10,
				   [CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20 };

	if (value == NULL || (size_t)which >= sizeof(limits) / sizeof(limits[0]))
		return CUDA_ERROR_INVALID_VALUE;
	/* Seen on an H200: not any more once a kernel was launched that can print. */
	if (set && which == CU_LIMIT_PRINTF_FIFO_SIZE && ctx_current()->prints)
		return CUDA_ERROR_INVALID_VALUE;
	if (set)
		limits[which] = *value;
	else
		*value = limits[which];
	return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *ret, CUlimit which)
{
	return call_begin(__func__, NEED_CTX, "%u", (unsigned)which)
		       ?: call_end(limit(which, ret, false));
}

CUresult cuCtxSetLimit(CUlimit which, size_t value)
{
	return call_begin(__func__, NEED_CTX, "%u %z", (unsigned)which, value)
		       ?: call_end(limit(which, &value, true));
}

#pragma GCC visibility pop
