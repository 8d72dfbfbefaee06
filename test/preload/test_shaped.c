/*
 * test_shaped.c - copies of rows, boxes, arrays and batches: random ones by every entry point,
 * against the same bytes moved by the processor.
 *
 * Every test holds without the library too, so what it asserts is the driver's own behaviour.
 */
#include "promote.h"

#include <limits.h>
#include <sys/mman.h>

#define ROOM ((size_t)3 << 20) /* of either side */

#define STAGED(id, ...) \
	TEST_WITH(id, "HOTPIN_ROUTE=stage", "HOTPIN_THREADS=3", "HOTPIN_HEAP_MIN=0", ##__VA_ARGS__)

/* Both sides of a box, as CUDA_MEMCPY3D has them. */
struct side {
	size_t x, y, z, pitch, height;
};

struct box {
	bool to_device;
	size_t width, rows, slices;
	struct side host, device;
};

static char in_data[ROOM] = { 1 };

static struct {
	char *host, *expected_host;
	char *expected_device;
	CUdeviceptr device;
	CUstream stream;
	unsigned seed;
} all;

static size_t below(size_t most)
{
	return most == 0 ? 0 : (size_t)rand_r(&all.seed) % most;
}

static void set_up(char *host)
{
	begin();
	all.seed = 11;
	all.host = host;
	all.device = there;
	all.expected_host = malloc(ROOM);
	all.expected_device = malloc(ROOM);
	OK(cuStreamCreate(&all.stream, CU_STREAM_NON_BLOCKING));
	fill(host, ROOM, 1);
	memcpy(all.expected_host, host, ROOM);
	fill(standin_host(there), ROOM, 2);
	memcpy(all.expected_device, standin_host(there), ROOM);
}

static size_t extent_of(const struct side *side, const struct box *box)
{
	return side->x + (side->y + side->z * side->height) * side->pitch +
	       ((box->slices - 1) * side->height + box->rows - 1) * side->pitch + box->width;
}

static struct side random_side(const struct box *box, bool flat)
{
	struct side side = { .x = below(3) ? 0 : below(300), .y = below(3) ? 0 : below(4) };

	side.pitch = side.x + box->width + (below(3) ? 0 : below(5000));
	if (flat)
		return side;
	side.z = below(3) ? 0 : below(3);
	side.height = side.y + box->rows + (below(3) ? 0 : below(5));
	return side;
}

static struct box random_box(bool flat)
{
	struct box box;

	do {
		box = (struct box){ .to_device = below(2),
				    .width = 1 + below(below(2)   ? 200
						       : below(2) ? 9000
								  : 400000),
				    .rows = 1 + below(below(2) ? 4 : 300),
				    .slices = flat ? 1 : 1 + below(6) };
		box.host = random_side(&box, flat);
		box.device = random_side(&box, flat);
	} while (extent_of(&box.host, &box) > ROOM || extent_of(&box.device, &box) > ROOM);
	return box;
}

/* By the processor, in the expected bytes. */
static void expect(const struct box *box)
{
	for (size_t z = 0; z < box->slices; z++)
		for (size_t y = 0; y < box->rows; y++) {
			const struct side *h = &box->host, *d = &box->device;
			char *host = all.expected_host + h->x +
				     ((h->z + z) * h->height + h->y + y) * h->pitch;
			char *device = all.expected_device + d->x +
				       ((d->z + z) * d->height + d->y + y) * d->pitch;

			memcpy(box->to_device ? device : host, box->to_device ? host : device,
			       box->width);
		}
}

static bool as_expected(const struct box *box, const char *name)
{
	OK(cuCtxSynchronize());
	if (CHECK(memcmp(all.host, all.expected_host, ROOM) == 0) &&
	    CHECK(memcmp(standin_host(all.device), all.expected_device, ROOM) == 0))
		return true;
	printf("# %s %s: %zu x %zu x %zu, host %zu %zu %zu of %zu x %zu, device %zu %zu %zu of %zu x %zu\n",
	       name, box->to_device ? "up" : "down", box->width, box->rows, box->slices,
	       box->host.x, box->host.y, box->host.z, box->host.pitch, box->host.height,
	       box->device.x, box->device.y, box->device.z, box->device.pitch, box->device.height);
	return false;
}

/* New bytes where the copy comes from. */
static void refresh(const struct box *box)
{
	unsigned pattern = (unsigned)below(1000);

	if (box->to_device) {
		fill(all.host, ROOM, pattern);
		memcpy(all.expected_host, all.host, ROOM);
	} else {
		fill(standin_host(all.device), ROOM, pattern);
		memcpy(all.expected_device, standin_host(all.device), ROOM);
	}
}

#define HOST_END(end, side)                                                        \
	.end##MemoryType = unified ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_HOST,   \
	.end##Host = all.host, .end##Device = unified ? (CUdeviceptr)all.host : 0, \
	.end##XInBytes = (side).x, .end##Y = (side).y, .end##Pitch = (side).pitch
#define DEVICE_END(end, side)                                                      \
	.end##MemoryType = unified ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_DEVICE, \
	.end##Device = all.device, .end##XInBytes = (side).x, .end##Y = (side).y,  \
	.end##Pitch = (side).pitch

static CUDA_MEMCPY2D flat_of(const struct box *box, bool unified)
{
	if (box->to_device)
		return (CUDA_MEMCPY2D){ HOST_END(src, box->host), DEVICE_END(dst, box->device),
					.WidthInBytes = box->width, .Height = box->rows };
	return (CUDA_MEMCPY2D){ DEVICE_END(src, box->device), HOST_END(dst, box->host),
				.WidthInBytes = box->width, .Height = box->rows };
}

#define DEEP(end, side) .end##Z = (side).z, .end##Height = (side).height

static CUDA_MEMCPY3D deep_of(const struct box *box, bool unified)
{
	if (box->to_device)
		return (CUDA_MEMCPY3D){ HOST_END(src, box->host),     DEEP(src, box->host),
					DEVICE_END(dst, box->device), DEEP(dst, box->device),
					.WidthInBytes = box->width,   .Height = box->rows,
					.Depth = box->slices };
	return (CUDA_MEMCPY3D){ DEVICE_END(src, box->device), DEEP(src, box->device),
				HOST_END(dst, box->host),     DEEP(dst, box->host),
				.WidthInBytes = box->width,   .Height = box->rows,
				.Depth = box->slices };
}

static CUDA_MEMCPY3D_PEER peer_of(const CUDA_MEMCPY3D *deep)
{
	CUDA_MEMCPY3D_PEER peer;

	memcpy(&peer, deep, sizeof(peer));
	peer.srcContext = peer.dstContext = context;
	return peer;
}

enum { ENTRIES_2D = 6, ENTRIES = 14 };

static CUresult run_2d(int entry, const CUDA_MEMCPY2D *box)
{
	switch (entry) {
	case 0:
		return cuMemcpy2D_v2(box);
	case 1:
		return cuMemcpy2D_v2_ptds(box);
	case 2:
		return cuMemcpy2DUnaligned_v2(box);
	case 3:
		return cuMemcpy2DUnaligned_v2_ptds(box);
	case 4:
		return cuMemcpy2DAsync_v2(box, all.stream);
	default:
		return cuMemcpy2DAsync_v2_ptsz(box, NULL);
	}
}

static CUresult run_3d(int entry, const CUDA_MEMCPY3D *box)
{
	CUDA_MEMCPY3D_PEER peer = peer_of(box);

	switch (entry) {
	case 0:
		return cuMemcpy3D_v2(box);
	case 1:
		return cuMemcpy3D_v2_ptds(box);
	case 2:
		return cuMemcpy3DAsync_v2(box, all.stream);
	case 3:
		return cuMemcpy3DAsync_v2_ptsz(box, NULL);
	case 4:
		return cuMemcpy3DPeer(&peer);
	case 5:
		return cuMemcpy3DPeer_ptds(&peer);
	case 6:
		return cuMemcpy3DPeerAsync(&peer, all.stream);
	default:
		return cuMemcpy3DPeerAsync_ptsz(&peer, NULL);
	}
}

/* One step an entry point, `turns` times; `only`: their bits. */
static void walk(int turns, unsigned only)
{
	for (int i = 0; i < turns * ENTRIES && check_failures == 0; i++) {
		int entry = i % ENTRIES;
		if ((only >> entry & 1) == 0)
			continue;
		struct box box = random_box(entry < ENTRIES_2D);
		bool unified = below(4) == 0;
		char name[32];

		refresh(&box);
		expect(&box);
		if (entry < ENTRIES_2D) {
			CUDA_MEMCPY2D flat = flat_of(&box, unified);

			OK(run_2d(entry, &flat));
		} else {
			CUDA_MEMCPY3D deep = deep_of(&box, unified);

			OK(run_3d(entry - ENTRIES_2D, &deep));
		}
		snprintf(name, sizeof(name), "entry %d", entry);
		as_expected(&box, name);
	}
}

STAGED(random_boxes)
{
	set_up(in_data);
	standin_log_reset();
	walk(10, ~0u);
	/* Through the ring, by every kind of copy on the device's side. */
	CHECK_EQ(standin_calls("cuEventRecord") > 50, preloaded());
	CHECK_EQ(standin_calls("cuMemcpyHtoDAsync") > 10, preloaded());
	CHECK_EQ(standin_calls("cuMemcpyDtoHAsync") > 10, preloaded());
}

static char earning[ROOM];

/* As it is without being forced to anything: downloads are large enough that staging pays. */
TEST_WITH(large_boxes, "HOTPIN_THREADS=4", "HOTPIN_HEAP_MIN=0")
{
	static const struct box boxes[] = {
		{ true, 4096, 500, 1, { .x = 8, .pitch = 6144 }, { .pitch = 4096 } },
		{ true, 8192, 250, 1, { .pitch = 8192 }, { .x = 64, .y = 3, .pitch = 9216 } },
		{ false, 4096, 500, 1, { .x = 4, .pitch = 5000 }, { .pitch = 4608 } },
		{ false, 6000, 60, 6, { 16, 1, 0, 6016, 62 }, { 0, 2, 1, 6144, 65 } },
		{ true, 6000, 60, 6, { 16, 1, 0, 6016, 62 }, { 0, 0, 0, 6000, 60 } },
		{ true, 5000, 30, 14, { 0, 0, 0, 5000, 30 }, { 0, 0, 0, 5120, 40 } },
	};

	set_up(in_data);
	for (int i = 0; i < 60; i++)
		OK(cuMemcpyDtoH_v2(earning, there + 8 * MIB, ROOM)); /* they earn the ring */
	for (size_t i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++) {
		CUDA_MEMCPY3D deep = deep_of(&boxes[i], false);
		CUDA_MEMCPY2D flat = flat_of(&boxes[i], false);

		refresh(&boxes[i]);
		expect(&boxes[i]);
		standin_log_reset();
		OK(boxes[i].slices == 1 ? cuMemcpy2DUnaligned_v2(&flat) : cuMemcpy3D_v2(&deep));
		CHECK_EQ(standin_calls("cuEventRecord") > 0, preloaded() && !boxes[i].to_device);
		as_expected(&boxes[i], "large");
	}
	/* Rows too short to pay, an address that the call itself moves within a slice. */
	struct box narrow = { true, 1000, 1500, 1, { .pitch = 1100 }, { .pitch = 1000 } };
	CUDA_MEMCPY2D flat = flat_of(&narrow, false);
	standin_log_reset();
	expect(&narrow);
	OK(cuMemcpy2D_v2(&flat));
	CHECK_EQ(standin_calls("cuEventRecord"), 0);
	as_expected(&narrow, "narrow");
}

/* Blocks of ours, promoted or not, whole and from their middle on. */
TEST_WITH(blocks, "HOTPIN_THREADS=2")
{
	char *block = malloc(ROOM);

	set_up(block);
	CHECK_EQ(heat(block, ROOM), preloaded());
	memcpy(all.expected_device, standin_host(there), ROOM);
	walk(5, ~0u);
}

STAGED(blocks_staged)
{
	set_up(malloc(ROOM));
	walk(5, ~0u);
}

/* Fields whose meaning is the driver's business are left to it, and so is its answer. */
STAGED(special_fields)
{
	struct box box = { true, 4096, 100, 2, { 0, 0, 0, 8192, 100 }, { 0, 0, 0, 4096, 100 } };
	CUDA_MEMCPY3D deep;
	CUDA_MEMCPY2D flat;
	int fields;

	set_up(in_data);
	standin_log_reset();
	for (fields = 0; fields < 7; fields++) {
		deep = deep_of(&box, false);
		if (fields == 0)
			deep.srcPitch = 4095;
		else if (fields == 1)
			deep.dstXInBytes = 1;
		else if (fields == 2)
			deep.srcPitch = 0;
		else if (fields == 3)
			deep.reserved0 = &deep;
		else if (fields == 4)
			deep.dstDevice = 0;
		else if (fields == 5)
			deep.srcHost = NULL;
		else
			deep.dstDevice = there + 64 * MIB - 4096;
		CHECK_EQ(cuMemcpy3D_v2(&deep), CUDA_ERROR_INVALID_VALUE);
		CHECK_EQ(cuMemcpy3DAsync_v2(&deep, all.stream), CUDA_ERROR_INVALID_VALUE);
	}
	/* Half of it would fit; none of it is written. */
	char *end = standin_host(there + 64 * MIB - 512 * KIB);
	memset(end, 0x77, 512 * KIB);
	deep = deep_of(&box, false);
	deep.dstDevice = there + 64 * MIB - 512 * KIB;
	deep.dstHeight = 101;
	deep.Height = 100;
	CHECK_EQ(cuMemcpy3D_v2(&deep), CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < 512 * KIB && check_failures == 0; i++)
		CHECK_EQ(end[i], 0x77);
	CHECK_EQ(standin_calls("cuEventRecord"), 0);
	as_expected(&box, "refused");

	/* Without a pitch rows follow one another. */
	flat = flat_of(&box, false);
	flat.dstPitch = 0;
	OK(cuMemcpy2D_v2(&flat));
	OK(cuCtxSynchronize());
	for (size_t i = 0; i < box.rows; i++)
		CHECK(memcmp(standin_host(flat.dstDevice + i * box.width),
			     (const char *)flat.srcHost + i * flat.srcPitch, box.width) == 0);
	memcpy(all.expected_device, standin_host(there), ROOM);

	/* One row needs no pitch, one slice no height; of more slices height 0 is the same one. */
	box = (struct box){ true, 3000, 1, 1, { 0 }, { 0 } };
	flat = flat_of(&box, false);
	refresh(&box);
	expect(&box);
	OK(cuMemcpy2D_v2(&flat));
	as_expected(&box, "one row");
	box = (struct box){ true, 3000, 5, 3, { 0, 0, 0, 3100, 0 }, { 0, 0, 0, 3200, 6 } };
	deep = deep_of(&box, false);
	refresh(&box);
	expect(&box);
	standin_log_reset();
	OK(cuMemcpy3D_v2(&deep));
	CHECK_EQ(standin_calls("cuEventRecord"), 0);
	as_expected(&box, "height 0");
	/* A level of detail is for mipmapped arrays. */
	standin_log_reset();
	box.host.height = 5;
	deep = deep_of(&box, false);
	deep.srcLOD = 1;
	cuMemcpy3D_v2(&deep);
	CHECK_EQ(standin_calls("cuEventRecord"), 0);
	/* Nothing to move. */
	deep = deep_of(&box, false);
	deep.Depth = 0;
	OK(cuMemcpy3D_v2(&deep));
	CHECK_EQ(standin_calls("cuEventRecord"), 0);
}

/* Sizes whose product is more than there are addresses. */
STAGED(overflow)
{
	struct box box = { true, INT_MAX, 1, 1, { .pitch = INT_MAX }, { .pitch = INT_MAX } };
	CUDA_MEMCPY3D deep;

	set_up(in_data);
	box.host.height = box.device.height = INT_MAX;
	deep = deep_of(&box, false);
	deep.Height = INT_MAX;
	deep.Depth = (size_t)INT_MAX * 4 + 5;
	CHECK_EQ(cuMemcpy3D_v2(&deep), CUDA_ERROR_INVALID_VALUE);
	deep.Height = ((size_t)1 << 33) + 1;
	deep.Depth = 1;
	CHECK_EQ(cuMemcpy3D_v2(&deep), CUDA_ERROR_INVALID_VALUE);
	as_expected(&box, "overflow");
}

/* Refused half way, the driver's own call does it anew. */
STAGED(given_up, "STANDIN_FAIL=cuMemcpy2DAsync:2,cuMemcpy3DAsync:2,cuEventRecord:9")
{
	set_up(in_data);
	/* The synchronous ones: what is refused is then not the program's own call. */
	walk(10, 0xcf);
}

/* A hole where the rows are: the signal comes in the thread that called, one in a gap is none. */
STAGED(hole_in_a_gap)
{
	struct box box = { false, 8192, 60, 1, { .pitch = 32768 }, { .pitch = 8192 } };
	char *host = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	set_up(host);
	CUDA_MEMCPY2D flat = flat_of(&box, false);
	refresh(&box);
	expect(&box);
	CHECK_EQ(mprotect(host + 16384, 4096, PROT_NONE), 0);
	OK(cuMemcpy2D_v2(&flat));
	CHECK_EQ(mprotect(host + 16384, 4096, PROT_READ | PROT_WRITE), 0);
	as_expected(&box, "a hole");
}

/* Refused, wherever the offset leads. */
TEST(an_offset_that_its_pitch_has_no_room_for)
{
	begin();
	char *block = promoted(4 * MIB);
	CUDA_MEMCPY2D box = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = block - 8192,
		.srcXInBytes = 8192,
		.srcPitch = 8192,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = there,
		.dstPitch = 8192,
		.WidthInBytes = 8192,
		.Height = 4,
	};

	CHECK_EQ(cuMemcpy2D_v2(&box), CUDA_ERROR_INVALID_VALUE);
	box.srcHost = block;
	box.srcXInBytes = UINT32_MAX;
	box.srcY = 3;
	CHECK_EQ(cuMemcpy2D_v2(&box), CUDA_ERROR_INVALID_VALUE);
}

