/*
 * The types of functions that are newer than the toolkit's header, as far as hotpin reads them.
 *
 * test/unit/test_newer.c compares them with those of a newer header.
 */
#ifndef HP_REAL_NEWER_TYPES_H
#define HP_REAL_NEWER_TYPES_H

#include <cuda.h>

#if CUDA_VERSION < 12020 || defined(HP_NEWER_TYPES)
struct newer_node {
	CUgraphNodeType type;
	int reserved0[3];
	union {
		long long reserved1[29];
		struct {
			int flags, reserved;
			CUcontext copyCtx;
			CUDA_MEMCPY3D copyParams;
		} memcpy;
		struct {
			CUdeviceptr dst; /* and more */
		} memset;
	};
	long long reserved2;
};
typedef struct newer_node CUgraphNodeParams;
#endif

#if CUDA_VERSION < 12080 || defined(HP_NEWER_TYPES)
struct newer_extent {
	size_t width, height, depth;
};
typedef struct newer_extent CUextent3D;

struct newer_operand {
	enum { CU_MEMCPY_OPERAND_TYPE_POINTER = 1, CU_MEMCPY_OPERAND_TYPE_ARRAY = 2 } type;
	union {
		struct {
			CUdeviceptr ptr;
			size_t rowLength, layerHeight;
			CUmemLocation locHint;
		} ptr;
		struct {
			CUarray array;
			struct {
				size_t x, y, z;
			} offset;
		} array;
	} op;
};
typedef struct newer_operand CUmemcpy3DOperand;

struct newer_box {
	CUmemcpy3DOperand src, dst;
	CUextent3D extent;
	int srcAccessOrder;
	unsigned flags;
};
typedef struct newer_box CUDA_MEMCPY3D_BATCH_OP;
#endif

#endif
