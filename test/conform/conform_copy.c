/*
 * conform_copy.c - when a copy returns, which part of it is complete then, and which sources are
 * valid.
 */
#include "conform.h"
#include "shapes.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define MOST (16 * MIB)

enum { PAGEABLE, PINNED, REGISTERED, MANAGED, KINDS };
static const char *const kinds[] = { "pageable", "pinned", "registered", "managed" };

static const struct {
	size_t bytes;
	const char *name;
} sizes[] = {
	{ 64, "64" },      { 4 * KIB, "4K" }, { 64 * KIB, "64K" }, { 256 * KIB, "256K" },
	{ 1 * MIB, "1M" }, { 4 * MIB, "4M" }, { 16 * MIB, "16M" },
};
#define SIZES (sizeof(sizes) / sizeof(*sizes))

static char *memory(int kind, size_t bytes)
{
	CUdeviceptr managed;
	static void *pinned;
	void *at;

	switch (kind) {
	case PINNED:
		MUST(cu[0].cuMemAllocHost_v2(&pinned, bytes));
		at = pinned;
		break;
	case MANAGED:
		MUST(cu[0].cuMemAllocManaged(&managed, bytes, CU_MEM_ATTACH_GLOBAL));
		at = (void *)managed;
		break;
	default:
		at = pages(bytes, 0);
		if (kind == REGISTERED)
			MUST(cu[0].cuMemHostRegister_v2(at, bytes, 0));
		break;
	}
	return memset(at, 1, bytes);
}

/* Each copy comes after a kernel in its stream. */
static void returns(int kind)
{
	char *host = memory(kind, MOST);

	for (size_t i = 0; i < SIZES; i++) {
		size_t n = sizes[i].bytes;

		/* For other kinds than pageable memory, the size does not matter. */
		if (kind != PAGEABLE && n != 64 && n != 64 * KIB && n != 4 * MIB)
			continue;
		busy(NULL);
		FACT(returned(cu[0].cuMemcpyHtoD_v2(there, host, n)), "up.%s.%s", kinds[kind],
		     sizes[i].name);
		settle();
		busy(NULL);
		FACT(returned(cu[0].cuMemcpyDtoH_v2(host, there, n)), "down.%s.%s", kinds[kind],
		     sizes[i].name);
		settle();
		busy(unbound);
		FACT(returned(cu[0].cuMemcpyHtoDAsync_v2(there, host, n, unbound)),
		     "async.up.%s.%s", kinds[kind], sizes[i].name);
		settle();
		busy(unbound);
		FACT(returned(cu[0].cuMemcpyDtoHAsync_v2(host, there, n, unbound)),
		     "async.down.%s.%s", kinds[kind], sizes[i].name);
		settle();
	}
}

SECTION(returns_pageable)
{
	begin();
	returns(PAGEABLE);
}

SECTION(returns_pinned)
{
	begin();
	returns(PINNED);
}

SECTION(returns_registered)
{
	begin();
	returns(REGISTERED);
}

SECTION(returns_managed)
{
	begin();
	returns(MANAGED);
}

