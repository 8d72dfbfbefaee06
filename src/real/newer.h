/*
 * The functions of driver.def that are newer than the toolkit's header.
 *
 * hotpin can be built with headers since CUDA 12.0, and then serves programs of newer toolkits.
 * test/unit/test_newer.c sets HP_CUDA_VERSION to an older one, to compare these declarations with
 * the header's.
 */
#ifndef HP_REAL_NEWER_H
#define HP_REAL_NEWER_H

#include "real/newer_types.h"

#ifndef HP_CUDA_VERSION
#define HP_CUDA_VERSION CUDA_VERSION
#endif

#define PTSZ(name, parameters)    \
	CUresult name parameters; \
	CUresult name##_ptsz parameters

#if HP_CUDA_VERSION < 12020
PTSZ(cuMemPrefetchAsync_v2,
     (CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags, CUstream stream));
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice,
			CUmemLocation location);
CUresult cuGraphAddNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *dependencies,
			size_t count, CUgraphNodeParams *node);
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params);
CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params);
#endif

#if HP_CUDA_VERSION < 12030
typedef struct CUgraphEdgeData_st CUgraphEdgeData;
CUresult cuGraphAddNode_v2(CUgraphNode *ret, CUgraph graph, const CUgraphNode *dependencies,
			   const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *node);
PTSZ(cuStreamBeginCaptureToGraph,
     (CUstream stream, CUgraph graph, const CUgraphNode *dependencies, const CUgraphEdgeData *data,
      size_t count, CUstreamCaptureMode mode));
#endif

#if HP_CUDA_VERSION < 12050
typedef struct CUctxCreateParams_st CUctxCreateParams;
typedef struct CUgreenCtx_st *CUgreenCtx;
CUresult cuCtxCreate_v4(CUcontext *ret, CUctxCreateParams *parameters, unsigned flags,
			CUdevice device);
CUresult cuCtxRecordEvent(CUcontext context, CUevent event);
CUresult cuGreenCtxDestroy(CUgreenCtx context);
CUresult cuGreenCtxStreamCreate(CUstream *ret, CUgreenCtx context, unsigned flags, int priority);
#endif

#if HP_CUDA_VERSION < 12080
#if CUDA_VERSION < 12080
typedef struct CUmemcpyAttributes_st CUmemcpyAttributes;
#endif
PTSZ(cuMemcpyBatchAsync, (CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
			  CUmemcpyAttributes *attributes, size_t *indices, size_t kinds,
			  size_t *failed, CUstream stream));
PTSZ(cuMemcpy3DBatchAsync, (size_t count, CUDA_MEMCPY3D_BATCH_OP *boxes, size_t *failed,
			    unsigned long long flags, CUstream stream));
#endif

#if HP_CUDA_VERSION < 13000
CUresult cuCtxSynchronize_v2(CUcontext context);
PTSZ(cuMemcpyBatchAsync_v2,
     (CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
      CUmemcpyAttributes *attributes, size_t *indices, size_t kinds, CUstream stream));
PTSZ(cuMemcpy3DBatchAsync_v2,
     (size_t count, CUDA_MEMCPY3D_BATCH_OP *boxes, unsigned long long flags, CUstream stream));
PTSZ(cuMemPrefetchBatchAsync,
     (CUdeviceptr * addresses, size_t *sizes, size_t count, CUmemLocation *locations,
      size_t *indices, size_t kinds, unsigned long long flags, CUstream stream));
PTSZ(cuMemDiscardBatchAsync, (CUdeviceptr * addresses, size_t *sizes, size_t count,
			      unsigned long long flags, CUstream stream));
PTSZ(cuMemDiscardAndPrefetchBatchAsync,
     (CUdeviceptr * addresses, size_t *sizes, size_t count, CUmemLocation *locations,
      size_t *indices, size_t kinds, unsigned long long flags, CUstream stream));
#endif

#if HP_CUDA_VERSION < 13020
PTSZ(cuMemcpyWithAttributesAsync, (CUdeviceptr dst, CUdeviceptr src, size_t bytes,
				   CUmemcpyAttributes *attributes, CUstream stream));
PTSZ(cuMemcpy3DWithAttributesAsync,
     (CUDA_MEMCPY3D_BATCH_OP * boxes, unsigned long long flags, CUstream stream));
#endif

#undef PTSZ

#endif
