/*
 * copies.c - the exported copy functions, each the driver's call between the steps of copy.h.
 *
 * Every ABI flavour is a function of its own: `_ptds` and `_ptsz` mean the calling thread's
 * stream by stream 0.  The 32-bit functions of CUDA 2 and 3.0 are stubs in thunk.S.
 */
#include "base/counters.h"
#include "base/options.h"
#include "engine/between.h"
#include "engine/copy.h"
#include "engine/visibility.h"
#include "shim/driver/run.h"

/* Nothing of an upload of `bytes` may come back early?  Then it can pass. */
static inline bool waits(size_t bytes)
{
	return !hp_options->async || visibility_any() ||
	       (bytes > COPY_DEFER_MOST && bytes < COPY_EARLY_LEAST);
}

static inline CUresult passed_down(CUresult result, size_t bytes, bool per_thread)
{
	hp_count(copies_passed);
	if (result == CUDA_SUCCESS && bytes != 0)
		copy_showed_idle(per_thread);
	return result;
}

/* One definition for both flavours of a function: FLAVOURS(SYNC, ...) */
#define SYNC_FLAVOURS(define, name)  define(name, false) define(name##_ptds, true)
#define ASYNC_FLAVOURS(define, name) define(name, false) define(name##_ptsz, true)

#define DEFINE(name, own)                                                              \
	HP_EXPORT CUresult name(CUdeviceptr dst, const void *src, size_t bytes)        \
	{                                                                              \
		if (waits(bytes) && copy_passes(true, src, dst, bytes))                \
			return (hp_count(copies_passed), REAL(name)(dst, src, bytes)); \
                                                                                       \
		struct copy_request request = { .direction = TRACE_H2D,                \
						.per_thread = own,                     \
						.far = dst,                            \
						.device = { dst },                     \
						.host = src,                           \
						.bytes = bytes };                      \
                                                                                       \
		SHIM_COPY_RUN(name, (dst + copy.done, copy.from, copy.now));           \
	}
SYNC_FLAVOURS(DEFINE, cuMemcpyHtoD_v2)
#undef DEFINE

#define DEFINE(name, own)                                                                        \
	HP_EXPORT CUresult name(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream) \
	{                                                                                        \
		if (copy_passes(true, src, dst, bytes))                                          \
			return (hp_count(copies_passed), REAL(name)(dst, src, bytes, stream));   \
                                                                                                 \
		struct copy_request request = {                                                  \
			.direction = TRACE_H2D,                                                  \
			.asynchronous = true,                                                    \
			.per_thread = own,                                                       \
			.far = dst,                                                              \
			.device = { dst },                                                       \
			.stream = stream,                                                        \
			.host = src,                                                             \
			.bytes = bytes,                                                          \
		};                                                                               \
                                                                                                 \
		SHIM_COPY_RUN(name, (dst + copy.done, copy.from, copy.now, stream));             \
	}
ASYNC_FLAVOURS(DEFINE, cuMemcpyHtoDAsync_v2)
#undef DEFINE

#define DEFINE(name, own)                                                            \
	HP_EXPORT CUresult name(void *dst, CUdeviceptr src, size_t bytes)            \
	{                                                                            \
		if (copy_passes(false, dst, src, bytes))                             \
			return passed_down(REAL(name)(dst, src, bytes), bytes, own); \
                                                                                     \
		struct copy_request request = { .direction = TRACE_D2H,              \
						.per_thread = own,                   \
						.far = src,                          \
						.device = { src },                   \
						.host = dst,                         \
						.bytes = bytes };                    \
                                                                                     \
		SHIM_COPY_RUN(name, ((void *)copy.from, src + copy.done, copy.now)); \
	}
SYNC_FLAVOURS(DEFINE, cuMemcpyDtoH_v2)
#undef DEFINE

#define DEFINE(name, own)                                                                      \
	HP_EXPORT CUresult name(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)     \
	{                                                                                      \
		if (copy_passes(false, dst, src, bytes))                                       \
			return (hp_count(copies_passed), REAL(name)(dst, src, bytes, stream)); \
                                                                                               \
		struct copy_request request = {                                                \
			.direction = TRACE_D2H,                                                \
			.asynchronous = true,                                                  \
			.per_thread = own,                                                     \
			.far = src,                                                            \
			.device = { src },                                                     \
			.stream = stream,                                                      \
			.host = dst,                                                           \
			.bytes = bytes,                                                        \
		};                                                                             \
                                                                                               \
		SHIM_COPY_RUN(name, ((void *)copy.from, src + copy.done, copy.now, stream));   \
	}