/* Calls of other shapes, and calls without bytes. */
SECTION(returns_others)
{
	CUdeviceptr other = 0;
	CUarray array;
	CUDA_ARRAY_DESCRIPTOR shape = { 4096, 16, CU_AD_FORMAT_UNSIGNED_INT8, 1 };

	begin();
	char *host = memory(PAGEABLE, MIB), *second = memory(PAGEABLE, MIB);
	char *pinned = memory(PINNED, MIB), *managed = memory(MANAGED, MIB);
	CUDA_MEMCPY2D up = shape_rows(in_device(there, 4096), in_host(host, 2048), 1000, 16);
	CUDA_MEMCPY2D down = shape_rows(in_host(host, 2048), in_device(there, 4096), 1000, 16);

	MUST(cu[0].cuMemAlloc_v2(&other, MIB));
	MUST(cu[0].cuArrayCreate_v2(&array, &shape));
#define BEHIND(name, on, call)                    \
	do {                                      \
		busy(on);                         \
		fact(name, "%s", returned(call)); \
		settle();                         \
	} while (0)
	BEHIND("up.nothing", NULL, cu[0].cuMemcpyHtoD_v2(there, host, 0));
	BEHIND("down.nothing", NULL, cu[0].cuMemcpyDtoH_v2(host, there, 0));
	BEHIND("async.down.nothing", unbound, cu[0].cuMemcpyDtoHAsync_v2(host, there, 0, unbound));
	BEHIND("memset.nothing", NULL, cu[0].cuMemsetD8_v2(there, 0, 0));
	BEHIND("device_to_device", NULL, cu[0].cuMemcpyDtoD_v2(other, there, MIB));
	BEHIND("async.device_to_device", unbound,
	       cu[0].cuMemcpyDtoDAsync_v2(other, there, MIB, unbound));
	BEHIND("peer_to_itself", NULL, cu[0].cuMemcpyPeer(other, primary, there, primary, MIB));
	BEHIND("uva.up", NULL, cu[0].cuMemcpy(there, (CUdeviceptr)host, 64));
	BEHIND("uva.down", NULL, cu[0].cuMemcpy((CUdeviceptr)host, there, 64));
	BEHIND("uva.device", NULL, cu[0].cuMemcpy(other, there, 64));
	BEHIND("uva.host", NULL, cu[0].cuMemcpy((CUdeviceptr)host, (CUdeviceptr)second, 64));
	BEHIND("async.uva.up", unbound, cu[0].cuMemcpyAsync(there, (CUdeviceptr)host, 64, unbound));
	BEHIND("async.uva.down", unbound,
	       cu[0].cuMemcpyAsync((CUdeviceptr)host, there, 64, unbound));
	BEHIND("async.uva.host", unbound,
	       cu[0].cuMemcpyAsync((CUdeviceptr)host, (CUdeviceptr)second, 64, unbound));
	BEHIND("async.uva.pinned_to_host", unbound,
	       cu[0].cuMemcpyAsync((CUdeviceptr)host, (CUdeviceptr)pinned, 64, unbound));
	BEHIND("rows.up", NULL, cu[0].cuMemcpy2D_v2(&up));
	BEHIND("rows.down", NULL, cu[0].cuMemcpy2D_v2(&down));
	BEHIND("rows_unaligned.up", NULL, cu[0].cuMemcpy2DUnaligned_v2(&up));
	BEHIND("async.rows.up", unbound, cu[0].cuMemcpy2DAsync_v2(&up, unbound));
	BEHIND("async.rows.down", unbound, cu[0].cuMemcpy2DAsync_v2(&down, unbound));
	BEHIND("array.up", NULL, cu[0].cuMemcpyHtoA_v2(array, 0, host, 4096));
	BEHIND("array.down", NULL, cu[0].cuMemcpyAtoH_v2(host, array, 0, 4096));
	BEHIND("memset.device", NULL, cu[0].cuMemsetD8_v2(there, 0, MIB));
	BEHIND("memset.pinned", NULL, cu[0].cuMemsetD8_v2((CUdeviceptr)pinned, 0, MIB));
	BEHIND("memset.managed", NULL, cu[0].cuMemsetD8_v2((CUdeviceptr)managed, 0, MIB));
	BEHIND("async.memset.pinned", unbound,
	       cu[0].cuMemsetD8Async((CUdeviceptr)pinned, 0, MIB, unbound));
	/* The stream in whose order a synchronous copy runs. */
	BEHIND("up.behind_unbound", unbound, cu[0].cuMemcpyHtoD_v2(there, host, 64));
	BEHIND("up.behind_blocking", blocking, cu[0].cuMemcpyHtoD_v2(there, host, 64));
	BEHIND("up.behind_own", CU_STREAM_PER_THREAD, cu[0].cuMemcpyHtoD_v2(there, host, 64));
	BEHIND("up_ptds.behind_own", CU_STREAM_PER_THREAD, cu[1].cuMemcpyHtoD_v2(there, host, 64));
	BEHIND("up_ptds.behind_legacy", CU_STREAM_LEGACY, cu[1].cuMemcpyHtoD_v2(there, host, 64));
	BEHIND("up_ptds.64K.behind_legacy", CU_STREAM_LEGACY,
	       cu[1].cuMemcpyHtoD_v2(there, host, 64 * KIB));
	BEHIND("up_ptds.behind_blocking", blocking, cu[1].cuMemcpyHtoD_v2(there, host, 64));
	BEHIND("down.behind_unbound", unbound, cu[0].cuMemcpyDtoH_v2(host, there, 64));
	BEHIND("down_ptds.behind_legacy", CU_STREAM_LEGACY, cu[1].cuMemcpyDtoH_v2(host, there, 64));
	/* Device memory that is declared as host memory. */
	BEHIND("called_host.up", NULL, cu[0].cuMemcpyHtoD_v2(other, (void *)there, MIB));
	BEHIND("called_host.down", NULL, cu[0].cuMemcpyDtoH_v2((void *)other, there, MIB));
	/* Device memory with the attribute SYNC_MEMOPS. */
	fact("sync_memops.set", "%d",
	     (int)cu[0].cuPointerSetAttribute(&(unsigned){ 1 }, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
					      other));
	BEHIND("sync_memops.device_to_device", NULL, cu[0].cuMemcpyDtoD_v2(other, there, MIB));
	BEHIND("sync_memops.memset", NULL, cu[0].cuMemsetD8_v2(other, 0, MIB));
#undef BEHIND
}

