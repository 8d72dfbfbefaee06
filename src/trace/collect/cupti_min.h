/*
 * hotpin's own declarations of the parts of CUPTI that it uses: numbers, and the head of each
 * record.
 *
 * NVIDIA only appends to records, so these heads are right for every CUPTI from CUDA 11 on.  The
 * sizes of records differ, so hotpin neither copies records nor steps over them by size.
 * test/unit/test_layout.c checks each offset and number against the toolkit's cupti_activity.h at
 * compile time.
 */
#ifndef HP_TRACE_COLLECT_CUPTI_MIN_H
#define HP_TRACE_COLLECT_CUPTI_MIN_H

#include <stddef.h>
#include <stdint.h>

enum cupti_result {
	CUPTI_OK = 0,
	CUPTI_MAX_LIMIT_REACHED = 12, /* on enabling: in use (CUDA 11); on reading: the end */
	CUPTI_NOT_COMPATIBLE = 14,
	CUPTI_NOT_INITIALIZED = 15,
	CUPTI_DISABLED = 23, /* a debugger or profiler */
	CUPTI_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_TAKEN = 39, /* MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */
	CUPTI_VGPU_PRIVILEGES = 40,
	CUPTI_CONFIDENTIAL = 41, /* the first of five kinds of unsupported devices */
	CUPTI_WSL = 45,          /* the last of them */
	CUPTI_UNKNOWN = 999,
};

enum cupti_kind {
	CUPTI_MEMCPY = 1,
	CUPTI_MEMSET = 2,
	CUPTI_KERNEL = 3,
	CUPTI_DRIVER_CALL = 4,
	CUPTI_CONCURRENT_KERNEL = 10,
	CUPTI_MEMCPY2 = 22, /* between devices */
};

enum cupti_copy_kind {
	CUPTI_H2D = 1,
	CUPTI_D2H,
	CUPTI_H2A,
	CUPTI_A2H,
	CUPTI_A2A,
	CUPTI_A2D,
	CUPTI_D2A,
	CUPTI_D2D,
	CUPTI_H2H,
	CUPTI_P2P,
};

enum cupti_memory_kind {
	CUPTI_MEMORY_UNKNOWN,
	CUPTI_PAGEABLE,
	CUPTI_PINNED,
	CUPTI_DEVICE,
	CUPTI_ARRAY,
	CUPTI_MANAGED,
	CUPTI_DEVICE_STATIC,
	CUPTI_MANAGED_STATIC,
	CUPTI_MEMORY_KINDS
};

#define CUPTI_FLUSH_FORCED       1
#define CUPTI_ATTRIBUTE_ZEROED   5
#define CUPTI_THREADS_BY_PTHREAD 0
#define CUPTI_CONTEXT_ALL        NULL

/* MEMCPY and MEMCPY2, which are equal except for the last field. */
struct cupti_memcpy {
	uint32_t kind;
	uint8_t copy_kind, source_kind, target_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t correlation; /* of MEMCPY alone */
};

/* A call of the driver. */
struct cupti_call {
	uint32_t kind, function;
	uint64_t start, end;
	uint32_t process, thread, correlation;
};

struct cupti_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
};

struct cupti_kernel {
	uint32_t kind;
	uint8_t unread1[2];
	uint16_t registers;
	uint8_t unread2[8];
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared;
	uint8_t unread3[8];
	uint32_t correlation;
	uint8_t unread4[8];
	const char *name; /* CUPTI's; may be NULL */
};

typedef void (*cupti_request_fn)(uint8_t **buffer, size_t *size, size_t *most_records);
typedef void (*cupti_complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
				  size_t valid);

#endif