ASYNC_FLAVOURS(DEFINE, cuMemcpyDtoHAsync_v2)
#undef DEFINE

/* Device to device: counted only. */
#define DEFINE(name, own)                                                       \
	HP_EXPORT CUresult name(CUdeviceptr dst, CUdeviceptr src, size_t bytes) \
	{                                                                       \
		struct copy_request request = { .direction = TRACE_D2D,         \
						.per_thread = own,              \
						.device = { dst, src },         \
						.bytes = bytes };               \
                                                                                \
		SHIM_COPY_RUN(name, (dst, src, bytes));                         \
	}
SYNC_FLAVOURS(DEFINE, cuMemcpyDtoD_v2)
#undef DEFINE

#define DEFINE(name, own)                                                                        \
	HP_EXPORT CUresult name(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) \
	{                                                                                        \
		struct copy_request request = {                                                  \
			.direction = TRACE_D2D,                                                  \
			.asynchronous = true,                                                    \
			.per_thread = own,                                                       \
			.device = { dst, src },                                                  \
			.stream = stream,                                                        \
			.bytes = bytes,                                                          \
		};                                                                               \
                                                                                                 \
		SHIM_COPY_RUN(name, (dst, src, bytes, stream));                                  \
	}
ASYNC_FLAVOURS(DEFINE, cuMemcpyDtoDAsync_v2)
#undef DEFINE

/* Either side may be host or device memory.  A bounced source stands elsewhere. */
#define SOURCE(copy, src) \
	((copy).route == COPY_BOUNCE ? (CUdeviceptr)(copy).from : (src) + (copy).done)

#define DEFINE(name, own)                                                            \
	HP_EXPORT CUresult name(CUdeviceptr dst, CUdeviceptr src, size_t bytes)      \
	{                                                                            \
		struct copy_request request = { .per_thread = own, .bytes = bytes }; \
                                                                                     \
		request_between(&request, dst, src);                                 \
		SHIM_COPY_RUN(name, (dst + copy.done, SOURCE(copy, src), copy.now)); \
	}
SYNC_FLAVOURS(DEFINE, cuMemcpy)
#undef DEFINE

#define DEFINE(name, own)                                                                         \
	HP_EXPORT CUresult name(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)  \
	{                                                                                         \
		struct copy_request request = {                                                   \
			.asynchronous = true, .per_thread = own, .stream = stream, .bytes = bytes \
		};                                                                                \
                                                                                                  \
		request_between(&request, dst, src);                                              \
		SHIM_COPY_RUN(name, (dst + copy.done, SOURCE(copy, src), copy.now, stream));      \
	}
ASYNC_FLAVOURS(DEFINE, cuMemcpyAsync)
#undef DEFINE
#undef SOURCE

/* Between contexts: counted only. */
#define DEFINE(name, own)                                                                       \
	HP_EXPORT CUresult name(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, \
				size_t bytes)                                                   \
	{                                                                                       \
		struct copy_request request = { .direction = TRACE_P2P,                         \
						.per_thread = own,                              \
						.device = { dst, src },                         \
						.bytes = bytes };                               \
                                                                                                \
		SHIM_COPY_RUN(name, (dst, to, src, from, bytes));                               \
	}
SYNC_FLAVOURS(DEFINE, cuMemcpyPeer)
#undef DEFINE

#define DEFINE(name, own)                                                                       \
	HP_EXPORT CUresult name(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, \
				size_t bytes, CUstream stream)                                  \
	{                                                                                       \
		struct copy_request request = {                                                 \
			.direction = TRACE_P2P,                                                 \
			.asynchronous = true,                                                   \
			.per_thread = own,                                                      \
			.device = { dst, src },                                                 \
			.stream = stream,                                                       \
			.bytes = bytes,                                                         \
		};                                                                              \
                                                                                                \
		SHIM_COPY_RUN(name, (dst, to, src, from, bytes, stream));                       \
	}
ASYNC_FLAVOURS(DEFINE, cuMemcpyPeerAsync)
#undef DEFINE

