/*
 * test_unknown.c - driver functions that hotpin does not know.  Such a function may read what a
 * deferred copy has not written yet, or be a copy itself, for which a pinned block is not pageable.
 */
#include "promote.h"

#define BYTES  (8 * MIB)
#define EXTRA  "STANDIN_EXTRA=1"
#define STUBS  128 /* SHIM_UNKNOWN_MOST */
#define COPIES 40

typedef __typeof__(cuStandinCopyThing) copy_fn;
typedef __typeof__(cuStandinUnknownThing) read_fn;
typedef __typeof__(cuStandinBeginRecaptureThing) capture_fn;

static void *resolve(const char *name)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *found = NULL;
	__typeof__(cuGetProcAddress_v2) *look =
		(__typeof__(cuGetProcAddress_v2) *)dlsym(driver, "cuGetProcAddress_v2");

	OK(look(name, &found, 13000, 0, NULL));
	return found;
}

static void *function_of(const char *library, const char *name)
{
	void *handle = dlopen(library, RTLD_NOW);

	return handle != NULL ? dlsym(handle, name) : NULL;
}

/* Copies of pageable memory are complete on return. */
static void check_copy(copy_fn *copy, char *block, unsigned seed)
{
	static char bytes[BYTES];
	CUstream stream;

	fill(bytes, BYTES, seed);
	OK(cuMemcpyHtoD_v2(there, bytes, BYTES));
	OK(cuCtxSynchronize());
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	memset(block, 0, BYTES);
	OK(copy(block, there, BYTES, stream));
	CHECK(holds(block, BYTES, seed));
	OK(cuStreamDestroy_v2(stream));
}

static void check_reading(read_fn *read)
{
	char sent[64], got[64] = { 0 };

	for (unsigned seed = 1; seed < 5; seed++) {
		fill(sent, sizeof(sent), seed);
		OK(cuMemcpyHtoD_v2(there, sent, sizeof(sent)));
		OK(read(there, got, sizeof(got)));
		CHECK(holds(got, sizeof(got), seed));
	}
}

static void check_not_pinned_any_more(char *block)
{
	CHECK_EQ(standin_pinned(block), 0);
	for (int i = 0; i < COPIES; i++)
		OK(cuMemcpyHtoD_v2(there, block, BYTES));
	CHECK_EQ(standin_pinned(block), 0);
}

/* A runtime looks up every function, so a look-up changes nothing. */
TEST_AFTER_WITH(a_copy_by_name, begin(), EXTRA)
{
	char *block = promoted(BYTES), *freed = promoted(2 * BYTES);
	copy_fn *copy = (copy_fn *)resolve("cuStandinCopyThing");

	CHECK_EQ(standin_pinned(block) != 0, preloaded());
	free(freed);
	check_copy(copy, block, 7);
	check_not_pinned_any_more(block);
	freed = malloc(2 * BYTES);
	CHECK_EQ(standin_pinned(freed), 0);
	check_copy(copy, block, 8);
}

TEST_AFTER_WITH(a_name_of_no_copy, begin(), EXTRA)
{
	char *block = promoted(BYTES);
	read_fn *read = (read_fn *)resolve("cuStandinUnknownThing");

	CHECK(read == function_of("libcuda.so.1", "cuStandinUnknownThing"));
	CHECK(preload_is_in((void *)read, preloaded() ? OURS : "libcuda.so.1"));
	check_reading(read);
	CHECK_EQ(standin_pinned(block) != 0, preloaded());
}

/*
 * Captures two copies twice.  The graph uploads what the block holds when it is launched, and the
 * download is part of it.
 */
static void check_captures(capture_fn *capture, char *block)
{
	static char got[BYTES];
	CUstream stream;
	CUgraph graph;
	CUgraphExec exec;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (unsigned seed = 3; seed < 5; seed++) {
		OK(capture(stream));
		OK(cuMemcpyHtoDAsync_v2(there, block, 64 * KIB, stream));
		OK(cuMemcpyDtoHAsync_v2(got, there, BYTES, stream));
		OK(cuStreamEndCapture(stream, &graph));
		OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
		fill(block, BYTES, seed);
		OK(cuGraphLaunch(exec, stream));
		OK(cuStreamSynchronize(stream));
		CHECK(holds(got, 64 * KIB, seed));
		OK(cuGraphExecDestroy(exec));
		OK(cuGraphDestroy(graph));
	}
	OK(cuStreamDestroy_v2(stream));
}

