/*
 * resolve.c - answers cuGetProcAddress from a table.
 *
 * It never calls dlsym(): a preloaded dlsym() would return its own wrapper, which would be taken
 * for the driver's function.  The answers to unusual requests are those of driver 580 on an H200.
 */
#include "engine.h"
#include "control.h"
#include "entries.h"
#pragma GCC visibility push(default)
#include "standin.h"
/* Likewise: an asynchronous download. */
CUresult cuStandinCopyThing(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return cuMemcpyDtoHAsync_v2(to, from, bytes, stream);
}

/* Likewise. */
CUresult cuStandinBeginRecaptureThing(CUstream stream)
{
	return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

#define WITH_ATTRIBUTES(flavor)                                                                   \
	CUresult cuMemcpyWithAttributesAsync##flavor(CUdeviceptr to, CUdeviceptr from,            \
						     size_t bytes, CUmemcpyAttributes *how,       \
						     CUstream stream)                             \
	{                                                                                         \
		(void)how;                                                                        \
		return cuMemcpyAsync##flavor(to, from, bytes, stream);                            \
	}                                                                                         \
	CUresult cuMemcpy3DWithAttributesAsync##flavor(CUDA_MEMCPY3D_BATCH_OP *box,               \
						       unsigned long long flags, CUstream stream) \
	{                                                                                         \
		return cuMemcpy3DBatchAsync_v2##flavor(1, box, flags, stream);                    \
	}
WITH_ATTRIBUTES()
WITH_ATTRIBUTES(_ptsz)
#undef WITH_ATTRIBUTES

#pragma GCC visibility pop

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct entry *find(const char *symbol, int version, bool per_thread, bool *ret_known)
{
	const struct entry *best = NULL;

	*ret_known = false;
	for (const struct entry *e = standin_entries; e->base != NULL; e++) {
		if (strcmp(e->base, symbol) != 0 || e->version > engine.version)
			continue;
		*ret_known = true;
		if (e->version > version || (e->flags == 2 && !per_thread))
			continue;
		if (best == NULL || e->flags > best->flags ||
		    (e->flags == best->flags && e->version > best->version))
			best = e;
	}
	return best;
}

/* The addresses of other functions of a future driver, which cannot be called. */
static const char others[1000];

static CUresult resolve(const char *symbol, void **pfn, int version, cuuint64_t flags,
			CUdriverProcAddressQueryResult *status, bool old)
{
	CUdriverProcAddressQueryResult answer = CU_GET_PROC_ADDRESS_SUCCESS;
	const struct entry *entry = NULL;
	void *found = NULL;
	bool known = false;

	if (symbol == NULL || pfn == NULL || flags > 3 || version > engine.version)
		return CUDA_ERROR_INVALID_VALUE;
	if (engine.extra && strcmp(symbol, "cuStandinUnknownThing") == 0)
		found = (void *)cuStandinUnknownThing;
	else if (engine.extra && strcmp(symbol, "cuStandinCopyThing") == 0)
		found = (void *)cuStandinCopyThing;
	else if (engine.extra && strcmp(symbol, "cuStandinBeginRecaptureThing") == 0)
		found = (void *)cuStandinBeginRecaptureThing;
	else if (engine.extra && strncmp(symbol, "cuStandinOther", 14) == 0)
		found = (void *)&others[strtoul(symbol + 14, NULL, 10) % sizeof(others)];
	else
		entry = find(symbol, version, (flags & 2) != 0, &known);
	if (entry != NULL)
		found = (void *)entry->function;
	if (found == NULL)
		answer = known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
			       : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	/* The first form returns no status: it fails, and does not change the pointer. */
	if (old && found == NULL)
		return CUDA_ERROR_NOT_FOUND;
	*pfn = found;
	if (status != NULL)
		*status = answer;
	return CUDA_SUCCESS;
}

#pragma GCC visibility push(default)

CUresult cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	return call_begin(__func__, NEED_NOTHING, "%s %i %u", symbol, version, (unsigned)flags)
		       ?: call_end(resolve(symbol, pfn, version, flags, NULL, true));
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	return call_begin(__func__, NEED_NOTHING, "%s %i %u", symbol, version, (unsigned)flags)
		       ?: call_end(resolve(symbol, pfn, version, flags, status, false));
}

/* CUPTI asks for private tables, too, and works without. */
static bool is_cupti(const void *caller)
{
	Dl_info file;

	return dladdr(caller, &file) != 0 && strstr(file.dli_fname, "libcupti") != NULL;
}

/* No private tables: NVIDIA's libcudart needs them, and then fails cleanly. */
CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	CUresult rc = call_begin(__func__, NEED_NOTHING, "%p", id);
	static bool told; /* under the lock of the engine */

	if (rc != CUDA_SUCCESS)
		return rc;
	if (!told && !is_cupti(__builtin_return_address(0))) {
		fputs("standin: NVIDIA's libcudart does not work here; link the program with "
		      "`nvcc -cudart shared`\n",
		      stderr);
		told = true;
	}
	if (table != NULL)
		*table = NULL;
	return call_end(CUDA_ERROR_NOT_FOUND);
}

/* No header of NVIDIA declares it: it represents a function of a future driver. */
CUresult cuStandinUnknownThing(CUdeviceptr at, void *out, size_t bytes)
{
	const struct block *block;
	CUresult rc = call_begin(__func__, NEED_CTX, "%D %z", at, bytes);

	if (rc != CUDA_SUCCESS)
		return rc;
	block = block_find(at);
	if (out == NULL || block == NULL || block->kind == B_REGISTERED ||
	    bytes > block->base + block->bytes - at)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	memcpy(out, block_host(block, at), bytes);
	return call_end(CUDA_SUCCESS);
}

#pragma GCC visibility pop
