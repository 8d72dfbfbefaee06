/*
 * shapes.c - the structures of the driver for copies of rows and boxes.
 */
#include "shapes.h"

struct side in_host(const void *at, size_t pitch)
{
	return (struct side){ CU_MEMORYTYPE_HOST, (CUdeviceptr)at, pitch };
}

struct side in_device(CUdeviceptr at, size_t pitch)
{
	return (struct side){ CU_MEMORYTYPE_DEVICE, at, pitch };
}

void *side_host(struct side side)
{
	return side.type == CU_MEMORYTYPE_HOST ? (void *)side.at : NULL;
}

CUdeviceptr side_device(struct side side)
{
	return side.type == CU_MEMORYTYPE_HOST ? 0 : side.at;
}

CUDA_MEMCPY3D shape_box(struct side to, size_t to_height, struct side from, size_t from_height,
			size_t width, size_t rows, size_t slices)
{
	return (CUDA_MEMCPY3D){ .srcMemoryType = from.type,
				.srcHost = side_host(from),
				.srcDevice = side_device(from),
				.srcPitch = from.pitch,
				.srcHeight = from_height,
				.dstMemoryType = to.type,
				.dstHost = side_host(to),
				.dstDevice = side_device(to),
				.dstPitch = to.pitch,
				.dstHeight = to_height,
				.WidthInBytes = width,
				.Height = rows,
				.Depth = slices };
}

CUDA_MEMCPY2D shape_rows(struct side to, struct side from, size_t width, size_t rows)
{
	return (CUDA_MEMCPY2D){ .srcMemoryType = from.type,
				.srcHost = side_host(from),
				.srcDevice = side_device(from),
				.srcPitch = from.pitch,
				.dstMemoryType = to.type,
				.dstHost = side_host(to),
				.dstDevice = side_device(to),
				.dstPitch = to.pitch,
				.WidthInBytes = width,
				.Height = rows };
}
