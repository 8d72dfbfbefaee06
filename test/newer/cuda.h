/*
 * cuda.h - the toolkit's, and what it lacks of the driver that the stand-in models.
 *
 * Tests find it before the toolkit's.
 */
#ifndef TEST_NEWER_CUDA_H
#define TEST_NEWER_CUDA_H

#include_next <cuda.h>
#include "real/newer.h"

/* Since CUDA 13, the header has only another version. */
CUresult cuCtxCreate_v2(CUcontext *ret, unsigned flags, CUdevice device);

#if CUDA_VERSION < 12010
#define CU_CTX_SYNC_MEMOPS 0x80
CUresult cuCtxSetFlags(unsigned flags);
#endif

#if CUDA_VERSION < 12030
#define CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT 12
#define launchCompletionEvent                       programmaticEvent
#endif

#if CUDA_VERSION < 12040
#define CU_GREEN_CTX_DEFAULT_STREAM 1
typedef struct CUdevResourceDesc_st *CUdevResourceDesc;
CUresult cuGreenCtxCreate(CUgreenCtx *ret, CUdevResourceDesc resources, CUdevice device,
			  unsigned flags);
CUresult cuCtxFromGreenCtx(CUcontext *ret, CUgreenCtx context);
#endif

#if CUDA_VERSION < 12080
struct CUmemcpyAttributes_st {
	enum {
		CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1,
		CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL = 2
	} srcAccessOrder;
	CUmemLocation srcLocHint, dstLocHint;
	unsigned flags;
};
CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end);
#endif

#endif
