/*
 * conform_memory.c - registrations, ranges across their boundaries, and pointer attributes of every
 * kind of memory.
 */
#include "conform.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static CUresult pin(void *at, size_t bytes)
{
	return cu[0].cuMemHostRegister_v2(at, bytes, 0);
}

/* Registers the range, and unregisters it. */
static const char *tried(void *at, size_t bytes, unsigned flags)
{
	CUresult rc = cu[0].cuMemHostRegister_v2(at, bytes, flags);

	if (rc == CUDA_SUCCESS)
		MUST(cu[0].cuMemHostUnregister(at));
	return code(rc);
}

#define TELL(name, call) fact(name, "%d", (int)(call))

SECTION(registering)
{
	char *p = pages(8 * PAGE, 1), *fixed = pages(PAGE, 1);
	char *untouched =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CUdeviceptr managed;
	void *pinned;

	begin();
	MUST(cu[0].cuMemAllocHost_v2(&pinned, 2 * PAGE));
	MUST(cu[0].cuMemAllocManaged(&managed, 2 * PAGE, CU_MEM_ATTACH_GLOBAL));
	char *gone = pages(3 * PAGE, 1);
	mprotect(fixed, PAGE, PROT_READ);
	fact("null", "%s", tried(NULL, PAGE, 0));
	fact("nothing", "%s", tried(p, 0, 0));
	fact("odd_address_and_size", "%s", tried(p + 100, 1001, 0));
	fact("untouched", "%s", tried(untouched, PAGE, 0));
	munmap(gone + PAGE, PAGE);
	fact("unmapped", "%s", tried(gone + PAGE, PAGE, 0));
	MUST(pin(p, PAGE));
	bool held = holds_pages(p);
	MUST(cu[0].cuMemHostUnregister(p));
	fact_of_pages(held, "half_unmapped", tried(gone, 3 * PAGE, 0));
	fact_of_pages(held, "read_only", tried(fixed, PAGE, 0));
	fact("read_only_as_such", "%s", tried(fixed, PAGE, CU_MEMHOSTREGISTER_READ_ONLY));
	fact("flags.portable", "%s", tried(p, PAGE, CU_MEMHOSTREGISTER_PORTABLE));
	fact("flags.mapped", "%s", tried(p, PAGE, CU_MEMHOSTREGISTER_DEVICEMAP));
	fact("flags.io", "%s", tried(p, PAGE, CU_MEMHOSTREGISTER_IOMEMORY));
	fact("flags.unknown", "%s", tried(p, PAGE, 0x100));
	fact("of_alloc_host", "%s", tried(pinned, PAGE, 0));
	fact("of_managed", "%s", tried((void *)managed, PAGE, 0));
	fact("of_device", "%s", tried((void *)there, PAGE, 0));

	MUST(pin(p + 2 * PAGE, 2 * PAGE));
	TELL("twice", pin(p + 2 * PAGE, 2 * PAGE));
	TELL("twice.shorter", pin(p + 2 * PAGE, PAGE));
	TELL("twice.longer", pin(p + 2 * PAGE, 3 * PAGE));
	TELL("twice.inside", pin(p + 3 * PAGE, 100));
	TELL("twice.around", pin(p + PAGE, 4 * PAGE));
	TELL("twice.runs_in", pin(p + PAGE, PAGE + 1));
	TELL("twice.runs_out", pin(p + 4 * PAGE - 1, PAGE));
	fact("adjacent.before", "%s", tried(p + PAGE, PAGE, 0));
	fact("adjacent.behind", "%s", tried(p + 4 * PAGE, PAGE, 0));
	MUST(pin(p + 6 * PAGE, 100));
	TELL("two_on_a_page", pin(p + 6 * PAGE + 100, 100));
	TELL("unregister.inside", cu[0].cuMemHostUnregister(p + 3 * PAGE));
	TELL("unregister.before", cu[0].cuMemHostUnregister(p));
	TELL("unregister", cu[0].cuMemHostUnregister(p + 2 * PAGE));
	TELL("unregister.twice", cu[0].cuMemHostUnregister(p + 2 * PAGE));
	TELL("unregister.null", cu[0].cuMemHostUnregister(NULL));
	TELL("unregister.alloc_host", cu[0].cuMemHostUnregister(pinned));
	TELL("unregister.managed", cu[0].cuMemHostUnregister((void *)managed));
	TELL("unregister.device", cu[0].cuMemHostUnregister((void *)there));
	MUST(pin(p, PAGE));
	TELL("free_host.registered", cu[0].cuMemFreeHost(p));
	TELL("free_host.pageable", cu[0].cuMemFreeHost(p + 2 * PAGE));
	TELL("free_host.null", cu[0].cuMemFreeHost(NULL));
	TELL("free_host.inside", cu[0].cuMemFreeHost((char *)pinned + 64));
	TELL("free_host", cu[0].cuMemFreeHost(pinned));
	TELL("free_host.twice", cu[0].cuMemFreeHost(pinned));
}

