/*
 * test_shaped.c - 2D and 3D copies with unusual fields: those that the driver refuses, and its
 * interpretation of the others.  test_copies.c tests ordinary ones.
 *
 * Every test also holds without the library, so its assertions are the driver's own behavior.
 */
#include "copies.h"

#include <limits.h>
#include <sys/mman.h>

#define ROOM ((size_t)3 << 20)

static char in_data[ROOM] = { 1 };

/* Returns an upload of two slices of 100 rows, from `host`. */
static struct copy slices_up(char *host)
{
	return (struct copy){ .to_device = true,
			      .box = { 4096,
				       100,
				       2,
				       { .pitch = 8192, .height = 100 },
				       { .pitch = 4096, .height = 100 } },
			      .host = host,
			      .device = there };
}

/* Makes one field invalid; false if there is no such turn. */
static bool spoil(CUDA_MEMCPY3D *deep, int turn)
{
	switch (turn) {
	case 0:
		deep->srcPitch = 4095;
		return true;
	case 1:
		deep->dstXInBytes = 1;
		return true;
	case 2:
		deep->srcPitch = 0;
		return true;
	case 3:
		deep->reserved0 = deep;
		return true;
	case 4:
		/* Half of it would fit; none of it is written. */
		deep->dstDevice = there + 64 * MIB - 512 * KIB;
		deep->dstHeight = 101;
		return true;
	default:
		return false;
	}
}

/* Fields that only the driver interprets are left to it, as is its answer. */
TEST_AFTER_WITH(special_fields, begin(), STAGED)
{
	struct copy copy = slices_up(in_data);
	CUDA_MEMCPY3D deep = copy_deep(&copy);
	char *end = standin_host(there + 64 * MIB - 512 * KIB);

	memset(end, 0x77, 512 * KIB);
	standin_log_reset();
	for (int turn = 0; spoil(&deep, turn); turn++) {
		CHECK_EQ(cuMemcpy3D_v2(&deep), CUDA_ERROR_INVALID_VALUE);
		CHECK_EQ(cuMemcpy3DAsync_v2(&deep, NULL), CUDA_ERROR_INVALID_VALUE);
		deep = copy_deep(&copy);
	}
	CHECK(end[0] == 0x77 && memcmp(end, end + 1, 512 * KIB - 1) == 0);
	/* A level of detail is for mipmapped arrays. */
	deep.srcLOD = 1;
	cuMemcpy3D_v2(&deep);
	/* Nothing to move. */
	deep = copy_deep(&copy);
	deep.Depth = 0;
	OK(cuMemcpy3D_v2(&deep));
	CHECK_EQ(standin_calls("cuEventRecord"), 0);
}

/* Without a pitch, rows are contiguous. */
TEST_AFTER_WITH(no_pitch, begin(), STAGED)
{
	struct copy copy = slices_up(in_data);
	CUDA_MEMCPY2D flat = copy_flat(&copy);

	fill(in_data, ROOM, 1);
	flat.dstPitch = 0;
	OK(cuMemcpy2D_v2(&flat));
	OK(cuCtxSynchronize());
	for (size_t i = 0; i < 100; i++)
		CHECK(memcmp(standin_host(there + i * 4096), in_data + i * 8192, 4096) == 0);
}

/*
 * A single row needs no pitch, a single slice no height; several slices of height 0 are the same
 * one.
 */
COPIES_WITH(one_row, (STAGED), .calls = COPY_BOXES, .memory = COPY_STATIC,
	    .boxes = { { 3000, 1, 1, { 0 }, { 0 } } })
COPIES_WITH(no_height, (STAGED), .calls = "cuMemcpy3D_v2", .memory = COPY_STATIC, .up_only = true,
	    .boxes = { { 3000, 5, 3, { .pitch = 3100 }, { .pitch = 3200, .height = 6 } } },
	    .route = COPY_PLAIN)

/* Sizes whose product exceeds the address space. */
TEST_AFTER_WITH(overflow, begin(), STAGED)
{
	struct copy copy = slices_up(in_data);
	char *target = standin_host(there);

	memset(target, 0x77, ROOM);
	copy.box = (struct copy_box){ INT_MAX,
				      INT_MAX,
				      (size_t)INT_MAX * 4 + 5,
				      { .pitch = INT_MAX, .height = INT_MAX },
				      { .pitch = INT_MAX, .height = INT_MAX } };
	CUDA_MEMCPY3D deep = copy_deep(&copy);
	CHECK_EQ(cuMemcpy3D_v2(&deep), CUDA_ERROR_INVALID_VALUE);
	deep.Height = ((size_t)1 << 33) + 1;
	deep.Depth = 1;
	CHECK_EQ(cuMemcpy3D_v2(&deep), CUDA_ERROR_INVALID_VALUE);
	CHECK(target[0] == 0x77 && memcmp(target, target + 1, ROOM - 1) == 0);
}

