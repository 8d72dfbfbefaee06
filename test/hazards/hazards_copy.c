/*
 * hazards_copy.c - rows 10 to 12: copies beyond the end of a block, copies that return early,
 * copies that become part of a graph.
 */
#include "thread.h"
#include "shapes.h"
#include "hazards.h"
#include "ptx.h"

#include <pthread.h>

enum rows_way { ALIGNED, UNALIGNED, BEHIND_WORK };

/*
 * The last row of a pitched box ends with its block: the gap after it would belong to another
 * block.  A side may be given by an address before the block and an offset into it.
 */
static void shaped(size_t width, size_t pitch, size_t rows, size_t offset_rows, enum rows_way way)
{
	size_t room = (rows - 1) * pitch + width;

	begin();
	char *block = hot(room);
	CUDA_MEMCPY2D up = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			     .srcHost = block - offset_rows * pitch,
			     .srcY = offset_rows,
			     .srcPitch = pitch,
			     .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			     .dstDevice = there,
			     .dstPitch = width,
			     .WidthInBytes = width,
			     .Height = rows };
	CUDA_MEMCPY2D down = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
			       .srcDevice = there,
			       .srcPitch = width,
			       .dstMemoryType = CU_MEMORYTYPE_HOST,
			       .dstHost = block - offset_rows * pitch,
			       .dstY = offset_rows,
			       .dstPitch = pitch,
			       .WidthInBytes = width,
			       .Height = rows };
	bool right = true;

	for (size_t y = 0; y < rows; y++)
		memset(block + y * pitch, (int)(y + 1), width);
	if (way == BEHIND_WORK)
		spin(stream, 5);
	OK(way == ALIGNED     ? cu.cuMemcpy2D_v2(&up)
	   : way == UNALIGNED ? cu.cuMemcpy2DUnaligned_v2(&up)
			      : cu.cuMemcpy2DAsync_v2(&up, stream));
	memset(block, 0, room);
	OK(cu.cuCtxSynchronize());
	if (way == BEHIND_WORK)
		spin(stream, 5);
	OK(way == ALIGNED     ? cu.cuMemcpy2D_v2(&down)
	   : way == UNALIGNED ? cu.cuMemcpy2DUnaligned_v2(&down)
			      : cu.cuMemcpy2DAsync_v2(&down, stream));
	for (size_t y = 0; y < rows && right; y++)
		for (size_t x = 0; x < (y + 1 < rows ? pitch : width) && right; x++)
			right = block[y * pitch + x] == (x < width ? (char)(y + 1) : 0);
	CHECK(right);
	CHECK_EQ(is_pinned(block), preloaded());
	free(block);
}

CASE(row10_rows, shaped(1000, 4000, 1000, 0, ALIGNED); shaped(4000, 4000, 1000, 0, ALIGNED))
CASE(row10_unaligned_rows, shaped(997, 3001, 1200, 0, UNALIGNED))
CASE(row10_rows_from_an_address_before_the_block, shaped(1000, 4000, 1000, 600, ALIGNED);
     shaped(1000, 4000, 1000, 600, BEHIND_WORK))
CASE(row10_rows_behind_work, shaped(1000, 4000, 1000, 0, BEHIND_WORK);
     shaped(2048, 8192, 500, 0, BEHIND_WORK))

/* The last slice is not followed by the gap that its height implies. */
static void boxed(bool asynchronous)
{
	const size_t width = 512, pitch = 1024, rows = 100, height = 128, slices = 20;
	const size_t room = ((slices - 1) * height + rows - 1) * pitch + width;

	begin();
	char *block = hot(room);
	CUDA_MEMCPY3D box = shape_box(in_device(there, width), rows, in_host(block, pitch), height,
				      width, rows, slices);
	bool right = true;

	for (size_t z = 0; z < slices; z++)
		for (size_t y = 0; y < rows; y++)
			memset(block + (z * height + y) * pitch, (int)(z * 7 + y + 1), width);
	if (asynchronous)
		spin(stream, 5);
	OK(asynchronous ? cu.cuMemcpy3DAsync_v2(&box, stream) : cu.cuMemcpy3D_v2(&box));
	memset(block, 0, room);
	OK(cu.cuCtxSynchronize());
	/* Packed on the device: one run of bytes, downloaded into the block's own rows. */
	OK(cu.cuMemcpyDtoH_v2(block, there, width * rows * slices));
	for (size_t i = 0; i < width * rows * slices && right; i++)
		right = block[i] == (char)(i / width / rows * 7 + i / width % rows + 1);
	CHECK(right);
	CHECK_EQ(is_pinned(block), preloaded());
	free(block);
}

