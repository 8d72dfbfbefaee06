/*
 * copies_shaped.c - the exported 2D and 3D copy functions.
 *
 * The host side is rows with gaps.  If one block holds all rows, the block may be pinned, and the
 * device accesses it directly.  Only staging cuts the copy into pieces.
 */
#include "base/protections.h"
#include "engine/copy.h"
#include "heap/map.h"
#include "shim/driver/run.h"

/* One side of a shaped copy, from any of the driver's structs. */
struct side {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	size_t x, y, z, pitch, height; /* pitch and height 0: packed */
	bool special;                  /* fields are set that hotpin does not interpret */
};

/* Returns the distance from the side's address to its first byte. */
static size_t skipped(const struct side *side, size_t width, size_t rows)
{
	size_t pitch = side->pitch != 0 ? side->pitch : width;
	size_t height = side->height != 0 ? side->height : rows;

	return side->x + (side->y + side->z * height) * pitch;
}

/* Returns the first byte of a side in host memory, or in a block if it may be either; else NULL. */
static const char *first_byte(const struct side *side, size_t width, size_t rows)
{
	size_t skip = skipped(side, width, rows);

	if (side->type == CU_MEMORYTYPE_HOST)
		return side->host != NULL ? (const char *)side->host + skip : NULL;
	if (side->type == CU_MEMORYTYPE_UNIFIED && heap_owns((const char *)side->device + skip))
		return (const char *)side->device + skip;
	return NULL;
}

/* Returns the side's address if its type is device memory, else 0. */
static CUdeviceptr device_of(const struct side *side)
{
	return side->type == CU_MEMORYTYPE_DEVICE ? side->device : 0;
}

#define PITCH_MOST ((size_t)INT32_MAX) /* CU_DEVICE_ATTRIBUTE_MAX_PITCH */

/* True if hotpin can move the side itself.  The driver reports all other mistakes in a box. */
static bool is_plain(const struct side *side, size_t width, size_t rows, size_t slices)
{
	if (side->special || side->pitch > PITCH_MOST || rows > PITCH_MOST || slices > PITCH_MOST ||
	    side->x > side->pitch || width > side->pitch - side->x)
		return false;
	return slices == 1 || (side->height <= PITCH_MOST / side->pitch &&
			       side->y <= side->height && rows <= side->height - side->y);
}

static struct shape rows_of(const struct side *side, size_t width, size_t rows, size_t slices)
{
	return (struct shape){ .width = width,
			       .rows = rows,
			       .slices = slices,
			       .pitch = side->pitch,
			       .slice = side->pitch * side->height };
}

/* Describes the rows for staging, unless only the driver can interpret them. */
static void allow_staging(struct copy_request *request, const struct side *host,
			  const struct side *far, size_t width, size_t rows, size_t slices)
{
	if ((far->type != CU_MEMORYTYPE_DEVICE && far->type != CU_MEMORYTYPE_UNIFIED) ||
	    !is_plain(host, width, rows, slices) || !is_plain(far, width, rows, slices))
		return;
	request->far = far->device + skipped(far, width, rows);
	request->shape = rows_of(host, width, rows, slices);
	struct shape there = rows_of(far, width, rows, slices);
	request->gaps_there = shape_has_gaps(&there);
}

/* Returns the distance from the first byte to the end of the last. */
static size_t extent_of(const struct side *side, size_t width, size_t rows, size_t slices)
{
	size_t pitch = side->pitch != 0 ? side->pitch : width;
	size_t height = side->height != 0 ? side->height : rows;

	return ((slices - 1) * height + rows - 1) * pitch + width;
}

/*
 * True if a row fits into the pitch.  The driver refuses other boxes, even of one row (cuda.h;
 * error 1, driver 580).  It ignores the pitch of an array.
 */
static bool row_fits(const struct side *side, size_t width)
{
	return side->type == CU_MEMORYTYPE_ARRAY || side->pitch == 0 ||
	       (side->x <= side->pitch && width <= side->pitch - side->x);
}

