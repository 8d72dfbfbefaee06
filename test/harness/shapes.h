/*
 * Copies of rows and of boxes as tests describe them: the position of the first row on each side,
 * the distance to the next row, and the size.
 */
#ifndef HP_HARNESS_SHAPES_H
#define HP_HARNESS_SHAPES_H

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

struct side {
	CUmemorytype type;
	CUdeviceptr at;
	size_t pitch;
};

struct side in_host(const void *at, size_t pitch);
struct side in_device(CUdeviceptr at, size_t pitch);

/* Only the field of the type is set. */
void *side_host(struct side side);
CUdeviceptr side_device(struct side side);

/* A height is the number of rows to the next slice. */
CUDA_MEMCPY3D shape_box(struct side to, size_t to_height, struct side from, size_t from_height,
			size_t width, size_t rows, size_t slices);

CUDA_MEMCPY2D shape_rows(struct side to, struct side from, size_t width, size_t rows);

#endif
