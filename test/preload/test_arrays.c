/*
 * test_arrays.c - arrays, batches and peers, by every entry point: the bytes, when they are there,
 * and what is counted.
 *
 * Of a batch the stand-in asks what cuda.h says; that its pageable copies are over on return is
 * known of single copies only, and kept for all.
 */
#include "promote.h"

#include <sys/mman.h>
#include <unistd.h>

#define SIDE  ((size_t)512) /* elements of four bytes a row, and rows */
#define BYTES (SIDE * SIDE * 4)

static char in_data[BYTES] = { 1 }, more_data[BYTES] = { 1 };
static CUstream stream;
static CUarray array;

static void set_up(void)
{
	CUDA_ARRAY_DESCRIPTOR about = { SIDE, SIDE, CU_AD_FORMAT_UNSIGNED_INT32, 1 };

	begin();
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuArrayCreate_v2(&array, &about));
}

static CUresult up(int entry, size_t offset, const void *from, size_t bytes)
{
	return entry == 0   ? cuMemcpyHtoA_v2(array, offset, from, bytes)
	       : entry == 1 ? cuMemcpyHtoA_v2_ptds(array, offset, from, bytes)
	       : entry == 2 ? cuMemcpyHtoAAsync_v2(array, offset, from, bytes, stream)
			    : cuMemcpyHtoAAsync_v2_ptsz(array, offset, from, bytes, NULL);
}

static CUresult down(int entry, void *to, size_t offset, size_t bytes)
{
	return entry == 0   ? cuMemcpyAtoH_v2(to, array, offset, bytes)
	       : entry == 1 ? cuMemcpyAtoH_v2_ptds(to, array, offset, bytes)
	       : entry == 2 ? cuMemcpyAtoHAsync_v2(to, array, offset, bytes, stream)
			    : cuMemcpyAtoHAsync_v2_ptsz(to, array, offset, bytes, NULL);
}

