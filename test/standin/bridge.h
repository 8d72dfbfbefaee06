/* bridge.h - what the exported functions of libcuda share: from a stream handle to the engine. */
#ifndef HP_STANDIN_BRIDGE_H
#define HP_STANDIN_BRIDGE_H

#include "engine.h"

/* All with the lock held.  per_thread: what NULL means; async: false for the synchronous names. */
CUresult on_linear(CUmemorytype dst_type, uintptr_t dst, CUmemorytype src_type, uintptr_t src,
		   size_t bytes, CUstream handle, bool per_thread, bool async);
CUresult on_2d(const CUDA_MEMCPY2D *c, CUstream handle, bool per_thread, bool async);
CUresult on_3d(const CUDA_MEMCPY3D *c, CUstream handle, bool per_thread, bool async);
CUresult on_3d_peer(const CUDA_MEMCPY3D_PEER *c, CUstream handle, bool per_thread, bool async);
/* A run of bytes of an array, in row order, from or to linear memory (array on one side). */
CUresult on_array(CUarray dst_array, uintptr_t dst, CUarray src_array, uintptr_t src,
		  CUmemorytype linear, size_t bytes, CUstream handle, bool per_thread, bool async);
CUresult on_batch(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
		  CUmemcpyAttributes *attrs, size_t *indices, size_t nattrs, size_t *fail,
		  CUstream handle, bool per_thread);
CUresult on_batch_3d(size_t count, const CUDA_MEMCPY3D_BATCH_OP *boxes, size_t *fail,
		     CUstream handle, bool per_thread);
CUresult on_fill(struct fill fill, CUstream handle, bool per_thread, bool async);
CUresult on_launch(const void *kernel, const unsigned dim[6], CUstream handle, bool per_thread,
		   void **params, void **extra);
CUresult on_launch_ex(const CUlaunchConfig *config, const void *kernel, bool per_thread,
		      void **params, void **extra);
CUresult on_host(CUstream handle, bool per_thread, CUhostFn fn, CUstreamCallback callback,
		 void *data);
CUresult on_alloc(CUdeviceptr *ret, size_t bytes, CUstream handle, bool per_thread);
CUresult on_free(CUdeviceptr at, CUstream handle, bool per_thread);
CUresult on_query(CUstream handle, bool per_thread);
CUresult on_synchronize(CUstream handle, bool per_thread);
CUresult on_wait_event(CUstream handle, bool per_thread, CUevent event, unsigned flags);
CUresult on_record(CUevent event, CUstream handle, bool per_thread, unsigned flags);
CUresult on_write(CUstream handle, bool per_thread, CUdeviceptr at, uint64_t value, unsigned size);
CUresult on_wait(CUstream handle, bool per_thread, CUdeviceptr at, uint64_t value, unsigned flags,
		 unsigned size);
CUresult on_prefetch(CUdeviceptr at, size_t bytes, CUstream handle, bool per_thread);
CUresult on_graph(CUgraphExec exec, CUstream handle, bool per_thread);
/* A copy of what is known about a stream. */
CUresult on_stream(CUstream handle, bool per_thread, struct stream *ret);
CUresult on_capture_begin(CUstream handle, bool per_thread, CUstreamCaptureMode mode, CUgraph to,
			  const CUgraphNode *deps, size_t ndeps);
CUresult on_capture_end(CUstream handle, bool per_thread, CUgraph *ret);
CUresult on_capture_info(CUstream handle, bool per_thread, CUstreamCaptureStatus *status,
			 cuuint64_t *id, CUgraph *graph, const CUgraphNode **deps, size_t *ndeps);
CUresult on_capture_update(CUstream handle, bool per_thread, const CUgraphNode *deps, size_t ndeps,
			   unsigned flags);

#endif