/* A range that is partly registered. */
SECTION(straddling)
{
	char *p = pages(8 * PAGE, 4);
	CUDA_MEMCPY2D box = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			      .srcHost = p,
			      .srcY = 1,
			      .srcPitch = PAGE,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstPitch = PAGE,
			      .WidthInBytes = PAGE,
			      .Height = 1 };

	begin();
	MUST(cu[0].cuMemsetD8_v2(there, 9, 8 * PAGE));
	box.dstDevice = there;
	MUST(pin(p + PAGE, PAGE));
	MUST(pin(p + 2 * PAGE, PAGE));
	TELL("begins_inside.up", cu[0].cuMemcpyHtoD_v2(there, p + 2 * PAGE, 2 * PAGE));
	TELL("begins_inside.down", cu[0].cuMemcpyDtoH_v2(p + 2 * PAGE, there, 2 * PAGE));
	TELL("begins_inside.uva.up", cu[0].cuMemcpy(there, (CUdeviceptr)p + 2 * PAGE, 2 * PAGE));
	TELL("begins_inside.async.up",
	     cu[0].cuMemcpyHtoDAsync_v2(there, p + 2 * PAGE, 2 * PAGE, unbound));
	TELL("begins_inside.async.down",
	     cu[0].cuMemcpyDtoHAsync_v2(p + 2 * PAGE, there, 2 * PAGE, unbound));
	TELL("two_registrations.up", cu[0].cuMemcpyHtoD_v2(there, p + PAGE, 2 * PAGE));
	TELL("two_registrations.async.up",
	     cu[0].cuMemcpyHtoDAsync_v2(there, p + PAGE, 2 * PAGE, unbound));
	TELL("begins_outside.up", cu[0].cuMemcpyHtoD_v2(there, p, 2 * PAGE));
	TELL("begins_outside.down", cu[0].cuMemcpyDtoH_v2(p, there, 2 * PAGE));
	TELL("begins_outside.async.up", cu[0].cuMemcpyHtoDAsync_v2(there, p, 2 * PAGE, unbound));
	busy(unbound);
	fact("begins_outside.async.down", "%s",
	     returned(cu[0].cuMemcpyDtoHAsync_v2(p, there, 2 * PAGE, unbound)));
	settle();
	TELL("box.address_outside", cu[0].cuMemcpy2D_v2(&box));
	box.srcHost = p + PAGE;
	box.srcY = 0;
	TELL("box.address_inside", cu[0].cuMemcpy2D_v2(&box));
	box.srcHost = p + PAGE - 64;
	box.srcY = 1;
	box.srcPitch = box.dstPitch = box.WidthInBytes = 64;
	box.Height = 4;
	TELL("box.rows.address_outside", cu[0].cuMemcpy2D_v2(&box));
	TELL("memset.inside", cu[0].cuMemsetD8_v2((CUdeviceptr)p + PAGE, 1, PAGE));
	TELL("memset.over_the_end", cu[0].cuMemsetD8_v2((CUdeviceptr)p + 2 * PAGE, 1, 2 * PAGE));
	TELL("memset.pageable", cu[0].cuMemsetD8_v2((CUdeviceptr)p + 4 * PAGE, 1, PAGE));
	TELL("as_device.registered.from",
	     cu[0].cuMemcpyDtoD_v2(there, (CUdeviceptr)p + PAGE, PAGE));
	TELL("as_device.registered.to", cu[0].cuMemcpyDtoD_v2((CUdeviceptr)p + PAGE, there, PAGE));
	TELL("as_device.pageable.from",
	     cu[0].cuMemcpyDtoD_v2(there, (CUdeviceptr)p + 4 * PAGE, PAGE));
	TELL("as_device.pageable.to",
	     cu[0].cuMemcpyDtoD_v2((CUdeviceptr)p + 4 * PAGE, there, PAGE));
	TELL("as_device.up_to_registered",
	     cu[0].cuMemcpyHtoD_v2((CUdeviceptr)p + PAGE, p + 5 * PAGE, PAGE));
	TELL("as_device.up_to_pageable",
	     cu[0].cuMemcpyHtoD_v2((CUdeviceptr)p + 4 * PAGE, p + 5 * PAGE, PAGE));
	TELL("as_device.down_from_registered",
	     cu[0].cuMemcpyDtoH_v2(p + 5 * PAGE, (CUdeviceptr)p + PAGE, PAGE));
	TELL("as_device.down_from_pageable",
	     cu[0].cuMemcpyDtoH_v2(p + 5 * PAGE, (CUdeviceptr)p + 4 * PAGE, PAGE));
	TELL("as_host.up_from_device", cu[0].cuMemcpyHtoD_v2(there, (void *)there, PAGE));
	TELL("as_host.down_to_device", cu[0].cuMemcpyDtoH_v2((void *)there, there + MIB, PAGE));
}

