/*
 * test_visibility.c - driver calls after which device work is host-visible: every synchronous
 * upload waits from then on.
 */
#include "uploads.h"

/* A driver call after which uploads wait. */
struct visible_call {
	const char *call;
	uintptr_t arguments[4];
	bool is_refused; /* by the stand-in; uploads wait even before the call */
};

/* An older driver lacks some calls: then nothing is visible. */
static void check_call(const struct visible_call *row)
{
	const uintptr_t *with = row->arguments;
	CUresult (*call)(uintptr_t, uintptr_t, uintptr_t, uintptr_t) =
		(CUresult(*)(uintptr_t, uintptr_t, uintptr_t, uintptr_t))dlsym(RTLD_DEFAULT,
									       row->call);

	CHECK_EQ(waits_always(array, 64), !preloaded());
	if (call != NULL)
		CHECK_EQ(call(with[0], with[1], with[2], with[3]) != CUDA_SUCCESS, row->is_refused);
	CHECK_EQ(waits(array, 64), call != NULL || !preloaded());
}

/* EXPOSED_WITH(id, (environment), call, fields of the row): the fields are read after start(). */
#define EXPOSED_WITH(id, environment, name, ...) \
	CASE_WITH(id, environment, start();      \
		  check_call(&(const struct visible_call){ .call = #name, __VA_ARGS__ }))
#define EXPOSED(id, name, ...) EXPOSED_WITH(id, (NULL), name, __VA_ARGS__)
#define WITH(...)              .arguments = { __VA_ARGS__ }
#define AT(object)             (uintptr_t) & (object)

/* CU_MEM_LOCATION_TYPE_HOST, which older headers lack. */
#define ON_THE_HOST            ((CUmemLocationType)2)
/* CU_CTX_SYNC_MEMOPS, which older headers lack. */
#define SYNC_MEMOPS            0x80

/* For results. */
static uint64_t result, more;
static const CUmemPoolProps pool_of_the_host = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
						 .location.type = ON_THE_HOST };
static const CUmemAllocationProp memory_of_the_host = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
							.location.type = ON_THE_HOST };

EXPOSED(exposed_to_external_memory, cuImportExternalMemory, .is_refused = true)
EXPOSED(exposed_to_green_contexts, cuGreenCtxCreate, .is_refused = true)
EXPOSED(exposed_to_what_prints, cuCtxSetLimit, WITH(CU_LIMIT_PRINTF_FIFO_SIZE, 2 * MIB))
EXPOSED(exposed_by_flags_of_the_context, cuCtxSetFlags, WITH(SYNC_MEMOPS))
EXPOSED(exposed_by_flags_of_the_device, cuDevicePrimaryCtxSetFlags_v2, WITH(0, SYNC_MEMOPS))
EXPOSED(exposed_in_pools_of_the_host, cuMemPoolCreate, WITH(AT(result), AT(pool_of_the_host)),
	.is_refused = true)
EXPOSED(exposed_in_mappings_of_the_host, cuMemCreate,
	WITH(AT(result), 2 * MIB, AT(memory_of_the_host)), .is_refused = true)
/* A global variable that the library cannot query may be managed memory. */
EXPOSED_WITH(exposed_in_a_global, ("STANDIN_FAIL=cuPointerGetAttribute:1"), cuModuleGetGlobal_v2,
	     WITH(AT(result), AT(more), (uintptr_t)module, (uintptr_t) "any"))

#define EXPOSED_TO_A_NODE(id, ...)                                 \
	EXPOSED(exposed_to_a_node_that_##id, cuGraphNodeSetParams, \
		WITH(0, AT(((CUgraphNodeParams){ __VA_ARGS__ }))), .is_refused = true)
EXPOSED_TO_A_NODE(calls_back, .type = CU_GRAPH_NODE_TYPE_HOST)
EXPOSED_TO_A_NODE(writes_words, .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
EXPOSED_TO_A_NODE(copies_to_the_host, .type = CU_GRAPH_NODE_TYPE_MEMCPY,
		  .memcpy.copyParams.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		  .memcpy.copyParams.dstMemoryType = CU_MEMORYTYPE_HOST)
EXPOSED_TO_A_NODE(copies_anywhere, .type = CU_GRAPH_NODE_TYPE_MEMCPY,
		  .memcpy.copyParams.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		  .memcpy.copyParams.dstMemoryType = CU_MEMORYTYPE_UNIFIED)

/* Uploads wait as long as the program has pinned memory. */
TEST_AFTER(exposed, start())
{
	void *pinned;

	CHECK_EQ(waits_always(array, 64), !preloaded());
	OK(cuMemHostAlloc(&pinned, 4096, 0));
	CHECK(waits(array, 64));
	OK(cuMemFreeHost(pinned));
	CHECK_EQ(waits_always(array, 64), !preloaded());
	OK(cuMemHostAlloc(&pinned, 0, 0));
	OK(cuMemFreeHost(pinned));
	CHECK_EQ(waits_always(array, 64), !preloaded());
	OK(cuMemHostRegister_v2(array, 4096, 0));
	CHECK(waits(array + MIB, 64));
	OK(cuMemHostUnregister(array));
	CHECK_EQ(waits_always(array, 64), !preloaded());
	CHECK(cuMemHostUnregister(array) != CUDA_SUCCESS);
	CHECK_EQ(waits_always(array, 64), !preloaded());
}

/* If the driver refuses to pin, uploads do not wait, independently of the result variable. */
TEST_AFTER_WITH(not_exposed_by_what_is_refused, start(),
		"STANDIN_FAIL=cuMemHostAlloc:1,cuMemHostRegister:1")
{
	void *pinned = array;

	CHECK(cuMemHostAlloc(&pinned, 4096, 0) != CUDA_SUCCESS);
	CHECK_EQ(waits_always(array, 64), !preloaded());
	CHECK(cuMemHostRegister_v2(array, 4096, 0) != CUDA_SUCCESS);
	CHECK_EQ(waits_always(array, 64), !preloaded());
	/* Freeing other memory changes nothing. */
	OK(cuMemHostAlloc(&pinned, 4096, 0));
	OK(cuMemFreeHost(NULL));
	CHECK(cuMemFreeHost(array) != CUDA_SUCCESS);
	CHECK(waits(array, 64));
}

/* Captured rows from or to the host.  The stand-in refuses them, which does not matter here. */
static void check_captured_rows(bool from_host, bool to_host)
{
	CUDA_MEMCPY2D rows = {
		.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.srcHost = array,
		.srcDevice = there,
		.srcPitch = 64,
		.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.dstHost = array,
		.dstDevice = there + MIB,
		.dstPitch = 64,
		.WidthInBytes = 64,
		.Height = 4,
	};
	CUstream stream;
	CUgraph graph;

	start();
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_EQ(waits_always(array, 64), !preloaded());
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	cuMemcpy2DAsync_v2(&rows, stream);
	cuStreamEndCapture(stream, &graph);
	CHECK(waits(array, 64));
}

CASE(exposed_in_captured_rows_from_the_host, check_captured_rows(true, false))
CASE(exposed_in_captured_rows_to_the_host, check_captured_rows(false, true))

/* Any captured batch of copies may write host memory. */
TEST(exposed_in_a_captured_batch)
{
	CUstream stream;
	CUgraph graph;
	CUresult (*batch)(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *,
			  size_t *, size_t, CUstream) =
		(__typeof__(batch))dlsym(RTLD_DEFAULT, "cuMemcpyBatchAsync_v2");
	CUdeviceptr to = (CUdeviceptr)array, from = there;
	CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	size_t bytes = 4096, first = 0;

	start();
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_EQ(waits_always(array, 64), !preloaded());
	if (!CHECK(batch != NULL))
		return;
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	batch(&to, &from, &bytes, 1, &how, &first, 1, stream);
	cuStreamEndCapture(stream, &graph);
	CHECK(waits(array, 64));
}

/* A library of NVIDIA that is not a CUDA tool looks up driver functions. */
static void check_exposing_to(const char *library)
{
	start();
	CHECK(preloaded() ? !waits_always(array, 64) : waits(array, 64));
	void *handle = dlopen(library, RTLD_NOW);
	void *(*look)(void *, const char *) =
		handle != NULL ? (void *(*)(void *, const char *))dlsym(handle, "tool_look") : NULL;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	CHECK(look != NULL && look(driver, "cuNoSuchThing") == NULL);
	CHECK(preloaded() ? !waits_always(array, 64) : waits(array, 64));
	CHECK(look != NULL && look(driver, "cuGetExportTable") != NULL);
	CHECK(waits(array, 64));
}

CASE(exposed_to_video, check_exposing_to("libnvidia-encode.so"))
CASE(exposed_to_ray_tracing, check_exposing_to("libnvoptix.so"))

PRELOAD_MAIN()
