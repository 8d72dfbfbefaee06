/*
 * arrays.c - queries the driver for the sizes of arrays.
 */
#include "engine/arrays.h"
#include "real/real.h"

static bool describe(CUarray array, CUDA_ARRAY3D_DESCRIPTOR *ret)
{
	return REAL(cuArray3DGetDescriptor_v2)(ret, array) == CUDA_SUCCESS;
}

static size_t element_of(const CUDA_ARRAY3D_DESCRIPTOR *about)
{
	switch (about->Format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return about->NumChannels;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2 * (size_t)about->NumChannels;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4 * (size_t)about->NumChannels;
	default:
		return 0;
	}
}

size_t array_element_bytes(CUarray array)
{
	CUDA_ARRAY3D_DESCRIPTOR about;

	return describe(array, &about) ? element_of(&about) : 0;
}