/* Sources are free, and data is there, when the call returns; from and to `block`. */
static void runs_of_an_array(char *block)
{
	static const size_t sizes[] = { 1, 4096, 16 * KIB, 16 * KIB + 1, 300 * KIB + 5, BYTES };
	static char back[BYTES];

	for (int entry = 0; entry < 4; entry++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			size_t bytes = sizes[i], offset = (BYTES - bytes) / 2;

			fill(block, bytes, (unsigned)i + 1);
			OK(up(entry, offset, block, bytes));
			memset(block, 0x55, bytes);
			OK(cuCtxSynchronize());
			OK(down(entry, back, offset, bytes));
			CHECK(holds(back, bytes, (unsigned)i + 1));
			OK(down(entry, block, offset, bytes));
			CHECK(holds(block, bytes, (unsigned)i + 1));
		}
	CHECK_EQ(up(0, BYTES - 4, block, 8), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(down(2, block, 4, BYTES), CUDA_ERROR_INVALID_VALUE);
}

TEST(runs_static)
{
	set_up();
	runs_of_an_array(in_data);
}

TEST_WITH(runs_forced, "HOTPIN_ROUTE=stage", "HOTPIN_THREADS=2", "HOTPIN_HEAP_MIN=0")
{
	set_up();
	runs_of_an_array(in_data);
}

TEST(runs_promoted)
{
	set_up();
	runs_of_an_array(promoted(BYTES));
}

/* Boxes with an array on the other side. */
static void boxes_of_an_array(char *block)
{
	CUDA_MEMCPY3D into = { .srcXInBytes = 8,
			       .srcY = 1,
			       .srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcHost = block,
			       .srcPitch = 1100,
			       .srcHeight = 300,
			       .dstXInBytes = 16,
			       .dstY = 5,
			       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			       .dstArray = array,
			       .dstDevice = there, /* not read, nor are pitch and height */
			       .dstPitch = 2048,
			       .dstHeight = 512,
			       .WidthInBytes = 1000,
			       .Height = 250,
			       .Depth = 1 };
	CUDA_MEMCPY3D out = { .srcXInBytes = 16,
			      .srcY = 5,
			      .srcMemoryType = CU_MEMORYTYPE_ARRAY,
			      .srcArray = array,
			      .srcDevice = there + 32 * MIB,
			      .srcPitch = 2048,
			      .srcHeight = 512,
			      .dstMemoryType = CU_MEMORYTYPE_HOST,
			      .dstHost = block,
			      .dstPitch = 1008,
			      .dstHeight = 250,
			      .WidthInBytes = 1000,
			      .Height = 250,
			      .Depth = 1 };
	static char before[BYTES];

	for (int async = 0; async < 2; async++) {
		fill(block, BYTES, 7);
		memcpy(before, block, BYTES);
		OK(async ? cuMemcpy3DAsync_v2(&into, stream) : cuMemcpy3D_v2(&into));
		memset(block, 0, BYTES);
		OK(cuCtxSynchronize());
		OK(async ? cuMemcpy3DAsync_v2(&out, stream) : cuMemcpy3D_v2(&out));
		for (size_t row = 0; row < 250; row++)
			CHECK(memcmp(block + row * 1008, before + 8 + (row + 1) * 1100, 1000) == 0);
	}
}

TEST(boxes_static)
{
	set_up();
	boxes_of_an_array(in_data);
}

TEST_WITH(boxes_forced, "HOTPIN_ROUTE=stage", "HOTPIN_THREADS=2", "HOTPIN_HEAP_MIN=0")
{
	set_up();
	boxes_of_an_array(in_data);
}

TEST(boxes_promoted)
{
	set_up();
	boxes_of_an_array(promoted(BYTES));
}

static CUresult batch(int entry, CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count)
{
	CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	size_t first = 0, failed;

	return entry == 0   ? cuMemcpyBatchAsync(to, from, sizes, count, &how, &first, 1, &failed,
						 stream)
	       : entry == 1 ? cuMemcpyBatchAsync_ptsz(to, from, sizes, count, &how, &first, 1,
						      &failed, stream)
	       : entry == 2 ? cuMemcpyBatchAsync_v2(to, from, sizes, count, &how, &first, 1, stream)
			    : cuMemcpyBatchAsync_v2_ptsz(to, from, sizes, count, &how, &first, 1,
							 stream);
}

static void batches_of(char *block)
{
	for (int entry = 0; entry < 4; entry++) {
		CUdeviceptr here = (CUdeviceptr)block, data = (CUdeviceptr)in_data;
		CUdeviceptr to[3] = { there, there + 4 * MIB, there + 8 * MIB };
		CUdeviceptr from[3] = { here, here + 512 * KIB, data };
		CUdeviceptr back[3] = { here, here + 512 * KIB, data };
		size_t sizes[3] = { 100, 200 * KIB, 300 * KIB };

		fill(block, MIB, 3);
		fill(in_data, MIB, 4);
		OK(batch(entry, to, from, sizes, 3));
		memset(block, 0, MIB);
		OK(cuCtxSynchronize());
		CHECK(device_holds(there, 100, 3));
		CHECK(device_holds(there + 8 * MIB, 300 * KIB, 4));
		memset(in_data, 0, MIB);
		OK(batch(entry, back, to, sizes, 3));
		/* Down into what the program takes for pageable memory: there on return. */
		CHECK(holds(block, 100, 3));
		CHECK(holds_from(block + 512 * KIB, 512 * KIB, 200 * KIB, 3));
		CHECK(holds(in_data, 300 * KIB, 4));
	}
}

TEST(batches)
{
	set_up();
	batches_of(more_data);
}

TEST(batches_promoted)
{
	set_up();
	batches_of(promoted(MIB));
}

/* What came before the copy that the driver refuses has been taken in on return. */
TEST(a_batch_that_fails_promoted)
{
	set_up();
	char *block = promoted(MIB);
	for (int entry = 0; entry < 4; entry++) {
		CUdeviceptr to[2] = { there, there + 64 * MIB - 1 },
			    from[2] = { (CUdeviceptr)block, (CUdeviceptr)block };
		size_t sizes[2] = { 256 * KIB, 4 * KIB };

		fill(block, MIB, 20 + (unsigned)entry);
		CHECK_EQ(batch(entry, to, from, sizes, 2), CUDA_ERROR_INVALID_VALUE);
		memset(block, 0, MIB);
		CHECK(device_holds(there, 256 * KIB, 20 + (unsigned)entry));
	}
}

/* From one block on into the next: natively all of that is pageable memory. */
TEST(batch_across_a_border)
{
	set_up();
	for (int entry = 0; entry < 4; entry++) {
		char *block = promoted(8 * MIB), *end = block + malloc_usable_size(block);
		char *beside = mmap(end, MIB, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		size_t sizes[2] = { 64 * KIB + 512, MIB };
		CUdeviceptr to[2] = { there, there + MIB };
		CUdeviceptr from[2] = { (CUdeviceptr)end - 64 * KIB, (CUdeviceptr)block };

		printf("# %s\n", beside == end ? "mapped beside" : "something is there already");
		fill(block, 8 * MIB, 9);
		OK(batch(entry, to, from, sizes, 2));
		OK(cuCtxSynchronize());
		/* What lies behind it may be somebody's who goes on writing. */
		CHECK(memcmp(standin_host(there), end - 64 * KIB,
			     beside == end ? sizes[0] : 64 * KIB) == 0);
		CHECK(memcmp(standin_host(there + MIB), block, MIB) == 0);
		if (beside == end)
			munmap(beside, MIB);
		free(block);
	}
}

/* More kinds than copies are refused, and nobody reads that many. */
TEST(a_batch_of_more_kinds_than_copies)
{
	set_up();
	char *block = promoted(8 * MIB), *end = block + malloc_usable_size(block);
	CUdeviceptr to = there, from = (CUdeviceptr)end - 64 * KIB;
	CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	size_t bytes = 128 * KIB, index = 0;

	CHECK_EQ(cuMemcpyBatchAsync_v2(&to, &from, &bytes, 1, &how, &index, SIZE_MAX / 8, stream),
		 CUDA_ERROR_INVALID_VALUE);
}

static CUresult boxes(int entry, CUDA_MEMCPY3D_BATCH_OP *all, size_t count)
{
	size_t failed;

	return entry == 0   ? cuMemcpy3DBatchAsync(count, all, &failed, 0, stream)
	       : entry == 1 ? cuMemcpy3DBatchAsync_ptsz(count, all, &failed, 0, stream)
	       : entry == 2 ? cuMemcpy3DBatchAsync_v2(count, all, 0, stream)
			    : cuMemcpy3DBatchAsync_v2_ptsz(count, all, 0, stream);
}

static void batches_of_boxes(char *block)
{
	CUmemcpy3DOperand host = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER,
				   .op.ptr = { .ptr = (CUdeviceptr)block, .rowLength = 256 } };
	CUmemcpy3DOperand words = host, device = host;
	CUmemcpy3DOperand in_array = { .type = CU_MEMCPY_OPERAND_TYPE_ARRAY,
				       .op.array = { .array = array, .offset = { 4, 5, 0 } } };
	static char before[MIB];

	device.op.ptr.ptr = there;
	device.op.ptr.rowLength = 0;
	words.op.ptr.ptr += 512 * KIB;
	words.op.ptr.rowLength = 200;
	for (int entry = 0; entry < 4; entry++) {
		CUDA_MEMCPY3D_BATCH_OP to[2] = {
			{ .src = host, .dst = device, .extent = { 200, 100, 3 } },
			{ .src = words, .dst = in_array, .extent = { 200, 100, 1 } },
		};
		CUDA_MEMCPY3D_BATCH_OP back[2] = {
			{ .src = device, .dst = host, .extent = { 200, 100, 3 } },
			{ .src = in_array, .dst = words, .extent = { 200, 100, 1 } },
		};

		fill(block, MIB, 20 + (unsigned)entry);
		memcpy(before, block, MIB);
		OK(boxes(entry, to, 2));
		memset(block, 0, MIB);
		OK(cuCtxSynchronize());
		OK(boxes(entry, back, 2));
		for (size_t row = 0; row < 300; row++)
			CHECK(memcmp(block + row * 256, before + row * 256, 200) == 0);
		CHECK(memcmp(block + 512 * KIB, before + 512 * KIB, 80000) == 0);
	}
}

TEST(boxes_in_batches)
{
	set_up();
	batches_of_boxes(in_data);
}

TEST(boxes_in_batches_promoted)
{
	set_up();
	batches_of_boxes(promoted(MIB));
}

/* Between contexts, and to itself; what is ours is no device's memory. */
TEST(peers)
{
	set_up();
	char *block = promoted(MIB);
	fill(in_data, MIB, 6);
	OK(cuMemcpyHtoD_v2(there, in_data, MIB));
	OK(cuMemcpyPeer(there + 8 * MIB, context, there, context, MIB));
	OK(cuMemcpyPeerAsync(there + 16 * MIB, context, there, context, MIB, stream));
	OK(cuMemcpyPeer_ptds(there + 24 * MIB, context, there, context, MIB));
	OK(cuMemcpyPeerAsync_ptsz(there + 32 * MIB, context, there, context, MIB, NULL));
	OK(cuCtxSynchronize());
	for (size_t at = 8; at <= 32; at += 8)
		CHECK(device_holds(there + at * MIB, MIB, 6));
	fill(block, MIB, 8);
	CHECK_EQ(cuMemcpyPeer(there, context, (CUdeviceptr)block, context, MIB),
		 cuMemcpyPeer(there, context, (CUdeviceptr)in_data, context, MIB));
}

enum { UP_BYTES = 4 * 11000 + 400, DOWN_BYTES = 4 * 21000 + 800 };

/* So many bytes each way. */
TEST(some_of_each)
{
	set_up();
	for (int entry = 0; entry < 4; entry++) {
		CUdeviceptr to = there, from = (CUdeviceptr)in_data;
		size_t bytes = 1000;

		OK(up(entry, 0, in_data, 10000));
		OK(down(entry, in_data, 0, 20000));
		OK(batch(entry, &to, &from, &bytes, 1));
		OK(batch(entry, &from, &to, &bytes, 1));
	}
	CUmemcpy3DOperand host = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER,
				   .op.ptr = { .ptr = (CUdeviceptr)in_data } };
	CUmemcpy3DOperand in_array = { .type = CU_MEMCPY_OPERAND_TYPE_ARRAY,
				       .op.array = { .array = array } };
	CUDA_MEMCPY3D_BATCH_OP box = { .src = host, .dst = in_array, .extent = { 10, 10, 1 } };
	OK(boxes(0, &box, 1));
	box = (CUDA_MEMCPY3D_BATCH_OP){ .src = in_array, .dst = host, .extent = { 10, 20, 1 } };
	OK(boxes(2, &box, 1));
	OK(cuCtxSynchronize());
}

