/*
 * copies.c - the exported copies of bytes: the driver's call between the steps of engine/copy.h.
 *
 * Every ABI flavor is a function of its own: in `_ptds` and `_ptsz` functions stream 0 is the
 * calling thread's stream.  The 32-bit functions of CUDA 2 and 3.0 are stubs in thunk.S.
 */
#include "base/counters.h"
#include "base/options.h"
#include "engine/copy.h"
#include "engine/visibility.h"
#include "shim/driver/run.h"

/* True if no upload of `bytes` may return early: then it may be passed through. */
static inline bool waits(size_t bytes)
{
	return !hp_options->async || visibility_now != 0 || bytes > COPY_DEFER_MOST;
}

/* The values of `first` in the table below: calls of these kinds may be passed through. */
#define FIRST(name, own)
#define FIRST_UPLOAD(name, own)                                              \
	PASS_IF((own || waits(bytes)) && copy_passes(true, src, dst, bytes), \
		REAL(name)(dst, src, bytes))
#define FIRST_UPLOAD_ASYNC(name, own) \
	PASS_IF(copy_passes(true, src, dst, bytes), REAL(name)(dst, src, bytes, stream))
#define FIRST_DOWNLOAD(name, own) \
	PASS_IF(copy_passes(false, dst, src, bytes), REAL(name)(dst, src, bytes))
#define FIRST_DOWNLOAD_ASYNC(name, own) \
	PASS_IF(copy_passes(false, dst, src, bytes), REAL(name)(dst, src, bytes, stream))
#define PASS_IF(condition, call)         \
	if (condition) {                 \
		hp_count(copies_passed); \
		return call;             \
	}

#define LIST(...)        __VA_ARGS__
#define ON_STREAM(...)   (__VA_ARGS__, stream)
#define ON_A_STREAM(...) (__VA_ARGS__, CUstream stream)
#define DESCRIBED(own, ...)                    \
	{                                      \
		.per_thread = own, __VA_ARGS__ \
	}
#define DESCRIBED_ASYNC(own, ...)                                                      \
	{                                                                              \
		.per_thread = own, .asynchronous = true, .stream = stream, __VA_ARGS__ \
	}

#define ONE(name, first, parameters, request_is, arguments) \
	HP_EXPORT CUresult name parameters                  \
	{                                                   \
		first;                                      \
		struct copy_request request = request_is;   \
                                                            \
		SHIM_COPY_RUN(name, arguments);             \
	}

/* Both flavors of a synchronous function; `arguments` are those for one piece. */
#define SYNC(name, first, parameters, fields, arguments)                                     \
	ONE(name, first(name, false), parameters, DESCRIBED(false, LIST fields), arguments)  \
	ONE(name##_ptds, first(name##_ptds, true), parameters, DESCRIBED(true, LIST fields), \
	    arguments)

/* The same for an asynchronous function.  `parameters` and `arguments` lack the stream. */
#define ASYNC(name, first, parameters, fields, arguments)                                          \
	ONE(name, first(name, false), ON_A_STREAM parameters, DESCRIBED_ASYNC(false, LIST fields), \
	    ON_STREAM arguments)                                                                   \
	ONE(name##_ptsz, first(name##_ptsz, true), ON_A_STREAM parameters,                         \
	    DESCRIBED_ASYNC(true, LIST fields), ON_STREAM arguments)

/* A synchronous function and the asynchronous one with the same parameters. */
#define BOTH(sync, async, first, parameters, fields, arguments) \
	SYNC(sync, first, parameters, fields, arguments)        \
	ASYNC(async, first##_ASYNC, parameters, fields, arguments)
#define FIRST_ASYNC FIRST

BOTH(cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2, FIRST_UPLOAD,
     (CUdeviceptr dst, const void *src, size_t bytes),
     (.direction = TRACE_H2D, .far = dst, .device = { dst }, .host = src, .bytes = bytes),
     (dst + copy.done, copy.from, copy.now))
BOTH(cuMemcpyDtoH_v2, cuMemcpyDtoHAsync_v2, FIRST_DOWNLOAD,
     (void *dst, CUdeviceptr src, size_t bytes),
     (.direction = TRACE_D2H, .far = src, .device = { src }, .host = dst, .bytes = bytes),
     ((void *)copy.from, src + copy.done, copy.now))

/* Arrays. */
BOTH(cuMemcpyHtoA_v2, cuMemcpyHtoAAsync_v2, FIRST,
     (CUarray dst, size_t offset, const void *src, size_t bytes),
     (.direction = TRACE_H2D, .host = src, .bytes = bytes),
     (dst, offset + copy.done, copy.from, copy.now))
BOTH(cuMemcpyAtoH_v2, cuMemcpyAtoHAsync_v2, FIRST,
     (void *dst, CUarray src, size_t offset, size_t bytes),
     (.direction = TRACE_D2H, .host = dst, .bytes = bytes),
     ((void *)copy.from, src, offset + copy.done, copy.now))

/* Between device memory, arrays and contexts: blocks of hotpin that they name are unpinned. */
BOTH(cuMemcpyDtoD_v2, cuMemcpyDtoDAsync_v2, FIRST, (CUdeviceptr dst, CUdeviceptr src, size_t bytes),
     (.direction = TRACE_D2D, .device = { dst, src }, .bytes = bytes), (dst, src, bytes))
BOTH(cuMemcpyPeer, cuMemcpyPeerAsync, FIRST,
     (CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t bytes),
     (.direction = TRACE_P2P, .device = { dst, src }, .bytes = bytes), (dst, to, src, from, bytes))
SYNC(cuMemcpyDtoA_v2, FIRST, (CUarray dst, size_t offset, CUdeviceptr src, size_t bytes),
     (.direction = TRACE_D2D, .device = { src }, .bytes = bytes), (dst, offset, src, bytes))
SYNC(cuMemcpyAtoD_v2, FIRST, (CUdeviceptr dst, CUarray src, size_t offset, size_t bytes),
     (.direction = TRACE_D2D, .device = { dst }, .bytes = bytes), (dst, src, offset, bytes))
SYNC(cuMemcpyAtoA_v2, FIRST, (CUarray dst, size_t to, CUarray src, size_t from, size_t bytes),
     (.direction = TRACE_D2D, .bytes = bytes), (dst, to, src, from, bytes))

/* Either side may be host or device memory.  A bounce buffer replaces the host side. */
#define SIDE(bounces, address) \
	(copy.route == COPY_BOUNCE && (bounces) ? (CUdeviceptr)copy.from : (address) + copy.done)
#define SOURCE SIDE(request.direction != TRACE_D2H, src)
#define TARGET SIDE(request.direction == TRACE_D2H, dst)
#define BETWEEN(name, parameters, request_is, arguments)  \
	HP_EXPORT CUresult name parameters                \
	{                                                 \
		struct copy_request request = request_is; \
                                                          \
		request_between(&request, dst, src);      \
		SHIM_COPY_RUN(name, arguments);           \
	}
BETWEEN(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t bytes),
	DESCRIBED(false, .bytes = bytes), (TARGET, SOURCE, copy.now))
BETWEEN(cuMemcpy_ptds, (CUdeviceptr dst, CUdeviceptr src, size_t bytes),
	DESCRIBED(true, .bytes = bytes), (TARGET, SOURCE, copy.now))
BETWEEN(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream),
	DESCRIBED_ASYNC(false, .bytes = bytes), (TARGET, SOURCE, copy.now, stream))
BETWEEN(cuMemcpyAsync_ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream),
	DESCRIBED_ASYNC(true, .bytes = bytes), (TARGET, SOURCE, copy.now, stream))