/* The data that a kernel on an independent stream finds after a synchronous upload has returned. */
SECTION(over)
{
	CUdeviceptr seen;

	begin();
	MUST(cu[0].cuMemAlloc_v2(&seen, PAGE));
	char *host = memory(PAGEABLE, MOST);

	for (size_t i = 0; i < SIZES; i++) {
		size_t n = sizes[i].bytes;
		int old = 0;

		/* For other sizes the results on a device vary. */
		if (n > 4 * KIB && n != MIB)
			continue;
		for (int round = 0; round < 10; round++) {
			MUST(cu[0].cuMemsetD8_v2(there, 0xee, n));
			settle();
			memset(host, round, n);
			MUST(cu[0].cuMemcpyHtoD_v2(there, host, n));
			move_word(unbound, seen, there + n - 8);
			MUST(cu[0].cuStreamSynchronize(unbound));
			old += peek(seen) == 0xee;
		}
		FACT(old != 0 ? "may be old" : "new", "up.pageable.%s", sizes[i].name);
	}
	/* A copy that does not wait for the legacy stream may overtake its work. */
	MUST(cu[0].cuMemsetD8_v2(there, 0xee, 64));
	settle();
	memset(host, 1, 64);
	busy(CU_STREAM_LEGACY);
	MUST(cu[1].cuMemcpyHtoD_v2(there, host, 64));
	move_word(unbound, seen, there);
	MUST(cu[0].cuStreamSynchronize(unbound));
	fact("up_ptds.behind_legacy", "%s", peek(seen) == 0xee ? "old" : "new");
}

/* When a source is read: its bytes change after the call, before the earlier kernel ends. */
SECTION(source)
{
	begin();
	for (int kind = 0; kind < MANAGED; kind++) {
		char *host = memory(kind, MIB);

		static const size_t some[] = { 64, 8 * KIB, 128 * KIB, MIB };
		for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
			size_t n = some[i];

			memset(host, 1, n);
			busy(unbound);
			MUST(cu[0].cuMemcpyHtoDAsync_v2(there, host, n, unbound));
			memset(host, 2, n);
			settle();
			FACT(peek(there + n - 1) == 1 ? "as it was"
						      : "as it is when it comes to it",
			     "async.%s.%zu", kinds[kind], n);
		}
	}
	/* The earlier kernel is on the legacy stream, and the copy's own stream is empty. */
	char *pinned = memory(PINNED, MIB);
	static const size_t behind[] = { 64, 4 * KIB, 64 * KIB };
	for (size_t i = 0; i < 2 * sizeof(behind) / sizeof(behind[0]); i++) {
		CUstream on = i % 2 ? blocking : CU_STREAM_PER_THREAD;
		size_t n = behind[i / 2];

		memset(pinned, 1, n);
		busy(CU_STREAM_LEGACY);
		MUST(cu[0].cuMemcpyHtoDAsync_v2(there, pinned, n, on));
		memset(pinned, 2, n);
		settle();
		FACT(peek(there + n - 1) == 1 ? "as it was" : "as it is when it comes to it",
		     "async.pinned.%zu.%s_behind_legacy", n, i % 2 ? "blocking" : "own");
	}
	/* Rows that are collected from pageable memory. */
	char *host = memory(PAGEABLE, MIB);
	CUDA_MEMCPY2D up = shape_rows(in_device(there, 1024), in_host(host, 2048), 1000, 100);
	busy(unbound);
	MUST(cu[0].cuMemcpy2DAsync_v2(&up, unbound));
	memset(host, 2, MIB);
	settle();
	fact("async.rows", "%s",
	     peek(there + 99 * 1024) == 1 ? "as it was" : "as it is when it comes to it");
}