/* Pages that change while they are registered. */
SECTION(pages_change)
{
	char *p = pages(MIB, 7);

	begin();
	MUST(pin(p, MIB));
	bool held = holds_pages(p);
	mprotect(p, MIB, PROT_NONE);
	TELL("inaccessible.up", cu[0].cuMemcpyHtoD_v2(there, p, MIB));
	fact("inaccessible.arrives", "%s", peek(there + MIB - 1) == 7 ? "right" : "wrong");
	MUST(cu[0].cuMemsetD8_v2(there, 8, MIB));
	TELL("inaccessible.down", cu[0].cuMemcpyDtoH_v2(p, there, MIB));
	mprotect(p, MIB, PROT_READ | PROT_WRITE);
	fact("inaccessible.arrives_down", "%s", p[MIB - 1] == 8 ? "right" : "wrong");
	madvise(p, MIB, MADV_DONTNEED);
	memset(p, 9, MIB);
	TELL("advised_away.up", cu[0].cuMemcpyHtoD_v2(there, p, MIB));
	fact_of_pages(held, "advised_away.arrives", peek(there) == 9 ? "new pages" : "old pages");
	munmap(p, MIB);
	if (mmap(p, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
	    p)
		_exit(3);
	memset(p, 10, MIB);
	TELL("mapped_again.up", cu[0].cuMemcpyHtoD_v2(there, p, MIB));
	fact_of_pages(held, "mapped_again.arrives", peek(there) == 10 ? "new pages" : "old pages");
	TELL("mapped_again.register", pin(p, MIB));
	TELL("mapped_again.unregister", cu[0].cuMemHostUnregister(p));
	MUST(pin(p, PAGE));
	memset(p, 1, PAGE);
	pid_t child = fork();
	if (child == 0) {
		memset(p, 2, PAGE);
		_exit(p[0] == 2 && cu[0].cuMemAlloc_v2(&there, 16) == CUDA_ERROR_NOT_INITIALIZED
			      ? 3
			      : 4);
	}
	int status = 0;
	waitpid(child, &status, 0);
	fact("child.is_not_initialized", "%s", status == 3 << 8 ? "yes" : "no");
	memset(p, 5, PAGE);
	MUST(cu[0].cuMemcpyHtoD_v2(there, p, PAGE));
	fact("fork.arrives", "%s", peek(there) == 5 ? "right" : "wrong");
}

/* ---- what is said of memory ---- */

static const struct {
	CUpointer_attribute attribute;
	const char *name;
	unsigned char bytes;
	enum { NUMBER, ADDRESS, SOME, CONTEXT } how;
} attributes[] = {
	{ CU_POINTER_ATTRIBUTE_CONTEXT, "context", 8, CONTEXT },
	{ CU_POINTER_ATTRIBUTE_MEMORY_TYPE, "memory_type", 4, NUMBER },
	{ CU_POINTER_ATTRIBUTE_DEVICE_POINTER, "device_pointer", 8, ADDRESS },
	{ CU_POINTER_ATTRIBUTE_HOST_POINTER, "host_pointer", 8, ADDRESS },
	{ CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, "sync_memops", 1, NUMBER },
	{ CU_POINTER_ATTRIBUTE_BUFFER_ID, "buffer_id", 8, SOME },
	{ CU_POINTER_ATTRIBUTE_IS_MANAGED, "is_managed", 1, NUMBER },
	{ CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, "device_ordinal", 4, NUMBER },
	{ CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, "ipc_capable", 1, NUMBER },
	{ CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, "range_start", 8, ADDRESS },
	{ CU_POINTER_ATTRIBUTE_RANGE_SIZE, "range_size", 8, NUMBER },
	{ CU_POINTER_ATTRIBUTE_MAPPED, "mapped", 1, NUMBER },
	{ CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, "handle_types", 8, NUMBER },
	{ CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, "access_flags", 4, NUMBER },
	{ CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, "pool", 8, SOME },
};
#define ATTRIBUTES ((int)(sizeof(attributes) / sizeof(*attributes)))

static const char *value_of(int which, uint64_t value, uint64_t base)
{
	static char text[4][32];
	static unsigned next;
	char *to = text[next++ % 4];

	if (attributes[which].bytes == 4)
		value = (uint64_t)(int64_t)(int32_t)value;
	if (attributes[which].how == SOME || (attributes[which].how != NUMBER && value == 0))
		return value != 0 ? "some" : "0";
	if (attributes[which].how == CONTEXT)
		return value == (uintptr_t)primary ? "this" : "another";
	if (attributes[which].how == ADDRESS)
		snprintf(to, 32, "base%+lld", (long long)(value - base));
	else
		snprintf(to, 32, "%lld", (long long)value);
	return to;
}

/* Reports every attribute of an address in memory that begins at `base`. */
static void ask(const char *kind, uint64_t base, uint64_t at)
{
	CUpointer_attribute names[ATTRIBUTES];
	uint64_t values[ATTRIBUTES];
	void *places[ATTRIBUTES];
	char line[400] = "";

	for (int i = 0; i < ATTRIBUTES; i++) {
		uint64_t value = 0;
		CUresult rc = cu[0].cuPointerGetAttribute(&value, attributes[i].attribute, at);

		if (rc != CUDA_SUCCESS)
			FACT(code(rc), "%s.%s.error", kind, attributes[i].name);
		else
			FACT(value_of(i, value, base), "%s.%s", kind, attributes[i].name);
		names[i] = attributes[i].attribute;
		values[i] = 0;
		places[i] = &values[i];
	}
	CUresult rc = cu[0].cuPointerGetAttributes(ATTRIBUTES, names, places, at);
	for (int i = 0; rc == CUDA_SUCCESS && i < ATTRIBUTES; i++)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%s",
			 i != 0 ? " " : "", value_of(i, values[i], base));
	FACT(rc == CUDA_SUCCESS ? line : code(rc), "%s.all_at_once", kind);

	CUdeviceptr start = 0, device = 0;
	size_t size = 0;
	unsigned flags = 0;
	rc = cu[0].cuMemGetAddressRange_v2(&start, &size, at);
	if (rc == CUDA_SUCCESS)
		snprintf(line, sizeof(line), "base%+lld, %zu", (long long)(start - base), size);
	FACT(rc == CUDA_SUCCESS ? line : code(rc), "%s.address_range", kind);
	rc = cu[0].cuMemHostGetFlags(&flags, (void *)at);
	snprintf(line, sizeof(line), "flags %u", flags);
	FACT(rc == CUDA_SUCCESS ? line : code(rc), "%s.host_flags", kind);
	rc = cu[0].cuMemHostGetDevicePointer_v2(&device, (void *)at, 0);
	if (rc == CUDA_SUCCESS)
		snprintf(line, sizeof(line), "base%+lld", (long long)(device - base));
	FACT(rc == CUDA_SUCCESS ? line : code(rc), "%s.host_device_pointer", kind);
	rc = cu[0].cuMemRangeGetAttribute(&flags, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, at, 1);
	FACT(code(rc), "%s.range_attribute", kind);
	rc = cu[0].cuMemAdvise(at, 1, CU_MEM_ADVISE_SET_READ_MOSTLY, 0);
	FACT(code(rc), "%s.advise", kind);
	rc = cu[0].cuMemPrefetchAsync(at, 1, 0, unbound);
	FACT(code(rc), "%s.prefetch", kind);
	settle();
}