/* Describes `width` bytes x `rows` x `slices` between two sides. */
static void describe(struct copy_request *request, const struct side *src, const struct side *dst,
		     size_t width, size_t rows, size_t slices)
{
	const char *from = first_byte(src, width, rows), *to = first_byte(dst, width, rows);
	/* Of two host sides this chooses one that is in a block. */
	const struct side *side = from != NULL && (to == NULL || heap_owns(from)) ? src : dst;

	request->rows = true;
	request->bytes = width * rows * slices;
	request->direction = request_direction(from == NULL, to == NULL);
	request->device[0] = device_of(src);
	request->device[1] = device_of(dst);
	request->host = side == src ? from : to;
	/* The driver reads nothing of such a box, so no block is unpinned for it. */
	if (!row_fits(src, width) || !row_fits(dst, width))
		request->host = NULL;
	if (request->host == NULL || request->bytes == 0)
		return;

	const struct side *far = side == src ? dst : src;
	request->extent = extent_of(side, width, rows, slices);
	if (from != NULL && to != NULL) {
		request->other = side == src ? to : from;
		request->other_extent = extent_of(far, width, rows, slices);
	}
	allow_staging(request, side, far, width, rows, slices);
}

/* The same for rows and slices.  The driver refuses a box whose offsets do not fit, too. */
static bool has_room(const struct side *side, size_t width, size_t rows, size_t slices)
{
	return row_fits(side, width) &&
	       (slices <= 1 || side->height == 0 ||
		(side->y <= side->height && rows <= side->height - side->y));
}

#define SIDE_2D(box, end)                                                                    \
	{                                                                                    \
		.type = (box)->end##MemoryType, .host = (box)->end##Host,                    \
		.device = (box)->end##Device, .x = (box)->end##XInBytes, .y = (box)->end##Y, \
		.pitch = (box)->end##Pitch                                                   \
	}
static void describe_2d(struct copy_request *request, const CUDA_MEMCPY2D *box)
{
	struct side src = SIDE_2D(box, src), dst = SIDE_2D(box, dst);

	describe(request, &src, &dst, box->WidthInBytes, box->Height, 1);
}

/* CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER have the same names for these fields. */
#define SIDE_3D(box, end)                                                                    \
	{                                                                                    \
		.type = (box)->end##MemoryType, .host = (box)->end##Host,                    \
		.device = (box)->end##Device, .x = (box)->end##XInBytes, .y = (box)->end##Y, \
		.z = (box)->end##Z, .pitch = (box)->end##Pitch, .height = (box)->end##Height \
	}
#define DESCRIBE_3D(name, type, is_special)                                                       \
	static void name(struct copy_request *request, const type *box)                           \
	{                                                                                         \
		struct side src = SIDE_3D(box, src), dst = SIDE_3D(box, dst);                     \
                                                                                                  \
		src.special = dst.special = (is_special) || box->srcLOD != 0 || box->dstLOD != 0; \
		describe(request, &src, &dst, box->WidthInBytes, box->Height, box->Depth);        \
	}
DESCRIBE_3D(describe_3d, CUDA_MEMCPY3D, box->reserved0 != NULL || box->reserved1 != NULL)
/* A peer copy's contexts may differ from the current one. */
DESCRIBE_3D(describe_3d_peer, CUDA_MEMCPY3D_PEER, true)
#undef DESCRIBE_3D

/*
 * Returns where the driver finds the first byte of a side, if not where the box says; else NULL.
 * A bounce buffer replaces the source.  Offsets that lead into a block from an address outside of
 * it are left out: the driver classifies memory by the address, and may refuse such a box (error 1,
 * driver 580) because of a pin.
 */
static const char *moved_to(const struct copy *copy, const struct side *side, bool is_source,
			    size_t width, size_t rows)
{
	const char *first = first_byte(side, width, rows);

	if (is_source && copy->route == COPY_BOUNCE)
		return copy->from;
	bool leads_in = first != NULL && copy->route != COPY_UNPIN && heap_owns(first) &&
			range_find(first) != range_find(first - skipped(side, width, rows));
	return leads_in && hp_keeps(led_into_blocks) ? first : NULL;
}

/*
 * Returns the box to run, which is `moved` if a side lies elsewhere.  Offsets for which the driver
 * would refuse the box stay; the address is moved back by as much.
 */
