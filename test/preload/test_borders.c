/*
 * test_borders.c - copies that leave a promoted block: into its neighbour, promoted or not, by
 * one run of bytes or by rows.
 *
 * The driver refuses an asynchronous range that is pinned in part (INVALID_VALUE); to the program
 * all of it is one pageable range.
 */
#include "promote.h"

#include <pthread.h>

/* A multiple of what blocks are dealt in, less the space that keeps their starts apart. */
#define ROOM  (2 * MIB)
#define BYTES (ROOM - 64 * KIB)

static char *low, *high;

/* Two blocks side by side, [low, low + span) and on; the lower and the upper one heated or not. */
static void make_neighbours(bool heat_low, bool heat_high)
{
	static char *blocks[64];

	begin();
	if (!preloaded()) {
		/* Natively one allocation stands for both. */
		low = calloc(2, ROOM);
		high = low + ROOM;
		return;
	}
	for (int i = 0; i < 64; i++)
		blocks[i] = calloc(1, BYTES);
	for (int i = 0; i < 64 && low == NULL; i++)
		for (int at = 0; at < 64; at++)
			if (blocks[at] - blocks[i] > 0 &&
			    blocks[at] - blocks[i] < (ptrdiff_t)(ROOM + 64 * KIB)) {
				low = blocks[i];
				high = blocks[at];
			}
	if (!CHECK(low != NULL))
		return;
	if (heat_low)
		CHECK(heat(low, BYTES));
	if (heat_high)
		CHECK(heat(high, BYTES));
	CHECK_EQ(standin_pinned(low) != 0, heat_low);
	CHECK_EQ(standin_pinned(high) != 0, heat_high);
}

/* Both ways, synchronous and not, from the middle of the one to the middle of the other. */
static void copy_across(void)
{
	CUstream stream;
	char *from = low + ROOM / 2;
	size_t bytes = ROOM;

	if (low == NULL)
		return;
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	fill(from, bytes, 7);
	OK(cuMemcpyHtoD_v2(there, from, bytes));
	CHECK(device_holds(there, bytes, 7));
	fill(from, bytes, 8);
	OK(cuMemcpyHtoDAsync_v2(there, from, bytes, stream));
	memset(from, 0, bytes);
	CHECK(device_holds(there, bytes, 8));
	OK(cuMemcpyDtoH_v2(from, there, bytes));
	CHECK(holds(from, bytes, 8));
	/* They are cut: unpinning the block first would wait for every kernel. */
	CHECK_EQ(standin_calls("cuMemHostUnregister"), 0);
	memset(from, 0, bytes);
	OK(cuMemcpyDtoHAsync_v2(from, there, bytes, stream));
	CHECK(holds(from, bytes, 8));
	memset(from, 0, bytes);
	OK(cuMemcpyAsync((CUdeviceptr)from, there, bytes, stream));
	CHECK(holds(from, bytes, 8));
	OK(cuMemcpy(there + bytes, (CUdeviceptr)from, bytes));
	CHECK(device_holds(there + bytes, bytes, 8));
}

TEST(out_of_a_promoted_block)
{
	make_neighbours(true, false);
	copy_across();
}

TEST(into_a_promoted_block)
{
	make_neighbours(false, true);
	copy_across();
}

TEST(from_one_promoted_block_to_the_next)
{
	make_neighbours(true, true);
	copy_across();
}

/* Both sides are the host's: the one lies in its block, the other leaves its own. */
TEST(from_a_promoted_block_onto_a_border)
{
	CUstream stream;

	make_neighbours(true, true);
	char *block = promoted(ROOM), *to = low + ROOM / 2;
	if (low == NULL)
		return;
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	fill(block, ROOM, 7);
	OK(cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)block, ROOM, stream));
	OK(cuStreamSynchronize(stream));
	CHECK(holds(to, ROOM, 7));
	CHECK_EQ(standin_calls("cuMemHostUnregister"), 0);
}

TEST(between_blocks_that_are_not)
{
	make_neighbours(false, false);
	copy_across();
}

/* Out of a promoted block's end into memory that is registered by the program. */
TEST(out_of_a_promoted_block_into_a_registered_one)
{
	make_neighbours(true, false);
	if (!preloaded() || low == NULL)
		CHECK_SKIP("there are no neighbours");
	OK(cuMemHostRegister_v2(high, MIB, 0));
	fill(low + ROOM / 2, ROOM / 2 + 1000, 9);
	OK(cuMemcpyHtoD_v2(there, low + ROOM / 2, ROOM / 2 + 1000));
	CHECK(device_holds(there, ROOM / 2 + 1000, 9));
	OK(cuMemHostUnregister(high));
}

/* A box of rows: `rows` of `width` bytes, `pitch` apart on the host, packed on the device. */
static CUDA_MEMCPY2D box_of(char *host, size_t pitch, size_t width, size_t rows, bool to_device)
{
	CUDA_MEMCPY2D box = { .WidthInBytes = width, .Height = rows };

	if (to_device) {
		box.srcMemoryType = CU_MEMORYTYPE_HOST;
		box.srcHost = host;
		box.srcPitch = pitch;
		box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
		box.dstDevice = there;
		box.dstPitch = width;
	} else {
		box.dstMemoryType = CU_MEMORYTYPE_HOST;
		box.dstHost = host;
		box.dstPitch = pitch;
		box.srcMemoryType = CU_MEMORYTYPE_DEVICE;
		box.srcDevice = there;
		box.srcPitch = width;
	}
	return box;
}

