/*
 * bridge.h - shared by the exported functions of libcuda: translates their arguments for the
 * engine.
 */
#ifndef STANDIN_BRIDGE_H
#define STANDIN_BRIDGE_H

#include "engine.h"

/*
 * Turns a row of entry_*.def into an exported function: it opens the call, logs its arguments, and
 * performs one action with the lock held.
 *
 *   CALL(name, needs, parameters, log format and arguments, action)
 *   CALL_DS, CALL_SZ: also define the per-thread flavor, which ends in _ptds or _ptsz
 *
 * PT tells whether stream NULL is the thread's own.  entry.def has all names, and their versions.
 */
#define UNPACKED(...)   __VA_ARGS__
#define CALL(name, ...) EXPORTED(name, false, __VA_ARGS__)
#define CALL_DS(name, ...) \
	EXPORTED(name, false, __VA_ARGS__) EXPORTED(name##_ptds, true, __VA_ARGS__)
#define CALL_SZ(name, ...) \
	EXPORTED(name, false, __VA_ARGS__) EXPORTED(name##_ptsz, true, __VA_ARGS__)
#define EXPORTED(name, per_thread, need, params, log, ...)                                \
	CUresult name params                                                              \
	{                                                                                 \
		enum { PT = per_thread };                                                 \
		return call_begin(__func__, need, UNPACKED log) ?: call_end(__VA_ARGS__); \
	}

/* For rows: performs an action with `stream`, the one of the handle. */
#define ON(handle, ...)                                           \
	({                                                        \
		struct stream *stream;                            \
		stream_get(handle, PT, &stream) ?: (__VA_ARGS__); \
	})
/* For rows: returns a value, if the check finds no error. */
#define GIVE(ret, value) \
	((ret) == NULL ? CUDA_ERROR_INVALID_VALUE : (*(ret) = (value), CUDA_SUCCESS))
#define GIVE_IF(check, ret, value) \
	((ret) == NULL ? CUDA_ERROR_INVALID_VALUE : (check) ?: GIVE(ret, value))

/* All are called with the lock held.  async: false for the synchronous names. */
CUresult on_linear(struct stream *s, CUmemorytype dst_type, uintptr_t dst, CUmemorytype src_type,
		   uintptr_t src, size_t bytes, bool async);
CUresult on_3d(struct stream *s, const CUDA_MEMCPY3D *c, bool async);
CUresult on_2d(struct stream *s, const CUDA_MEMCPY2D *c, bool async);
CUresult on_3d_peer(struct stream *s, const CUDA_MEMCPY3D_PEER *c, bool async);
/* Copies a run of bytes of an array, in row order, from or to linear memory. */
CUresult on_array(struct stream *s, CUarray dst_array, uintptr_t dst, CUarray src_array,
		  uintptr_t src, CUmemorytype linear, size_t bytes, bool async);
/* per_thread: the meaning of NULL, which batches refuse. */
CUresult on_batch(CUstream handle, bool per_thread, CUdeviceptr *dsts, CUdeviceptr *srcs,
		  size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *indices,
		  size_t nattrs, size_t *fail);
CUresult on_batch_3d(CUstream handle, bool per_thread, size_t count,
		     const CUDA_MEMCPY3D_BATCH_OP *boxes, size_t *fail);
CUresult on_fill(struct stream *s, struct fill fill, bool async);
CUresult on_launch_ex(struct stream *s, const CUlaunchConfig *c, const void *kernel, void **params,
		      void **extra);
/* The callback receives `handle`. */
CUresult on_host(struct stream *s, CUstream handle, CUhostFn fn, CUstreamCallback callback,
		 void *data);
CUresult on_alloc(struct stream *s, CUdeviceptr *ret, size_t bytes);
CUresult on_free(struct stream *s, CUdeviceptr at);
CUresult on_query(struct stream *s);
CUresult on_synchronize(struct stream *s);
CUresult on_write(struct stream *s, CUdeviceptr at, unsigned value);
CUresult on_wait(struct stream *s, CUdeviceptr at, unsigned value, unsigned flags);
CUresult on_prefetch(struct stream *s, CUdeviceptr at, size_t bytes);

#endif
