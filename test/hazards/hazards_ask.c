/*
 * hazards_ask.c - rows 7 to 9 and 13: memory that the program registers itself, and queries about
 * its memory.
 */
#include "hazards.h"

#include "pointer_kinds.h"

/* Never registered: the driver's answers for unknown memory. */
static char stranger[64 * KIB] __attribute__((aligned(4096)));

/* Memory that the program registers is truly asynchronous until it unregisters. */
static void registers(size_t at, size_t bytes)
{
	unsigned flags = 77;
	CUmemorytype type = 0;
	CUdeviceptr mapped = 0;

	begin();
	char *block = hot(BYTES), *part = block + at;

	OK(cu.cuMemHostRegister_v2(part, bytes, CU_MEMHOSTREGISTER_DEVICEMAP));
	SEE("again", cu.cuMemHostRegister_v2(part, bytes, 0));
	SEE("all of it", cu.cuMemHostRegister_v2(block, BYTES, 0));
	CHECK_EQ(cu.cuMemHostRegister_v2(part, bytes, 0),
		 CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	SEE("flags", cu.cuMemHostGetFlags(&flags, part));
	SEE("flags", flags);
	OK(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)part));
	CHECK_EQ(type, CU_MEMORYTYPE_HOST);
	OK(cu.cuMemHostGetDevicePointer_v2(&mapped, part, 0));
	CHECK(mapped != 0);

	fill(part, bytes, 3);
	OK(cu.cuMemcpyHtoD_v2(there, part, bytes));
	memset(part, 0, bytes);
	OK(cu.cuCtxSynchronize());
	spin(stream, 100);
	OK(cu.cuMemcpyDtoHAsync_v2(part, there, bytes, stream));
	CHECK_EQ(cu.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	OK(cu.cuStreamSynchronize(stream));
	CHECK(holds(part, bytes, 3));

	OK(cu.cuMemHostUnregister(part));
	CHECK_EQ(cu.cuMemHostUnregister(part), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	agrees(block, BYTES);
	/* The block may be pinned again, and registered again. */
	CHECK_EQ(heat(block, BYTES), preloaded());
	OK(cu.cuMemHostRegister_v2(part, bytes, 0));
	OK(cu.cuMemHostUnregister(part));
	agrees(block, BYTES);
	free(block);
}

CASE(row07_all_of_it, registers(0, BYTES))
CASE(row07_a_part, registers(MIB, MIB))
CASE(row07_an_odd_part, registers(3 * MIB + 5, 70001))

TEST_AFTER(row07_two_parts, begin())
{
	char *block = hot(BYTES);

	OK(cu.cuMemHostRegister_v2(block, MIB, 0));
	OK(cu.cuMemHostRegister_v2(block + 2 * MIB, MIB, 0));
	SEE("over both", cu.cuMemHostRegister_v2(block, BYTES, 0));
	SEE("into the first", cu.cuMemHostRegister_v2(block + PAGE, PAGE, 0));
	OK(cu.cuMemHostUnregister(block));
	for (int i = 0; i < 30; i++)
		OK(cu.cuMemcpyHtoD_v2(there, block + 2 * MIB, MIB));
	OK(cu.cuMemHostUnregister(block + 2 * MIB));
	CHECK_EQ(heat(block, BYTES), preloaded());
	agrees(block, BYTES);
	free(block);
}

TEST_AFTER(row08_unregistered_or_freed_by_the_program, begin())
{
	char *block = hot(BYTES);

	CHECK_EQ(cu.cuMemHostUnregister(block), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	SEE("unregister inside", cu.cuMemHostUnregister(block + 64));
	CHECK_EQ(cu.cuMemHostUnregister(block + 64), cu.cuMemHostUnregister(stranger));
	SEE("free", cu.cuMemFreeHost(block));
	CHECK_EQ(cu.cuMemFreeHost(block), cu.cuMemFreeHost(stranger));
	SEE("free of the device's", cu.cuMemFree_v2((CUdeviceptr)block));
	CHECK_EQ(is_pinned(block), preloaded());
	agrees(block, BYTES);
	free(block);
}

/*
 * Queries a block at its ends and inside; `ask` reports the results.  The block stays pinned, or is
 * made hot again each time.
 */
static void asked(void (*ask)(CUdeviceptr), bool stays)
{
	begin();
	char *block = hot(BYTES);

	for (int i = 0; i < 4; i++) {
		CHECK_EQ(heat(block, BYTES), preloaded());
		ask((CUdeviceptr)(block + (size_t[]){ 0, 1, BYTES / 2, BYTES - 1 }[i]));
	}
	CHECK_EQ(is_pinned(block), stays && preloaded());
	agrees(block, BYTES);
	free(block);
}

/* An answer that contains the address must be that of any other pageable memory, too. */
static uint64_t relative(uint64_t answer, CUdeviceptr at)
{
	return answer == at ? 4711 : answer;
}

static void ask_attribute(CUdeviceptr at)
{
	for (size_t i = 0; i < KINDS; i++) {
		uint64_t answer = 0, other = 0;
		CUresult result = cu.cuPointerGetAttribute(&answer, kinds[i], at);

		SEE("attribute", result);
		SEE("is", relative(answer, at));
		CHECK_EQ(result, cu.cuPointerGetAttribute(&other, kinds[i], (CUdeviceptr)stranger));
		CHECK_EQ(relative(answer, at), relative(other, (CUdeviceptr)stranger));
	}
}

CASE(row09_pointer_attribute, asked(ask_attribute, true))

static void ask_attributes(CUdeviceptr at)
{
	const CUdeviceptr asked[2] = { at, (CUdeviceptr)stranger };
	uint64_t answers[2][KINDS] = { { 0 } };
	CUpointer_attribute wanted[KINDS];
	CUresult results[2];

	for (int side = 0; side < 2; side++) {
		void *to[KINDS];

		for (size_t i = 0; i < KINDS; i++) {
			wanted[i] = kinds[i];
			to[i] = &answers[side][i];
		}
		results[side] = cu.cuPointerGetAttributes(KINDS, wanted, to, asked[side]);
	}
	SEE("attributes", results[0]);
	CHECK_EQ(results[0], results[1]);
	for (size_t i = 0; i < KINDS; i++) {
		SEE("is", relative(answers[0][i], asked[0]));
		CHECK_EQ(relative(answers[0][i], asked[0]), relative(answers[1][i], asked[1]));
	}
}

CASE(row09_pointer_attributes, asked(ask_attributes, true))

static void ask_host(CUdeviceptr at)
{
	unsigned flags = 77;
	CUdeviceptr mapped = 0, base = 0;
	size_t bytes = 77;

	SEE("flags", cu.cuMemHostGetFlags(&flags, (void *)at));
	CHECK_EQ(cu.cuMemHostGetFlags(&flags, (void *)at), cu.cuMemHostGetFlags(&flags, stranger));
	SEE("device pointer", cu.cuMemHostGetDevicePointer_v2(&mapped, (void *)at, 0));
	CHECK_EQ(cu.cuMemHostGetDevicePointer_v2(&mapped, (void *)at, 0),
		 cu.cuMemHostGetDevicePointer_v2(&mapped, stranger, 0));
	SEE("range", cu.cuMemGetAddressRange_v2(&base, &bytes, at));
	CHECK_EQ(cu.cuMemGetAddressRange_v2(&base, NULL, at),
		 cu.cuMemGetAddressRange_v2(&base, NULL, (CUdeviceptr)stranger));
	SEE("bytes", bytes);
}

CASE(row09_host_flags_pointer_and_range, asked(ask_host, true))

static void ask_range(CUdeviceptr at)
{
	CUresult results[2], ranges[2];
	uint32_t value = 77, other = 77;
	void *to[2] = { &value, &other };
	size_t room[2] = { 4, 4 };
	CUmem_range_attribute wanted[2] = { CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
					    CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION };

	SEE("range attribute", cu.cuMemRangeGetAttribute(&value, 4, wanted[0], at, 1));
	SEE("is", value);
	SEE("range attributes", cu.cuMemRangeGetAttributes(to, room, wanted, 2, at, 1));
	SEE("is", value);
	SEE("is", other);
	for (int side = 0; side < 2; side++) {
		CUdeviceptr asked = side == 0 ? at : (CUdeviceptr)stranger;

		results[side] = cu.cuPointerSetAttribute(&(int){ 1 },
							 CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, asked);
		ranges[side] = cu.cuMemRangeGetAttribute(&value, 4, wanted[0], asked, 1);
	}
	SEE("set", results[0]);
	CHECK_EQ(results[0], results[1]);
	CHECK_EQ(ranges[0], ranges[1]);
}

CASE(row09_range_attributes, asked(ask_range, true))

/* A pageable address belongs to no device. */
static void ask_device(CUdeviceptr at)
{
	SEE("memset", cu.cuMemsetD8_v2(at, 0, 1));
	SEE("copy from it", cu.cuMemcpyDtoD_v2(there, at, 1));
	SEE("copy to it", cu.cuMemcpyDtoD_v2(at, there, 1));
	SEE("up to it", cu.cuMemcpyHtoD_v2(at, stranger, 1));
	SEE("down from it", cu.cuMemcpyDtoH_v2(stranger, at, 1));
}

/* A node of a graph that is not made.  The block would stay unpinned during another question. */
static void ask_node(CUdeviceptr at)
{
	CUDA_MEMSET_NODE_PARAMS fill = { .dst = at, .elementSize = 1, .width = 1, .height = 1 };
	CUgraph graph;
	CUgraphNode node;

	OK(cu.cuGraphCreate(&graph, 0));
	SEE("memset node", cu.cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, primary));
	OK(cu.cuGraphDestroy(graph));
}

CASE(row09_as_device_memory, asked(ask_device, false))
CASE(row09_in_a_memset_node, asked(ask_node, false))

/* These calls act on the pages: with pinned ones the results would differ. */
TEST_AFTER(row09_advise_and_prefetch, begin())
{
	char *block = hot(BYTES);
	CUdeviceptr at = (CUdeviceptr)inner(block);

	SEE("advise", cu.cuMemAdvise(at, MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
	agrees(block, BYTES);
	CHECK_EQ(heat(block, BYTES), preloaded());
	SEE("prefetch", cu.cuMemPrefetchAsync(at, MIB, 0, stream));
	SEE("and wait", cu.cuStreamSynchronize(stream));
	agrees(block, BYTES);
	CHECK_EQ(heat(block, BYTES), preloaded());
	SEE("attach", cu.cuStreamAttachMemAsync(stream, at, MIB, CU_MEM_ATTACH_SINGLE));
	CHECK(!is_pinned(block));
	agrees(block, BYTES);
	free(block);
}

/* Blocks of unusual sizes, some pinned, with neighbors that the program registered. */
TEST(row13_neighbors)
{
	enum { COUNT = 16 };
	const size_t bytes = 300001;
	char *block[COUNT];

	begin();
	for (int i = 0; i < COUNT; i++)
		block[i] = malloc(bytes);
	for (int i = 0; i < COUNT; i += 2)
		CHECK_EQ(heat(block[i], bytes), preloaded());
	for (int i = 1; i < COUNT; i += 2)
		OK(cu.cuMemHostRegister_v2(block[i], bytes, 0));
	for (int i = 0; i < COUNT; i += 2)
		agrees(block[i], bytes);
	for (int i = 1; i < COUNT; i += 2) {
		fill(block[i], bytes, 4);
		OK(cu.cuMemcpyHtoD_v2(there, block[i], bytes));
		CHECK(device_holds(there, bytes, 4));
		OK(cu.cuMemHostUnregister(block[i]));
	}
	for (int i = 0; i < COUNT; i++) {
		agrees(block[i], bytes);
		free(block[i]);
	}
}