static CUresult run_2d(const CUDA_MEMCPY2D *box, int way, CUstream stream)
{
	return way == 0   ? cuMemcpy2D_v2(box)
	       : way == 1 ? cuMemcpy2DUnaligned_v2(box)
			  : cuMemcpy2DAsync_v2(box, stream);
}

static CUresult run_3d(const CUDA_MEMCPY2D *flat, int way, CUstream stream)
{
	CUDA_MEMCPY3D box = { .srcMemoryType = flat->srcMemoryType,
			      .srcHost = flat->srcHost,
			      .srcDevice = flat->srcDevice,
			      .srcPitch = flat->srcPitch,
			      .dstMemoryType = flat->dstMemoryType,
			      .dstHost = flat->dstHost,
			      .dstDevice = flat->dstDevice,
			      .dstPitch = flat->dstPitch,
			      .WidthInBytes = flat->WidthInBytes,
			      .Height = flat->Height / 4,
			      .Depth = 4 };

	box.srcHeight = box.dstHeight = box.Height;
	return way == 3 ? cuMemcpy3D_v2(&box) : cuMemcpy3DAsync_v2(&box, stream);
}

/* Every shaped function: 256 rows of 1000 bytes, 4000 apart, from `host` on and back again. */
static void shaped(char *host)
{
	size_t width = 1000, pitch = 4000, rows = 256;
	CUstream stream;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int way = 0; way < 5 && host != NULL; way++) {
		CUDA_MEMCPY2D up = box_of(host, pitch, width, rows, true);
		CUDA_MEMCPY2D down = box_of(host, pitch, width, rows, false);
		bool right = true;

		for (size_t y = 0; y < rows; y++)
			memset(host + y * pitch, (int)(y + (size_t)way + 1), pitch);
		OK(way < 3 ? run_2d(&up, way, stream) : run_3d(&up, way, stream));
		memset(host, 0, pitch * rows);
		OK(cuCtxSynchronize());
		OK(way < 3 ? run_2d(&down, way, stream) : run_3d(&down, way, stream));
		for (size_t y = 0; y < rows; y++)
			for (size_t x = 0; x < pitch; x++)
				right = right &&
					host[y * pitch + x] ==
						(x < width ? (char)(y + (size_t)way + 1) : 0);
		if (!CHECK(right))
			printf("# way %d\n", way);
	}
}

TEST(rows_inside)
{
	make_neighbours(true, false);
	shaped(low);
}

TEST(rows_that_leave_a_promoted_block)
{
	make_neighbours(true, false);
	shaped(low != NULL ? high - 500000 : NULL);
}

TEST(rows_that_enter_a_promoted_block)
{
	make_neighbours(false, true);
	shaped(low != NULL ? high - 500000 : NULL);
}

TEST(rows_across_two_promoted_blocks)
{
	make_neighbours(true, true);
	shaped(low != NULL ? high - 500000 : NULL);
}

static _Atomic bool has_come_back;

/* While the main thread's copy is held in the driver. */
static void *heat_low(void *unused)
{
	OK(cuCtxSetCurrent(context));
	WAIT_FOR(standin_held() == 1 || has_come_back);
	for (int i = 0; i < 20; i++)
		heat(low, BYTES);
	standin_release();
	return unused;
}

/*
 * Another thread has the lower block pinned after the library has looked, before the driver does.
 */
static void across_meanwhile(const char *name,
			     CUresult (*copy)(char *to, CUdeviceptr from, size_t bytes))
{
	char *to;
	size_t wrong = 0;
	pthread_t thread;

	make_neighbours(false, false);
	if (low == NULL)
		return;
	to = low + ROOM / 2;
	OK(cuMemsetD8_v2(there + 32 * MIB, 7, ROOM));
	standin_hold(name, STANDIN_AT_CALL, 0);
	pthread_create(&thread, NULL, heat_low, NULL);
	OK(copy(to, there + 32 * MIB, ROOM));
	has_come_back = true;
	OK(cuCtxSynchronize());
	pthread_join(thread, NULL);
	for (size_t i = 0; i < ROOM; i++)
		wrong += to[i] != 7;
	CHECK_EQ(wrong, 0);
}

static CUresult copy_by_itself(char *to, CUdeviceptr from, size_t bytes)
{
	return cuMemcpyDtoH_v2(to, from, bytes);
}

static CUresult copy_in_a_batch(char *to, CUdeviceptr from, size_t bytes)
{
	CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	CUdeviceptr target = (CUdeviceptr)to;
	size_t index = 0;
	CUstream stream;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	return cuMemcpyBatchAsync_v2(&target, &from, &bytes, 1, &how, &index, 1, stream);
}

TEST(while_a_block_is_pinned)
{
	across_meanwhile("cuMemcpyDtoH", copy_by_itself);
}

TEST(in_a_batch_while_a_block_is_pinned)
{
	across_meanwhile("cuMemcpyBatchAsync", copy_in_a_batch);
}

PRELOAD_MAIN()