TEST_AFTER_WITH(a_capture_by_name, begin(), EXTRA)
{
	char *block = promoted(BYTES);

	check_captures((capture_fn *)resolve("cuStandinBeginRecaptureThing"), block);
	check_not_pinned_any_more(block);
}

TEST_AFTER_WITH(a_capture_into_staging_memory, begin(), EXTRA, "HOTPIN_ROUTE=stage",
		"HOTPIN_THREADS=3")
{
	check_captures((capture_fn *)resolve("cuStandinBeginRecaptureThing"), promoted(BYTES));
}

/* Functions of CUDA 13.2, which hotpin knows by name. */
static CUresult copy_with_attributes(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	CUresult (*copy)(CUdeviceptr, CUdeviceptr, size_t, CUmemcpyAttributes *, CUstream) =
		(__typeof__(copy))dlsym(dlopen("libcuda.so.1", RTLD_NOW),
					"cuMemcpyWithAttributesAsync");
	CUmemcpyAttributes attributes = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };

	return copy((CUdeviceptr)to, from, bytes, &attributes, stream);
}

static CUresult copy_box(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	CUresult (*copy)(CUDA_MEMCPY3D_BATCH_OP *, unsigned long long, CUstream) =
		(__typeof__(copy))dlsym(dlopen("libcuda.so.1", RTLD_NOW),
					"cuMemcpy3DWithAttributesAsync");
	CUDA_MEMCPY3D_BATCH_OP box = {
		.src = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr.ptr = from },
		.dst = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr.ptr = (CUdeviceptr)to },
		.extent = { bytes, 1, 1 },
		.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
	};

	return copy(&box, 0, stream);
}

TEST_AFTER(copies_with_attributes, begin())
{
	char *block = promoted(BYTES);

	check_copy(copy_with_attributes, block, 7);
	check_copy(copy_box, block, 8);
	CHECK_EQ(standin_pinned(block) != 0, preloaded());
}

static void use_up(void)
{
	char name[64];

	for (int i = 0; i < STUBS; i++) {
		snprintf(name, sizeof(name), "cuStandinOther%d", i);
		CHECK(resolve(name) != NULL);
	}
}

/* hotpin does not see the calls. */
TEST_AFTER_WITH(a_copy_without_a_stub, begin(), EXTRA)
{
	char *block = promoted(BYTES);

	use_up();
	CHECK_EQ(standin_pinned(block) != 0, preloaded());
	copy_fn *copy = (copy_fn *)resolve("cuStandinCopyThing");
	CHECK(!preload_is_in((void *)copy, OURS));
	check_copy(copy, block, 7);
	check_not_pinned_any_more(block);
}

TEST_AFTER_WITH(no_copy_without_a_stub, begin(), EXTRA)
{
	use_up();
	check_reading((read_fn *)resolve("cuStandinUnknownThing"));
}

TEST(a_copy_that_is_linked)
{
	copy_fn *copy = (copy_fn *)function_of("liblinks_copy.so", "links_copy");

	begin();
	char *block = malloc(BYTES);
	fill(block, BYTES, 1);
	check_not_pinned_any_more(block);
	check_copy(copy, block, 7);
}

TEST_AFTER(a_copy_that_is_linked_later, begin())
{
	char *block = promoted(BYTES);

	check_copy((copy_fn *)function_of("liblinks_copy.so", "links_copy"), block, 7);
	check_not_pinned_any_more(block);
}

TEST(no_copy_that_is_linked)
{
	read_fn *read = (read_fn *)function_of("liblinks_read.so", "links_read");

	begin();
	check_reading(read);
	promoted(BYTES);
}

TEST_AFTER(a_capture_that_is_linked_later, begin())
{
	char *block = promoted(BYTES);

	check_captures((capture_fn *)function_of("liblinks_capture.so", "links_capture"), block);
}

CASE(no_copy_that_is_linked_later, begin();
     check_reading((read_fn *)function_of("liblinks_read.so", "links_read")))

/* A library that is used without dlsym(): the next call of the driver sees it. */
TEST_AFTER(a_copy_that_is_linked_and_called, begin())
{
	char *block = promoted(BYTES);

	CHECK(dlopen("liblinks_copy.so", RTLD_NOW) != NULL);
	CHECK_EQ(standin_pinned(block) != 0, preloaded());
	OK(cuCtxSynchronize());
	CHECK_EQ(standin_pinned(block), 0);
}

PRELOAD_MAIN()