SECTION(ask_host)
{
	char *p = pages(4 * PAGE, 1);

	begin();
	ask("pageable", (uint64_t)p, (uint64_t)p + 100);
	MUST(cu[0].cuMemHostRegister_v2(p, PAGE, 0));
	ask("registered", (uint64_t)p, (uint64_t)p + 100);
	ask("behind_registered", (uint64_t)p, (uint64_t)p + PAGE);
	MUST(cu[0].cuMemHostUnregister(p));
	ask("was_registered", (uint64_t)p, (uint64_t)p + 100);
	MUST(cu[0].cuMemHostRegister_v2(
		p + 64, 1000, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
	ask("registered_odd", (uint64_t)p, (uint64_t)p + 100);
	ask("before_registered_odd", (uint64_t)p, (uint64_t)p);
}

SECTION(ask_pinned)
{
	void *plain, *mapped;

	begin();
	MUST(cu[0].cuMemAllocHost_v2(&plain, 2 * PAGE));
	MUST(cu[0].cuMemHostAlloc(&mapped, PAGE,
				  CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
	ask("alloc_host", (uint64_t)plain, (uint64_t)plain + 100);
	ask("host_alloc", (uint64_t)mapped, (uint64_t)mapped + 100);
	MUST(cu[0].cuMemHostAlloc(&mapped, PAGE, CU_MEMHOSTALLOC_WRITECOMBINED));
	ask("write_combined", (uint64_t)mapped, (uint64_t)mapped);
}

SECTION(ask_device)
{
	CUdeviceptr plain, managed, pooled;

	begin();
	MUST(cu[0].cuMemAlloc_v2(&plain, 4 * MIB));
	MUST(cu[0].cuMemAllocManaged(&managed, 4 * MIB, CU_MEM_ATTACH_GLOBAL));
	MUST(cu[0].cuMemAllocAsync(&pooled, 4 * MIB, unbound));
	settle();
	ask("device", plain, plain + 100);
	ask("managed", managed, managed + 100);
	ask("pooled", pooled, pooled + 100);
	MUST(cu[0].cuMemFree_v2(plain));
	ask("null", 0, 0);
	ask("small_number", 0, 4096);
}

/* ---- memory that is not there any more ---- */

SECTION(gone)
{
	CUdeviceptr at, pooled;
	char byte[64] = { 0 };

	begin();
	/* More than a driver would take from memory that it holds already. */
	MUST(cu[0].cuMemAlloc_v2(&at, 256 * MIB));
	TELL("free.inside", cu[0].cuMemFree_v2(at + 512));
	TELL("free.null", cu[0].cuMemFree_v2(0));
	TELL("free", cu[0].cuMemFree_v2(at));
	TELL("free.twice", cu[0].cuMemFree_v2(at));
	TELL("free.number", cu[0].cuMemFree_v2(4096));
	TELL("free.pageable", cu[0].cuMemFree_v2((CUdeviceptr)byte));
	TELL("freed.up", cu[0].cuMemcpyHtoD_v2(at, byte, 64));
	TELL("freed.down", cu[0].cuMemcpyDtoH_v2(byte, at, 64));
	TELL("freed.memset", cu[0].cuMemsetD8_v2(at, 0, 64));
	TELL("freed.async.up", cu[0].cuMemcpyHtoDAsync_v2(at, byte, 64, unbound));
	TELL("beyond.up", cu[0].cuMemcpyHtoD_v2(there + THERE_BYTES - 8, byte, 64));
	TELL("beyond.down", cu[0].cuMemcpyDtoH_v2(byte, there + THERE_BYTES - 8, 64));
	TELL("beyond.memset", cu[0].cuMemsetD8_v2(there + THERE_BYTES - 8, 0, 64));
	MUST(cu[0].cuMemAllocAsync(&pooled, MIB, unbound));
	TELL("pooled.up_on_another_stream", cu[0].cuMemcpyHtoD_v2(pooled, byte, 64));
	TELL("pooled.free_async", cu[0].cuMemFreeAsync(pooled, unbound));
	settle();
	TELL("pooled.free_async_twice", cu[0].cuMemFreeAsync(pooled, unbound));
	MUST(cu[0].cuMemAllocAsync(&pooled, MIB, unbound));
	TELL("pooled.free", cu[0].cuMemFree_v2(pooled));
	TELL("free_async.of_plain",
	     cu[0].cuMemAlloc_v2(&at, MIB) ?: cu[0].cuMemFreeAsync(at, unbound));
	settle();
}

/* A copy of inaccessible host memory ends the process, or is refused. */
static void meets_closed(const char *name, size_t bytes, bool up)
{
	int ends[2], status;
	char text[16] = "";

	if (pipe(ends) != 0)
		_exit(3);
	pid_t child = fork();
	if (child == 0) {
		char *p = pages(bytes, 1);

		begin();
		mprotect(p, bytes, PROT_NONE);
		CUresult rc = up ? cu[0].cuMemcpyHtoD_v2(there, p, bytes)
				 : cu[0].cuMemcpyDtoH_v2(p, there, bytes);
		snprintf(text, sizeof(text), "%d", (int)rc);
		_exit(write(ends[1], text, strlen(text)) < 0);
	}
	close(ends[1]);
	if (read(ends[0], text, sizeof(text) - 1) < 0)
		_exit(3);
	close(ends[0]);
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		fact(name, "signal %d", WTERMSIG(status));
	else
		fact(name, "%s", text);
}

SECTION(inaccessible)
{
	meets_closed("up.64", 64, true);
	meets_closed("up.1M", MIB, true);
	meets_closed("down.64", 64, false);
	meets_closed("down.1M", MIB, false);
}

/* ---- virtual memory management ---- */

SECTION(virtual)
{
	CUmemAllocationProp of = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				   .location.type = CU_MEM_LOCATION_TYPE_DEVICE };
	CUmemAccessDesc access = { .location = of.location,
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle handle;
	size_t size = 0;
	CUdeviceptr at;
	char byte[64] = { 3 };

	begin();
	TELL("granularity",
	     cu[0].cuMemGetAllocationGranularity(&size, &of, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	fact("granularity.is", "%zu", size);
	if (size == 0)
		return;
	TELL("create.odd_size", cu[0].cuMemCreate(&handle, size + 1, &of, 0));
	TELL("create", cu[0].cuMemCreate(&handle, size, &of, 0));
	TELL("reserve", cu[0].cuMemAddressReserve(&at, 2 * size, 0, 0, 0));
	TELL("map", cu[0].cuMemMap(at, size, 0, handle, 0));
	TELL("access", cu[0].cuMemSetAccess(at, size, &access, 1));
	TELL("accessible.up", cu[0].cuMemcpyHtoD_v2(at, byte, 64));
	TELL("accessible.memset", cu[0].cuMemsetD8_v2(at + 64, 5, 64));
	TELL("beyond.up", cu[0].cuMemcpyHtoD_v2(at + size - 8, byte, 64));
	ask("accessible", at, at + 64);
	busy(unbound);
	fact("unmap.behind_a_kernel", "%s", returned(cu[0].cuMemUnmap(at, size)));
	settle();
	TELL("map_again", cu[0].cuMemMap(at + size, size, 0, handle, 0));
	TELL("access_again", cu[0].cuMemSetAccess(at + size, size, &access, 1));
	fact("map_again.holds", "%s", peek(at + size) == 3 ? "its bytes" : "others");
	TELL("free.mapped", cu[0].cuMemFree_v2(at + size));
	TELL("release.mapped", cu[0].cuMemRelease(handle));
	TELL("released.up", cu[0].cuMemcpyHtoD_v2(at + size, byte, 64));
	TELL("address_free.mapped", cu[0].cuMemAddressFree(at, 2 * size));
	TELL("unmap", cu[0].cuMemUnmap(at + size, size));
	TELL("address_free", cu[0].cuMemAddressFree(at, 2 * size));
}

/*
 * Addresses that are not accessible yet, or no longer; in their own section, because a context may
 * end.
 */
SECTION(virtual_closed)
{
	CUmemAllocationProp of = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				   .location.type = CU_MEM_LOCATION_TYPE_DEVICE };
	CUmemGenericAllocationHandle handle;
	char byte[64] = { 3 };
	CUdeviceptr at;

	begin();
	MUST(cu[0].cuMemCreate(&handle, 2 * MIB, &of, 0));
	MUST(cu[0].cuMemAddressReserve(&at, 2 * MIB, 0, 0, 0));
	TELL("reserved.up", cu[0].cuMemcpyHtoD_v2(at, byte, 64));
	MUST(cu[0].cuMemMap(at, 2 * MIB, 0, handle, 0));
	TELL("mapped.up", cu[0].cuMemcpyHtoD_v2(at, byte, 64));
	MUST(cu[0].cuMemUnmap(at, 2 * MIB));
	TELL("unmapped.up", cu[0].cuMemcpyHtoD_v2(at, byte, 64));
	TELL("unmapped.memset", cu[0].cuMemsetD8_v2(at, 0, 64));
}
