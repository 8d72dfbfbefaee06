/*
 * test_layout.c - compares our declarations of CUPTI's records with the toolkit's header, at
 * compile time.
 *
 * Records of older toolkits that the header still describes are compared, too.  Because all of
 * these agree, one build can read every CUPTI from CUDA 11 on.
 */
#include "trace/collect/cupti_min.h"
#include "check.h"

#if __has_include(<cupti.h>)
#include <cupti.h>

#define SAME(ours, our_field, theirs, their_field)                                          \
	_Static_assert(offsetof(struct ours, our_field) == offsetof(theirs, their_field) && \
			       sizeof(((struct ours *)0)->our_field) ==                     \
				       sizeof(((theirs *)0)->their_field),                  \
		       #theirs "." #their_field)
#define COPY_AGREES(theirs)                               \
	SAME(cupti_memcpy, kind, theirs, kind);           \
	SAME(cupti_memcpy, copy_kind, theirs, copyKind);  \
	SAME(cupti_memcpy, source_kind, theirs, srcKind); \
	SAME(cupti_memcpy, target_kind, theirs, dstKind); \
	SAME(cupti_memcpy, flags, theirs, flags);         \
	SAME(cupti_memcpy, bytes, theirs, bytes);         \
	SAME(cupti_memcpy, start, theirs, start);         \
	SAME(cupti_memcpy, end, theirs, end);             \
	SAME(cupti_memcpy, device, theirs, deviceId);     \
	SAME(cupti_memcpy, context, theirs, contextId);   \
	SAME(cupti_memcpy, stream, theirs, streamId)
#define MEMSET_AGREES(theirs)                           \
	SAME(cupti_memset, kind, theirs, kind);         \
	SAME(cupti_memset, value, theirs, value);       \
	SAME(cupti_memset, bytes, theirs, bytes);       \
	SAME(cupti_memset, start, theirs, start);       \
	SAME(cupti_memset, end, theirs, end);           \
	SAME(cupti_memset, device, theirs, deviceId);   \
	SAME(cupti_memset, context, theirs, contextId); \
	SAME(cupti_memset, stream, theirs, streamId)
#define KERNEL_AGREES(theirs)                                            \
	SAME(cupti_kernel, kind, theirs, kind);                          \
	SAME(cupti_kernel, start, theirs, start);                        \
	SAME(cupti_kernel, end, theirs, end);                            \
	SAME(cupti_kernel, completed, theirs, completed);                \
	SAME(cupti_kernel, device, theirs, deviceId);                    \
	SAME(cupti_kernel, context, theirs, contextId);                  \
	SAME(cupti_kernel, stream, theirs, streamId);                    \
	SAME(cupti_kernel, grid[0], theirs, gridX);                      \
	SAME(cupti_kernel, block[0], theirs, blockX);                    \
	SAME(cupti_kernel, registers, theirs, registersPerThread);       \
	SAME(cupti_kernel, static_shared, theirs, staticSharedMemory);   \
	SAME(cupti_kernel, dynamic_shared, theirs, dynamicSharedMemory); \
	SAME(cupti_kernel, correlation, theirs, correlationId);          \
	SAME(cupti_kernel, name, theirs, name)

COPY_AGREES(CUpti_ActivityMemcpy4);
COPY_AGREES(CUpti_ActivityMemcpy5);
COPY_AGREES(CUpti_ActivityMemcpyPtoP2);
COPY_AGREES(CUpti_ActivityMemcpyPtoP3);
COPY_AGREES(CUpti_ActivityMemcpyPtoP4);
SAME(cupti_memcpy, correlation, CUpti_ActivityMemcpy4, correlationId);
SAME(cupti_memcpy, correlation, CUpti_ActivityMemcpy5, correlationId);
SAME(cupti_call, kind, CUpti_ActivityAPI, kind);
SAME(cupti_call, function, CUpti_ActivityAPI, cbid);
SAME(cupti_call, start, CUpti_ActivityAPI, start);
SAME(cupti_call, thread, CUpti_ActivityAPI, threadId);
SAME(cupti_call, correlation, CUpti_ActivityAPI, correlationId);
MEMSET_AGREES(CUpti_ActivityMemset2);
MEMSET_AGREES(CUpti_ActivityMemset3);
MEMSET_AGREES(CUpti_ActivityMemset4);
KERNEL_AGREES(CUpti_ActivityKernel4);
KERNEL_AGREES(CUpti_ActivityKernel5);
KERNEL_AGREES(CUpti_ActivityKernel9);
#if CUPTI_API_VERSION >= 130000
COPY_AGREES(CUpti_ActivityMemcpy6);
KERNEL_AGREES(CUpti_ActivityKernel10);
#endif

#define NUMBER(ours, theirs) _Static_assert((int)ours == (int)theirs, #theirs)
NUMBER(CUPTI_OK, CUPTI_SUCCESS);
NUMBER(CUPTI_MAX_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
NUMBER(CUPTI_NOT_COMPATIBLE, CUPTI_ERROR_NOT_COMPATIBLE);
NUMBER(CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
NUMBER(CUPTI_DISABLED, CUPTI_ERROR_DISABLED);
NUMBER(CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
NUMBER(CUPTI_TAKEN, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
NUMBER(CUPTI_VGPU_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
#if CUDA_VERSION >= 13000
NUMBER(CUPTI_CONFIDENTIAL, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
NUMBER(CUPTI_WSL, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);
#endif
NUMBER(CUPTI_UNKNOWN, CUPTI_ERROR_UNKNOWN);
NUMBER(CUPTI_THREADS_BY_PTHREAD, CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT);
NUMBER(CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
NUMBER(CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
NUMBER(CUPTI_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
NUMBER(CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
#define COPY_CALL(function, number) NUMBER(number, CUPTI_DRIVER_TRACE_CBID_##function);
#include "trace/collect/copy_calls.def"
#define LAUNCH_CALL(function, number) NUMBER(number, CUPTI_DRIVER_TRACE_CBID_##function);
#include "trace/collect/launch_calls.def"
NUMBER(CUPTI_DRIVER_CALL, CUPTI_ACTIVITY_KIND_DRIVER);
NUMBER(CUPTI_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
NUMBER(CUPTI_H2D, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
NUMBER(CUPTI_D2H, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
NUMBER(CUPTI_H2A, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA);
NUMBER(CUPTI_A2H, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH);
NUMBER(CUPTI_A2A, CUPTI_ACTIVITY_MEMCPY_KIND_ATOA);
NUMBER(CUPTI_A2D, CUPTI_ACTIVITY_MEMCPY_KIND_ATOD);
NUMBER(CUPTI_D2A, CUPTI_ACTIVITY_MEMCPY_KIND_DTOA);
NUMBER(CUPTI_D2D, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
NUMBER(CUPTI_H2H, CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
NUMBER(CUPTI_P2P, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
NUMBER(CUPTI_PAGEABLE, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
NUMBER(CUPTI_PINNED, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
NUMBER(CUPTI_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
NUMBER(CUPTI_ARRAY, CUPTI_ACTIVITY_MEMORY_KIND_ARRAY);
NUMBER(CUPTI_MANAGED, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED);
NUMBER(CUPTI_DEVICE_STATIC, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC);
NUMBER(CUPTI_MANAGED_STATIC, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC);
NUMBER(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
NUMBER(CUPTI_ATTRIBUTE_ZEROED, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
_Static_assert(sizeof(CUpti_ActivityKind) == sizeof(uint32_t), "kinds are 32 bits wide");
_Static_assert(sizeof(CUptiResult) == sizeof(int), "results are ints");

/* Functions that we call must accept our arguments. */
static int request_agrees(void)
{
	CUpti_BuffersCallbackRequestFunc theirs = NULL;
	cupti_request_fn ours = theirs;

	return ours == theirs;
}

TEST(heads_agree_with_the_header)
{
	CHECK(request_agrees());
}
#else
TEST(heads_agree_with_the_header)
{
	CHECK_SKIP("no cupti.h");
}
#endif

CHECK_MAIN()