/* The bytes of a direction's rows before `end`. */
static long bytes_of(const char *text, const char *end, const char *direction)
{
	long bytes = 0;

	while ((text = strstr(text, direction)) != NULL && text < end) {
		text = strstr(text, "\"bytes\": ");
		bytes += atol(text + strlen("\"bytes\": "));
	}
	return bytes;
}

TEST(counted)
{
	static char text[1 << 18];
	const char *path = check_path("profile.json");
	int status;

	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		setenv("HOTPIN_PROFILE", "summary", 1);
		setenv("HOTPIN_CUPTI", "off", 1);
		setenv("HOTPIN_OUT", path, 1);
		dup2(open("/dev/null", O_WRONLY), 2);
		execl("/proc/self/exe", "/proc/self/exe", "--child", "some_of_each", NULL);
		_exit(127);
	}
	waitpid(child, &status, 0);
	CHECK_EQ(WEXITSTATUS(status), CHECK_REACHED_ITS_END);
	if (preloaded()) {
		FILE *file = fopen(path, "r");
		CHECK(file != NULL && fread(text, 1, sizeof(text) - 1, file) > 0);
		const char *from = strstr(text, "\"transfers\""),
			   *to = strstr(text, "\"coverage\"");
		CHECK_EQ(bytes_of(from, to, "\"h2d\""), UP_BYTES);
		CHECK_EQ(bytes_of(from, to, "\"d2h\""), DOWN_BYTES);
	}
}

PRELOAD_MAIN()