/* Pages in the gaps between rows may be protected: they are not accessed. */
TEST_WITH(hole_in_a_gap, STAGED)
{
	char *host = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	begin();
	struct copy copy = { .box = { 8192, 60, 1, { .pitch = 32768 }, { .pitch = 8192 } },
			     .host = host,
			     .device = there };
	CUDA_MEMCPY2D flat = copy_flat(&copy);
	fill(standin_host(there), 60 * 8192, 3);
	CHECK_EQ(mprotect(host + 16384, 4096, PROT_NONE), 0);
	OK(cuMemcpy2D_v2(&flat));
	for (size_t i = 0; i < 60; i++)
		CHECK(memcmp(host + i * 32768, standin_host(there + i * 8192), 8192) == 0);
}

/* Returns an upload of rows of `width` bytes from `host`, `pitch` apart on both sides. */
static struct copy rows_up(char *host, size_t width, size_t pitch, size_t rows)
{
	return (struct copy){ .to_device = true,
			      .box = { width,
				       rows,
				       1,
				       { .pitch = pitch, .height = rows },
				       { .pitch = pitch, .height = rows } },
			      .host = host,
			      .device = there };
}

/* Refused for any offset. */
TEST_AFTER(an_offset_that_its_pitch_has_no_room_for, begin())
{
	char *block = promoted(4 * MIB);
	struct copy copy = rows_up(block - 8192, 8192, 8192, 4);
	copy.box.host.x = 8192;
	CUDA_MEMCPY2D box = copy_flat(&copy);

	CHECK_EQ(cuMemcpy2D_v2(&box), CUDA_ERROR_INVALID_VALUE);
	box.srcHost = block;
	box.srcXInBytes = UINT32_MAX;
	box.srcY = 3;
	CHECK_EQ(cuMemcpy2D_v2(&box), CUDA_ERROR_INVALID_VALUE);
}

/* The rows would reach into every block: none is unpinned, because the driver reads nothing. */
TEST_AFTER(a_width_that_its_pitch_has_no_room_for, begin())
{
	char *block = promoted(4 * MIB);
	struct copy copy = rows_up(block, (size_t)-56, 8, 8);
	CUDA_MEMCPY2D box = copy_flat(&copy);
	int before = standin_calls("cuMemHostUnregister");

	CHECK_EQ(cuMemcpy2D_v2(&box), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemcpy2DAsync_v2(&box, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(standin_calls("cuMemHostUnregister"), before);
}

/* Also if a copy of the rows would be uploaded, so that nothing waits for the kernel. */
TEST_AFTER(an_offset_without_room_behind_work, begin())
{
	char *block = promoted(4 * MIB);
	struct copy copy = rows_up(block, 32, 64, 8);
	copy.box.host.x = 40;
	CUDA_MEMCPY2D flat = copy_flat(&copy);
	copy.box.host.x = 0;
	copy.box.host.y = 1;
	copy.box.slices = 2;
	CUDA_MEMCPY3D deep = copy_deep(&copy);

	OK(cuMemsetD8Async(there, 1, MIB, NULL));
	CHECK_EQ(cuMemcpy2DAsync_v2(&flat, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemcpy3DAsync_v2(&deep, NULL), CUDA_ERROR_INVALID_VALUE);
	flat.srcXInBytes = 32;
	deep.srcY = 0;
	OK(cuMemcpy2DAsync_v2(&flat, NULL));
	OK(cuMemcpy3DAsync_v2(&deep, NULL));

	/* A single row must not exceed its pitch, either. */
	flat.srcXInBytes = 40;
	flat.Height = 1;
	CHECK_EQ(cuMemcpy2DAsync_v2(&flat, NULL), CUDA_ERROR_INVALID_VALUE);
}

TEST_AFTER(rows_that_their_slice_has_no_room_for, begin())
{
	char *block = promoted(4 * MIB);
	struct copy copy = rows_up(block - 16384, 4096, 4096, 4);
	copy.box.host.y = 4;
	copy.box.slices = 2;
	CUDA_MEMCPY3D box = copy_deep(&copy);

	CHECK_EQ(cuMemcpy3D_v2(&box), CUDA_ERROR_INVALID_VALUE);
	box.srcHost = block;
	CHECK_EQ(cuMemcpy3D_v2(&box), CUDA_ERROR_INVALID_VALUE);
	box.srcY = 0;
	OK(cuMemcpy3D_v2(&box));
}

PRELOAD_MAIN()
