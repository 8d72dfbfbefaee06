/*
 * test_arrays.c - copies of arrays, batches and peers, by every driver function: the bytes, when
 * they are complete, and the counts.
 *
 * For batches the stand-in requires what cuda.h states.  That pageable copies of a batch are
 * complete on return is known only of single copies; the stand-in does the same for batches.
 */
#include "copies.h"

#define SIDE  ((size_t)512) /* elements of a row, of four bytes each, and rows */
#define BYTES (SIDE * SIDE * 4)

static char in_data[BYTES] = { 1 };
static CUstream stream;
static CUarray array;

static void set_up(void)
{
	CUDA_ARRAY_DESCRIPTOR about = { SIDE, SIDE, CU_AD_FORMAT_UNSIGNED_INT32, 1 };

	begin();
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuArrayCreate_v2(&array, &about));
}

/* cuda.h: pitch and height of an array's side are ignored. */
static CUDA_MEMCPY2D box_between(CUmemorytype from, CUmemorytype to, void *host)
{
	return (CUDA_MEMCPY2D){ .srcMemoryType = from,
				.srcHost = host,
				.srcArray = array,
				.srcPitch = from == CU_MEMORYTYPE_ARRAY ? 1 : SIDE * 4,
				.dstMemoryType = to,
				.dstHost = host,
				.dstArray = array,
				.dstPitch = to == CU_MEMORYTYPE_ARRAY ? 1 : SIDE * 4,
				.WidthInBytes = SIDE * 4,
				.Height = SIDE };
}

TEST_AFTER(a_pitch_that_is_ignored, set_up())
{
	char *block = promoted(4 * MIB);
	CUDA_MEMCPY2D up_box = box_between(CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_ARRAY, block);
	CUDA_MEMCPY2D down_box = box_between(CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_HOST, block);

	/* The source may be overwritten at once, and the destination is complete. */
	fill(block, BYTES, 7);
	OK(cuMemcpy2DAsync_v2(&up_box, stream));
	memset(block, 0, BYTES);
	OK(cuStreamSynchronize(stream));
	OK(cuMemcpy2DAsync_v2(&down_box, stream));
	CHECK(holds(block, BYTES, 7));
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

/* Copies before the refused one are complete on return. */
TEST_AFTER(a_batch_that_fails_promoted, set_up())
{
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

/* A batch uploads from one pinned block and downloads into another. */
TEST_AFTER(a_batch_of_both_directions_promoted, set_up())
{
	char *from_block = promoted(MIB), *to_block = promoted(MIB);
	for (int entry = 0; entry < 4; entry++) {
		CUdeviceptr to[3] = { there, (CUdeviceptr)to_block, there + 4 * MIB };
		CUdeviceptr from[3] = { (CUdeviceptr)from_block, there + 8 * MIB,
					(CUdeviceptr)in_data };
		size_t sizes[3] = { 256 * KIB, 300 * KIB, 4 * KIB };

		fill(in_data, MIB, 50 + (unsigned)entry);
		fill(from_block, MIB, 30 + (unsigned)entry);
		fill(standin_host(there + 8 * MIB), MIB, 40 + (unsigned)entry);
		OK(batch(entry, to, from, sizes, 3));
		memset(from_block, 0, MIB);
		CHECK(holds(to_block, 300 * KIB, 40 + (unsigned)entry));
		CHECK(device_holds(there, 256 * KIB, 30 + (unsigned)entry));
		CHECK(device_holds(there + 4 * MIB, 4 * KIB, 50 + (unsigned)entry));
	}
}

/* More attributes than copies are refused, and never read. */
TEST_AFTER(a_batch_of_more_kinds_than_copies, set_up())
{
	char *block = promoted(8 * MIB), *end = block + malloc_usable_size(block);
	CUdeviceptr to = there, from = (CUdeviceptr)end - 64 * KIB;
	CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	size_t bytes = 128 * KIB, index = 0;

	CHECK_EQ(cuMemcpyBatchAsync_v2(&to, &from, &bytes, 1, &how, &index, SIZE_MAX / 8, stream),
		 CUDA_ERROR_INVALID_VALUE);
}

/* Copies between contexts, and within one; a block of ours is no device memory. */
TEST_AFTER(peers, set_up())
{
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

/* Every call moves so many bytes, in each direction that it has. */
enum { UP_BYTES = 1000, DOWN_BYTES = 2000 };

static bool has_direction(const struct copy_call *call, bool up)
{
	return (call->traits & (up ? COPY_UPLOADS : COPY_DOWNLOADS)) != 0;
}

TEST_AFTER(some_of_each, set_up())
{
	for (size_t i = 0; i < copy_calls_count * 2; i++) {
		const struct copy_call *call = &copy_calls[i / 2];
		size_t bytes = i % 2 ? UP_BYTES : DOWN_BYTES;
		struct copy_side side = { .pitch = bytes, .height = 1 };
		struct copy copy = { .call = call,
				     .to_device = i % 2,
				     .box = { bytes, 1, 1, side, side },
				     .host = in_data,
				     .device = there,
				     .array = (call->traits & COPY_ARRAY) != 0 ? array : NULL,
				     .stream = stream };

		if (has_direction(call, i % 2) && !CHECK_EQ(call->run(&copy), CUDA_SUCCESS))
			printf("# %s\n", call->name);
	}
	OK(cuCtxSynchronize());
}

/* Returns the bytes of a direction's rows before `end`. */
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

	int status = preload_profile("HOTPIN=1 HOTPIN_PROFILE=summary", "--child some_of_each",
				     text, sizeof(text));
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == CHECK_REACHED_ITS_END);
	const char *from = strstr(text, "\"transfers\""), *to = strstr(text, "\"coverage\"");
	long up = 0, down = 0;
	for (size_t i = 0; i < copy_calls_count; i++) {
		up += has_direction(&copy_calls[i], true) ? UP_BYTES : 0;
		down += has_direction(&copy_calls[i], false) ? DOWN_BYTES : 0;
	}
	CHECK_EQ(bytes_of(from, to, "\"h2d\""), up);
	CHECK_EQ(bytes_of(from, to, "\"d2h\""), down);
}

PRELOAD_MAIN()