CASE(row10_slices, boxed(false))
CASE(row10_slices_behind_work, boxed(true))

/* The program registers a part itself: the driver decides about copies across its boundary. */
TEST_AFTER(row10_across_a_registration_of_its_own, begin())
{
	char *block = hot(BYTES);

	OK(cu.cuMemHostRegister_v2(block, BYTES / 2, 0));
	fill(block, BYTES, 3);
	SEE("out of it, h2d", cu.cuMemcpyHtoD_v2(there, block + MIB, 2 * MIB));
	SEE("out of it, d2h", cu.cuMemcpyDtoH_v2(block + MIB, there, 2 * MIB));
	SEE("out of it, h2d async", cu.cuMemcpyHtoDAsync_v2(there, block + MIB, 2 * MIB, stream));
	SEE("out of it, d2h async", cu.cuMemcpyDtoHAsync_v2(block + MIB, there, 2 * MIB, stream));
	OK(cu.cuCtxSynchronize());
	OK(cu.cuMemHostUnregister(block));
	OK(cu.cuMemHostRegister_v2(block + BYTES / 2, BYTES / 2, 0));
	fill(block, BYTES, 4);
	SEE("into it, h2d", cu.cuMemcpyHtoD_v2(there, block, BYTES));
	SEE("into it, h2d async", cu.cuMemcpyHtoDAsync_v2(there, block, BYTES, stream));
	CHECK(device_holds(there, BYTES, 4));
	OK(cu.cuMemHostUnregister(block + BYTES / 2));
	agrees(block, BYTES);
	free(block);
}

enum way { LINEAR, EITHER, ROWS, BOX };

static CUresult copy_async(enum way way, CUdeviceptr dst, CUdeviceptr src, bool to_device,
			   size_t bytes, CUstream on)
{
	CUmemorytype from = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	CUmemorytype to = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	size_t rows = bytes % 4096 == 0 ? bytes / 4096 : 1, width = bytes / rows;
	CUDA_MEMCPY2D flat = { .srcMemoryType = from,
			       .srcHost = (void *)src,
			       .srcDevice = src,
			       .srcPitch = width,
			       .dstMemoryType = to,
			       .dstHost = (void *)dst,
			       .dstDevice = dst,
			       .dstPitch = width,
			       .WidthInBytes = width,
			       .Height = rows };
	CUDA_MEMCPY3D box = { .srcMemoryType = from,
			      .srcHost = (void *)src,
			      .srcDevice = src,
			      .srcPitch = width,
			      .srcHeight = rows,
			      .dstMemoryType = to,
			      .dstHost = (void *)dst,
			      .dstDevice = dst,
			      .dstPitch = width,
			      .dstHeight = rows,
			      .WidthInBytes = width,
			      .Height = rows,
			      .Depth = 1 };

	switch (way) {
	case LINEAR:
		return to_device ? cu.cuMemcpyHtoDAsync_v2(dst, (void *)src, bytes, on)
				 : cu.cuMemcpyDtoHAsync_v2((void *)dst, src, bytes, on);
	case EITHER:
		return cu.cuMemcpyAsync(dst, src, bytes, on);
	case ROWS:
		return cu.cuMemcpy2DAsync_v2(&flat, on);
	default:
		return cu.cuMemcpy3DAsync_v2(&box, on);
	}
}

static const size_t sizes[] = { 4,        64,        4 * KIB, 16 * KIB, 16 * KIB + 4,
				64 * KIB, 256 * KIB, MIB,     2 * MIB,  4 * MIB - 4,
				4 * MIB,  16 * MIB,  64 * MIB };
#define SIZES     (sizeof(sizes) / sizeof(sizes[0]))
#define SIZE_MOST (64 * MIB)

/* The largest size is used on one stream only, because it takes long. */
static size_t sizes_for(size_t which)
{
	return which == 2 ? SIZES : SIZES - 2;
}

static void streams_of(CUstream streams[4])
{
	streams[0] = NULL;
	streams[1] = CU_STREAM_PER_THREAD;
	streams[2] = stream;
	OK(cu.cuStreamCreate(&streams[3], CU_STREAM_DEFAULT));
}

/* Makes one copy on a stream; `number` differs from copy to copy.  True if its bytes are right. */
typedef bool (*copy_fn)(enum way way, char *block, size_t bytes, CUstream on, unsigned number);