/* Nor where the rows would be sent from a copy of ours, so that nobody waits for the kernel. */
TEST(an_offset_without_room_behind_work)
{
	begin();
	char *block = promoted(4 * MIB);
	CUDA_MEMCPY2D flat = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = block,
		.srcXInBytes = 40,
		.srcPitch = 64,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = there,
		.dstPitch = 64,
		.WidthInBytes = 32,
		.Height = 8,
	};
	CUDA_MEMCPY3D deep = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = block,
		.srcY = 1,
		.srcPitch = 64,
		.srcHeight = 8,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = there,
		.dstPitch = 64,
		.dstHeight = 8,
		.WidthInBytes = 32,
		.Height = 8,
		.Depth = 2,
	};

	OK(cuMemsetD8Async(there, 1, MIB, NULL));
	CHECK_EQ(cuMemcpy2DAsync_v2(&flat, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemcpy3DAsync_v2(&deep, NULL), CUDA_ERROR_INVALID_VALUE);
	flat.srcXInBytes = 32;
	deep.srcY = 0;
	OK(cuMemcpy2DAsync_v2(&flat, NULL));
	OK(cuMemcpy3DAsync_v2(&deep, NULL));

	/* Nor does one row have one behind it. */
	flat.srcXInBytes = 40;
	flat.Height = 1;
	CHECK_EQ(cuMemcpy2DAsync_v2(&flat, NULL), CUDA_ERROR_INVALID_VALUE);
}

TEST(rows_that_their_slice_has_no_room_for)
{
	begin();
	char *block = promoted(4 * MIB);
	CUDA_MEMCPY3D box = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = block - 16384,
		.srcY = 4,
		.srcPitch = 4096,
		.srcHeight = 4,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = there,
		.dstPitch = 4096,
		.dstHeight = 4,
		.WidthInBytes = 4096,
		.Height = 4,
		.Depth = 2,
	};

	CHECK_EQ(cuMemcpy3D_v2(&box), CUDA_ERROR_INVALID_VALUE);
	box.srcHost = block;
	CHECK_EQ(cuMemcpy3D_v2(&box), CUDA_ERROR_INVALID_VALUE);
	box.srcY = 0;
	OK(cuMemcpy3D_v2(&box));
}

PRELOAD_MAIN()