/* Arrays: the offset into the array is in bytes, so pieces work here too. */
#define RUN_OF_ARRAY(way, own, at, of)                                                \
	.direction = way, .per_thread = own, .host = at, .bytes = bytes, .array = of, \
	.array_at = offset

#define DEFINE(name, own)                                                                  \
	HP_EXPORT CUresult name(CUarray dst, size_t offset, const void *src, size_t bytes) \
	{                                                                                  \
		struct copy_request request = { RUN_OF_ARRAY(TRACE_H2D, own, src, dst) };  \
                                                                                           \
		SHIM_COPY_RUN(name, (dst, offset + copy.done, copy.from, copy.now));       \
	}
SYNC_FLAVOURS(DEFINE, cuMemcpyHtoA_v2)
#undef DEFINE

#define DEFINE(name, own)                                                                    \
	HP_EXPORT CUresult name(void *dst, CUarray src, size_t offset, size_t bytes)         \
	{                                                                                    \
		struct copy_request request = { RUN_OF_ARRAY(TRACE_D2H, own, dst, src) };    \
                                                                                             \
		SHIM_COPY_RUN(name, ((void *)copy.from, src, offset + copy.done, copy.now)); \
	}
SYNC_FLAVOURS(DEFINE, cuMemcpyAtoH_v2)
#undef DEFINE

#define DEFINE(name, own)                                                                    \
	HP_EXPORT CUresult name(CUarray dst, size_t offset, const void *src, size_t bytes,   \
				CUstream stream)                                             \
	{                                                                                    \
		struct copy_request request = { RUN_OF_ARRAY(TRACE_H2D, own, src, dst),      \
						.asynchronous = true, .stream = stream };    \
                                                                                             \
		SHIM_COPY_RUN(name, (dst, offset + copy.done, copy.from, copy.now, stream)); \
	}
ASYNC_FLAVOURS(DEFINE, cuMemcpyHtoAAsync_v2)
#undef DEFINE

#define DEFINE(name, own)                                                                      \
	HP_EXPORT CUresult name(void *dst, CUarray src, size_t offset, size_t bytes,           \
				CUstream stream)                                               \
	{                                                                                      \
		struct copy_request request = { RUN_OF_ARRAY(TRACE_D2H, own, dst, src),        \
						.asynchronous = true, .stream = stream };      \
                                                                                               \
		SHIM_COPY_RUN(name,                                                            \
			      ((void *)copy.from, src, offset + copy.done, copy.now, stream)); \
	}
ASYNC_FLAVOURS(DEFINE, cuMemcpyAtoHAsync_v2)
#undef DEFINE
#undef RUN_OF_ARRAY

/* Device memory and arrays: counted only. */
#define DEFINE(name, own)                                                                  \
	HP_EXPORT CUresult name(CUarray dst, size_t offset, CUdeviceptr src, size_t bytes) \
	{                                                                                  \
		struct copy_request request = { .direction = TRACE_D2D,                    \
						.per_thread = own,                         \
						.device = { src },                         \
						.bytes = bytes };                          \
                                                                                           \
		SHIM_COPY_RUN(name, (dst, offset, src, bytes));                            \
	}
SYNC_FLAVOURS(DEFINE, cuMemcpyDtoA_v2)
#undef DEFINE

#define DEFINE(name, own)                                                                  \
	HP_EXPORT CUresult name(CUdeviceptr dst, CUarray src, size_t offset, size_t bytes) \
	{                                                                                  \
		struct copy_request request = { .direction = TRACE_D2D,                    \
						.per_thread = own,                         \
						.device = { dst },                         \
						.bytes = bytes };                          \
                                                                                           \
		SHIM_COPY_RUN(name, (dst, src, offset, bytes));                            \
	}
SYNC_FLAVOURS(DEFINE, cuMemcpyAtoD_v2)
#undef DEFINE

#define DEFINE(name, own)                                                                       \
	HP_EXPORT CUresult name(CUarray dst, size_t to, CUarray src, size_t from, size_t bytes) \
	{                                                                                       \
		struct copy_request request = { .direction = TRACE_D2D,                         \
						.per_thread = own,                              \
						.bytes = bytes };                               \
                                                                                                \
		SHIM_COPY_RUN(name, (dst, to, src, from, bytes));                               \
	}
SYNC_FLAVOURS(DEFINE, cuMemcpyAtoA_v2)
#undef DEFINE

#undef SYNC_FLAVOURS
#undef ASYNC_FLAVOURS