/* Makes copies of all sizes, on each kind of stream. */
static void each_copy(enum way way, copy_fn copies)
{
	CUstream streams[4];

	begin();
	streams_of(streams);
	char *block = hot(SIZE_MOST);

	for (size_t s = 0; s < 4; s++)
		for (size_t i = 0; i < sizes_for(s) && check_failures == 0; i++)
			if (!CHECK(copies(way, block, sizes[i], streams[s],
					  (unsigned)(1 + s * SIZES + i))))
				printf("# stream %zu, %zu bytes\n", s, sizes[i]);
	CHECK_EQ(is_pinned(block), preloaded());
	OK(cu.cuStreamDestroy_v2(streams[3]));
	free(block);
}

/* Data that the device writes after the stream's work has arrived when the copy returns. */
static bool download_forms(enum way way, char *block, size_t bytes, CUstream on, unsigned number)
{
	OK(cu.cuMemsetD8_v2(there, 0, bytes));
	OK(cu.cuCtxSynchronize());
	memset(block, 0, bytes + (bytes < SIZE_MOST));
	spin(on, 4);
	OK(cu.cuMemsetD8Async(there, (unsigned char)number, bytes, on));
	OK(copy_async(way, (CUdeviceptr)block, there, false, bytes, on));
	return all_are(block, bytes, (char)number) && (bytes == SIZE_MOST || block[bytes] == 0);
}

static void read_at_once(enum way way)
{
	each_copy(way, download_forms);
}

/* Writes to the source after the copy's return do not reach the device. */
static bool upload_forms(enum way way, char *block, size_t bytes, CUstream on, unsigned number)
{
	fill(block, bytes, number);
	spin(on, 4);
	OK(copy_async(way, there, (CUdeviceptr)block, true, bytes, on));
	memset(block, 0, bytes);
	return device_holds(there, bytes, number);
}

static void overwritten_at_once(enum way way)
{
	each_copy(way, upload_forms);
}

/*
 * A copy to host memory is synchronous, and reads its source behind earlier work: a host function
 * that writes it.  Each way to name the other side.
 */
static char elsewhere[64 * KIB];

static void write_source(void *block)
{
	fill(block, BYTES, 9);
}

static CUresult copy_to_host(int form, char *to, char *from, size_t bytes)
{
	CUDA_MEMCPY2D rows = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
			       .srcDevice = (CUdeviceptr)from,
			       .srcPitch = bytes / 4,
			       .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
			       .dstDevice = (CUdeviceptr)to,
			       .dstPitch = bytes / 4,
			       .WidthInBytes = bytes / 4,
			       .Height = 4 };

	return form == 0   ? cu.cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream)
	       : form == 1 ? cu.cuMemcpy2DAsync_v2(&rows, stream)
			   : cu.cuMemcpyHtoDAsync_v2((CUdeviceptr)to, from, bytes, stream);
}

ALONE_AFTER(row11_source_written_before, begin())
{
	char *block = hot(BYTES);
	void *own = NULL;

	OK(cu.cuMemHostAlloc(&own, sizeof(elsewhere), 0));
	for (int form = 0; form < 3; form++)
		for (size_t bytes = 4 * KIB; bytes <= sizeof(elsewhere); bytes *= 4) {
			/* A device address must be one to the driver. */
			char *to = form == 2 ? own : elsewhere;

			fill(block, BYTES, 1);
			spin(stream, 4);
			OK(cu.cuLaunchHostFunc(stream, write_source, block));
			OK(copy_to_host(form, to, block, bytes));
			CHECK(holds(to, bytes, 9));
		}
	OK(cu.cuMemFreeHost(own));
	free(block);
}

/* A thread that a kernel waits for writes the source of a synchronous copy behind the kernel. */
struct writer {
	char *source;
	size_t bytes;
	volatile uint32_t *ready;
	_Atomic bool begun;
};

static bool wait_for_word(const volatile uint32_t *at)
{
	WAIT_FOR(*at != 0);
	return true;
}

static void *write_and_say_so(void *arg)
{
	struct writer *writer = arg;

	WAIT_FOR(writer->begun);
	/* The copy has begun, too. */
	usleep(100000);
	fill(writer->source, writer->bytes, 9);
	__sync_synchronize();
	*writer->ready = 1;
	return NULL;
}