#define MOVE(end, is_source, dimensions, depth, more)                                              \
	{                                                                                          \
		struct side side = SIDE_##dimensions(box, end);                                    \
		const char *to = moved_to(copy, &side, is_source, box->WidthInBytes, box->Height); \
		if (to != NULL) {                                                                  \
			bool fits = has_room(&side, box->WidthInBytes, box->Height, depth);        \
			size_t skip = fits ? 0 : skipped(&side, box->WidthInBytes, box->Height);   \
			if (result != moved)                                                       \
				*moved = *box;                                                     \
			result = moved;                                                            \
			moved->end##Host = (void *)(to - skip);                                    \
			moved->end##Device = (CUdeviceptr)to - skip;                               \
			if (fits) {                                                                \
				moved->end##XInBytes = moved->end##Y = 0;                          \
				more;                                                              \
			}                                                                          \
		}                                                                                  \
	}
#define MOVED(name, type, dimensions, depth, src_more, dst_more)                       \
	static const type *name(const struct copy *copy, const type *box, type *moved) \
	{                                                                              \
		const type *result = box;                                              \
		if (box == NULL)                                                       \
			return NULL;                                                   \
		MOVE(src, true, dimensions, depth, src_more)                           \
		MOVE(dst, false, dimensions, depth, dst_more)                          \
		return result;                                                         \
	}
MOVED(moved_2d, CUDA_MEMCPY2D, 2D, 1, (void)0, (void)0)
MOVED(moved_3d, CUDA_MEMCPY3D, 3D, box->Depth, moved->srcZ = 0, moved->dstZ = 0)
MOVED(moved_3d_peer, CUDA_MEMCPY3D_PEER, 3D, box->Depth, moved->srcZ = 0, moved->dstZ = 0)
#undef MOVED
#undef MOVE
#undef SIDE_2D
#undef SIDE_3D

#define SHAPED(name, type, own, kind)                                    \
	HP_EXPORT CUresult name(const type *box)                         \
	{                                                                \
		struct copy_request request = { .per_thread = own };     \
		type moved;                                              \
                                                                         \
		if (box != NULL)                                         \
			describe_##kind(&request, box);                  \
		SHIM_COPY_RUN(name, (moved_##kind(&copy, box, &moved))); \
	}
#define SHAPED_ASYNC(name, type, own, kind)                                      \
	HP_EXPORT CUresult name(const type *box, CUstream stream)                \
	{                                                                        \
		struct copy_request request = { .asynchronous = true,            \
						.per_thread = own,               \
						.stream = stream };              \
		type moved;                                                      \
                                                                                 \
		if (box != NULL)                                                 \
			describe_##kind(&request, box);                          \
		SHIM_COPY_RUN(name, (moved_##kind(&copy, box, &moved), stream)); \
	}

SHAPED(cuMemcpy2D_v2, CUDA_MEMCPY2D, false, 2d)
SHAPED(cuMemcpy2D_v2_ptds, CUDA_MEMCPY2D, true, 2d)
SHAPED(cuMemcpy2DUnaligned_v2, CUDA_MEMCPY2D, false, 2d)
SHAPED(cuMemcpy2DUnaligned_v2_ptds, CUDA_MEMCPY2D, true, 2d)
SHAPED_ASYNC(cuMemcpy2DAsync_v2, CUDA_MEMCPY2D, false, 2d)
SHAPED_ASYNC(cuMemcpy2DAsync_v2_ptsz, CUDA_MEMCPY2D, true, 2d)
SHAPED(cuMemcpy3D_v2, CUDA_MEMCPY3D, false, 3d)
SHAPED(cuMemcpy3D_v2_ptds, CUDA_MEMCPY3D, true, 3d)
SHAPED_ASYNC(cuMemcpy3DAsync_v2, CUDA_MEMCPY3D, false, 3d)
SHAPED_ASYNC(cuMemcpy3DAsync_v2_ptsz, CUDA_MEMCPY3D, true, 3d)
SHAPED(cuMemcpy3DPeer, CUDA_MEMCPY3D_PEER, false, 3d_peer)
SHAPED(cuMemcpy3DPeer_ptds, CUDA_MEMCPY3D_PEER, true, 3d_peer)
SHAPED_ASYNC(cuMemcpy3DPeerAsync, CUDA_MEMCPY3D_PEER, false, 3d_peer)
SHAPED_ASYNC(cuMemcpy3DPeerAsync_ptsz, CUDA_MEMCPY3D_PEER, true, 3d_peer)
#undef SHAPED
#undef SHAPED_ASYNC