/* The place of a single row whose pitch is 0, or too small: a row has no next one. */
SECTION(one_row)
{
	static const struct {
		const char *name;
		size_t pitch, x, y, rows;
	} boxes[] = {
		{ "no_pitch.second", 0, 0, 1, 1 },    { "no_pitch.second_of_two", 0, 0, 1, 2 },
		{ "no_pitch.aside", 0, 64, 0, 1 },    { "pitch.second", 128, 0, 1, 1 },
		{ "pitch.beyond", 64, 32, 0, 1 },     { "pitch.beyond.second", 64, 32, 1, 1 },
		{ "pitch.beyond.two", 64, 32, 0, 2 },
	};

	begin();
	for (int kind = 0; kind < REGISTERED; kind++) {
		char *host = memory(kind, MIB);

		for (int i = 0; i < 1024; i++)
			host[i] = (char)(i / 32);
		for (size_t i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++) {
			CUDA_MEMCPY2D up = { .srcMemoryType = CU_MEMORYTYPE_HOST,
					     .srcHost = host,
					     .srcPitch = boxes[i].pitch,
					     .srcXInBytes = boxes[i].x,
					     .srcY = boxes[i].y,
					     .dstMemoryType = CU_MEMORYTYPE_DEVICE,
					     .dstDevice = there,
					     .dstPitch = 64,
					     .WidthInBytes = 64,
					     .Height = boxes[i].rows };
			CUresult rc = cu[0].cuMemcpy2DUnaligned_v2(&up);
			char name[64];

			snprintf(name, sizeof(name), "%s.%s", kinds[kind], boxes[i].name);
			if (rc == CUDA_SUCCESS)
				fact(name, "from byte %d", peek(there) * 32);
			else
				fact(name, "%s", code(rc));
		}
	}
}

/* A batch of 2 copies whose sources must be read before the call returns. */
SECTION(batches_read_at_once)
{
	CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL };
	static const size_t bytes[] = { 64 * KIB, MIB, 8 * MIB };

	begin();
	for (int kind = 0; kind < REGISTERED; kind++) {
		char *host = memory(kind, MOST);

		for (int i = 0; i < 3; i++) {
			size_t sizes_now[2] = { bytes[i], bytes[i] }, first = 0;
			CUdeviceptr from[2] = { (CUdeviceptr)host, (CUdeviceptr)host + bytes[i] },
				    to[2] = { there, there + bytes[i] };

			memset(host, 1, MOST);
			busy(unbound);
			FACT(returned(cu[0].cuMemcpyBatchAsync_v2(to, from, sizes_now, 2, &how,
								  &first, 1, unbound)),
			     "%s.%zu", kinds[kind], bytes[i]);
			memset(host, 2, MOST);
			settle();
			FACT(peek(there + 2 * bytes[i] - 1) == 1 ? "as it was"
								 : "as it is when it comes to it",
			     "source.%s.%zu", kinds[kind], bytes[i]);
		}
	}
}

/* How many uploads behind a kernel are staged before one of them waits. */
SECTION(taken_in)
{
	static const size_t bytes[] = { 64, 64 * KIB, 256 * KIB, 4 * MIB };
	static char host[4 * MIB];

	begin();
	for (int i = 0; i < 4; i++) {
		unsigned count = 0;

		busy(unbound);
		while (count < 8 && still_busy()) {
			MUST(cu[0].cuMemcpyHtoDAsync_v2(there, host, bytes[i], unbound));
			count++;
		}
		FACT(count == 1 && !still_busy() ? "none"
		     : count < 8                 ? "some"
						 : "eight or more",
		     "behind_a_kernel.%zu", bytes[i]);
		settle();
	}
}
