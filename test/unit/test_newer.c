/*
 * test_newer.c - compares hotpin's declarations of newer functions with the toolkit's header.
 *
 * The compiler compares the functions: they are declared by both here.
 */
#define HP_CUDA_VERSION 12000
#include "real/real.h"

#include "check.h"

#include <stddef.h>

#define LAYOUT                                                                                 \
	{                                                                                      \
		sizeof(CUgraphNodeParams), offsetof(CUgraphNodeParams, type),                  \
			offsetof(CUgraphNodeParams, memcpy.copyParams),                        \
			offsetof(CUgraphNodeParams, memset.dst), sizeof(CUextent3D),           \
			offsetof(CUextent3D, height), offsetof(CUextent3D, depth),             \
			sizeof(CUmemcpy3DOperand), offsetof(CUmemcpy3DOperand, type),          \
			offsetof(CUmemcpy3DOperand, op.ptr.ptr),                               \
			offsetof(CUmemcpy3DOperand, op.ptr.rowLength),                         \
			offsetof(CUmemcpy3DOperand, op.ptr.layerHeight),                       \
			offsetof(CUmemcpy3DOperand, op.array.array),                           \
			CU_MEMCPY_OPERAND_TYPE_POINTER, CU_MEMCPY_OPERAND_TYPE_ARRAY,          \
			sizeof(CUDA_MEMCPY3D_BATCH_OP), offsetof(CUDA_MEMCPY3D_BATCH_OP, src), \
			offsetof(CUDA_MEMCPY3D_BATCH_OP, dst),                                 \
			offsetof(CUDA_MEMCPY3D_BATCH_OP, extent),                              \
			offsetof(CUDA_MEMCPY3D_BATCH_OP, flags)                                \
	}

static const size_t theirs[] = LAYOUT;

/* From here on the names mean hotpin's types. */
#if CUDA_VERSION >= 12080
#define CUgraphNodeParams              our_node
#define CUextent3D                     our_extent
#define CUmemcpy3DOperand              our_operand
#define CUDA_MEMCPY3D_BATCH_OP         our_box
#define CU_MEMCPY_OPERAND_TYPE_POINTER OUR_POINTER
#define CU_MEMCPY_OPERAND_TYPE_ARRAY   OUR_ARRAY
#define HP_NEWER_TYPES
#undef HP_REAL_NEWER_TYPES_H
#include "real/newer_types.h"
#endif

static const size_t ours[] = LAYOUT;

TEST(types_have_the_layout_of_the_toolkits)
{
	if (CUDA_VERSION < 12080)
		CHECK_SKIP("the toolkit's header is too old");
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (!CHECK_EQ(ours[i], theirs[i]))
			printf("# entry %zu\n", i);
}

CHECK_MAIN()