static void written_by_a_thread(char *source, size_t bytes)
{
	struct writer writer = { .source = source, .bytes = bytes };
	CUmodule module;
	CUfunction await;
	void *word;

	ptx_await = wait_for_word;
	OK(cu.cuModuleLoadData(&module, ptx_image));
	OK(cu.cuModuleGetFunction(&await, module, "test_await"));
	OK(cu.cuMemHostAlloc(&word, 64, CU_MEMHOSTALLOC_DEVICEMAP));
	memset(word, 0, 64);
	writer.ready = word;
	fill(source, bytes, 1);
	OK(cu.cuCtxSynchronize());

	CUdeviceptr at = (CUdeviceptr)word, late = at + 8;
	void *arguments[] = { &at, &late };
	pthread_t thread = check_thread(write_and_say_so, &writer);
	OK(cu.cuLaunchKernel(await, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
	writer.begun = true;
	OK(cu.cuMemcpyHtoD_v2(there, source, bytes));
	pthread_join(thread, NULL);
	OK(cu.cuCtxSynchronize());
	CHECK(device_holds(there, bytes, 9));
	OK(cu.cuMemFreeHost(word));
}

TEST_AFTER_WITH(row11_source_written_by_a_thread, begin(), "HOTPIN_THREADS=4")
{
	static char source[32 * MIB];

	for (int i = 0; i < 4; i++)
		OK(cu.cuMemcpyHtoD_v2(there, source, sizeof(source)));
	written_by_a_thread(source, sizeof(source));

	char *block = hot(BYTES);
	for (size_t bytes = 4 * KIB; bytes <= BYTES; bytes *= 32)
		written_by_a_thread(block, bytes);
	free(block);
}

CASE(row11_d2h_read_at_once, read_at_once(LINEAR))
CASE(row11_d2h_read_at_once_either_way, read_at_once(EITHER))
CASE(row11_d2h_read_at_once_rows, read_at_once(ROWS))
CASE(row11_d2h_read_at_once_slices, read_at_once(BOX))
CASE(row11_h2d_overwritten_at_once, overwritten_at_once(LINEAR))
CASE(row11_h2d_overwritten_at_once_either_way, overwritten_at_once(EITHER))
CASE(row11_h2d_overwritten_at_once_rows, overwritten_at_once(ROWS))
CASE(row11_h2d_overwritten_at_once_slices, overwritten_at_once(BOX))

/*
 * One thread heats the block while another one's asynchronous copies use it.  Its copies have an
 * end: the lock of the stand-in is not fair, so they could keep the other thread out forever.
 */
#define HEATS 100
static _Atomic bool enough, has_returned;

static void *heat_meanwhile(void *arg)
{
	CUdeviceptr mine;

	OK(cu.cuCtxSetCurrent(primary));
	OK(cu.cuMemAlloc_v2(&mine, BYTES));
	for (int i = 0; i < HEATS && !enough; i++)
		OK(cu.cuMemcpyHtoD_v2(mine, arg, BYTES));
	OK(cu.cuMemFree_v2(mine));
	return NULL;
}

/* Lets the pinning continue when the main thread waits for its end, or has its bytes. */
static void *release_pinning(void *arg)
{
	WAIT_FOR(has_returned || thread_is_blocked(getpid()));
	release_call();
	return arg;
}

static void copy_during_pinning(char *block, unsigned seed)
{
	OK(cu.cuMemsetD8Async(there, (unsigned char)seed, BYTES, stream));
	OK(cu.cuMemcpyDtoHAsync_v2(block, there, BYTES, stream));
	CHECK(all_are(block, BYTES, (char)seed));
}

/*
 * The stand-in holds the other thread between the driver's registration and the library's record of
 * it; on a device the two run concurrently.  Each block is new, so that it is not pinned before.
 */
ALONE_AFTER(row11_pinned_by_another_thread_meanwhile, begin())
{
	char *blocks[12] = { NULL };
	int others = 0;

	for (unsigned i = 0; i < 12 && check_failures == 0; i++) {
		pthread_t thread, releasing;
		char *block = blocks[i] = malloc(BYTES);

		memset(block, 0, BYTES);
		enough = has_returned = false;
		bool holds = hold_call("cuMemHostRegister") && preloaded();
		pthread_create(&thread, NULL, heat_meanwhile, block);
		if (holds) {
			WAIT_FOR(call_is_held());
			others += !is_pinned(block);
			pthread_create(&releasing, NULL, release_pinning, NULL);
		}
		copy_during_pinning(block, 1);
		has_returned = true;
		for (unsigned seed = 2; seed < 10; seed++)
			copy_during_pinning(block, seed);
		enough = true;
		pthread_join(thread, NULL);
		if (holds)
			pthread_join(releasing, NULL);
	}
	/* The library's own ring is registered once. */
	CHECK(others <= 1);
	for (unsigned i = 0; i < 12; i++)
		free(blocks[i]);
}
