/*
 * memory.c - the program's queries about its memory, and its own registrations.
 *
 * To the program a pinned block is pageable.  hotpin passes a query about a pinned block to the
 * driver with an address of pageable memory instead, so the answer and the error codes are the
 * driver's own.  A block that is not pinned stays so until the driver has answered, because another
 * thread may be about to pin it.
 */
#include "base/protections.h"
#include "base/users.h"
#include "engine/state.h"
#include "engine/unpin.h"
#include "engine/visibility.h"
#include "heap/map.h"
#include "pin/pin.h"
#include "pin/user_registration.h"
#include "shim/driver/enter.h"

/* Never registered, because it is hotpin's own data; large enough for any alignment. */
static char pageable[64] __attribute__((aligned(64)));

static bool is_pinned(const void *address)
{
	return state_active && pin_covers_any(address, 1);
}

/* Returns the address that the driver is asked about in place of `address`. */
static CUdeviceptr mask(CUdeviceptr address)
{
	return hp_keeps(query_as_pageable) && is_pinned((const void *)address)
		       ? (CUdeviceptr)pageable
		       : address;
}

static void *mask_host(void *address)
{
	return hp_keeps(query_of_host_memory) && is_pinned(address) ? pageable : address;
}

/* Evaluates `call`, the driver's answer.  If `in_heap`, no block becomes pinned meanwhile. */
#define ANSWER_IF(in_heap, call)                       \
	({                                             \
		bool asks = state_active && (in_heap); \
                                                       \
		if (asks)                              \
			pin_query_begin();             \
		CUresult answer = call;                \
		if (asks)                              \
			pin_query_end();               \
		answer;                                \
	})
#define ANSWER(address, call) ANSWER_IF(heap_owns((const void *)(address)), call)

/* Questions; `arguments` contain mask(address). */
#define ASK(name, parameters, arguments)                      \
	HP_EXPORT CUresult name parameters                    \
	{                                                     \
		SHIM_ENTER(REAL_ROW_##name);                  \
		return ANSWER(address, REAL(name) arguments); \
	}
ASK(cuPointerGetAttribute, (void *data, CUpointer_attribute attribute, CUdeviceptr address),
    (data, attribute, mask(address)))
ASK(cuMemHostGetFlags, (unsigned *flags, void *address), (flags, mask_host(address)))
ASK(cuMemHostGetDevicePointer_v2, (CUdeviceptr * ret, void *address, unsigned flags),
    (ret, mask_host(address), flags))
ASK(cuMemGetAddressRange_v2, (CUdeviceptr * base, size_t *bytes, CUdeviceptr address),
    (base, bytes, mask(address)))
ASK(cuMemRangeGetAttribute,
    (void *data, size_t data_bytes, CUmem_range_attribute attribute, CUdeviceptr address,
     size_t bytes),
    (data, data_bytes, attribute, mask(address), bytes))
ASK(cuMemRangeGetAttributes,
    (void **data, size_t *data_bytes, CUmem_range_attribute *attributes, size_t count,
     CUdeviceptr address, size_t bytes),
    (data, data_bytes, attributes, count, mask(address), bytes))
#undef ASK

HP_EXPORT CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes,
					  void **data, CUdeviceptr address)
{
	SHIM_ENTER(REAL_ROW_cuPointerGetAttributes);

	CUdeviceptr asked;
	CUresult result =
		ANSWER(address, (asked = mask(address),
				 REAL(cuPointerGetAttributes)(count, attributes, data, asked)));
	if (asked == address || result != CUDA_SUCCESS || !hp_keeps(query_returns_address))
		return result;
	/* Of pageable memory the driver knows only the address (driver 580). */
	for (unsigned i = 0; i < count; i++)
		if (attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER &&
		    *(CUdeviceptr *)data[i] == asked)
			*(CUdeviceptr *)data[i] = address;
	return result;
}

HP_EXPORT CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
					 CUdeviceptr address)
{
	SHIM_ENTER(REAL_ROW_cuPointerSetAttribute);
	if (attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		visibility_raise(REAL_SEEN_SYNC_MEMOPS);
	return ANSWER(address, REAL(cuPointerSetAttribute)(value, attribute, mask(address)));
}

/*
 * Advice and prefetching act on the pages themselves, so no other address can be named: the block
 * is unpinned first.  The range may start outside the heap and reach into it.
 */
#define UNPIN(name, on, parameters, arguments)                                                    \
	HP_EXPORT CUresult name parameters                                                        \
	{                                                                                         \
		SHIM_ENTER_ON(REAL_ROW_##name, on);                                               \
		return ANSWER_IF(                                                                 \
			true, (unpin_range((const void *)address, bytes), REAL(name) arguments)); \
	}
#define PREFETCH(name)                                                                             \
	UNPIN(name, stream, (CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream), \
	      (address, bytes, device, stream))
#define PREFETCH_V2(name)                                                                 \
	UNPIN(name, stream,                                                               \
	      (CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags, \
	       CUstream stream),                                                          \
	      (address, bytes, location, flags, stream))
UNPIN(cuMemAdvise, GATE_NO_STREAM,
      (CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device),
      (address, bytes, advice, device))
PREFETCH(cuMemPrefetchAsync)
PREFETCH(cuMemPrefetchAsync_ptsz)
UNPIN(cuMemAdvise_v2, GATE_NO_STREAM,
      (CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location),
      (address, bytes, advice, location))
PREFETCH_V2(cuMemPrefetchAsync_v2)
PREFETCH_V2(cuMemPrefetchAsync_v2_ptsz)

/* Several ranges in one call. */
#define UNPIN_EACH(name, parameters, arguments)                                                \
	HP_EXPORT CUresult name parameters                                                     \
	{                                                                                      \
		SHIM_ENTER_ON(REAL_ROW_##name, stream);                                        \
		return ANSWER_IF(true,                                                         \
				 (unpin_each(addresses, sizes, count), REAL(name) arguments)); \
	}
#define DISCARD(name)                                                      \
	UNPIN_EACH(name,                                                   \
		   (CUdeviceptr * addresses, size_t * sizes, size_t count, \
		    unsigned long long flags, CUstream stream),            \
		   (addresses, sizes, count, flags, stream))
#define PREFETCH_EACH(name)                                                    \
	UNPIN_EACH(name,                                                       \
		   (CUdeviceptr * addresses, size_t * sizes, size_t count,     \
		    CUmemLocation * locations, size_t * indices, size_t kinds, \
		    unsigned long long flags, CUstream stream),                \
		   (addresses, sizes, count, locations, indices, kinds, flags, stream))
static void unpin_each(const CUdeviceptr *addresses, const size_t *sizes, size_t count)
{
	for (size_t i = 0; addresses != NULL && sizes != NULL && i < count; i++)
		unpin_range((const void *)addresses[i], sizes[i]);
}

DISCARD(cuMemDiscardBatchAsync)
DISCARD(cuMemDiscardBatchAsync_ptsz)
PREFETCH_EACH(cuMemPrefetchBatchAsync)
PREFETCH_EACH(cuMemPrefetchBatchAsync_ptsz)
PREFETCH_EACH(cuMemDiscardAndPrefetchBatchAsync)
PREFETCH_EACH(cuMemDiscardAndPrefetchBatchAsync_ptsz)
#undef UNPIN
#undef UNPIN_EACH
#undef DISCARD
#undef PREFETCH_EACH
#undef PREFETCH
#undef PREFETCH_V2

/* The program's own registration would fail next to hotpin's (error 712), so hotpin's ends first.
 */
#define REGISTER(name)                                                                       \
	HP_EXPORT CUresult name(void *address, size_t bytes, unsigned flags)                 \
	{                                                                                    \
		SHIM_ENTER(REAL_ROW_##name);                                                 \
		if (!state_active)                                                           \
			return REAL(name)(address, bytes, flags);                            \
		hp_uncancellable_begin();                                                    \
		if (hp_keeps(registered_unpinned))                                           \
			pin_before_user_registration(address, bytes, false);                 \
		visibility_pinned(1);                                                        \
		CUresult result = REAL(name)(address, bytes, flags);                         \
		if (unpin_for_program(result))                                               \
			result = REAL(name)(address, bytes, flags);                          \
		if (result != CUDA_SUCCESS)                                                  \
			visibility_pinned(-1);                                               \
		if (hp_keeps(registered_known))                                              \
			pin_after_user_registration(address, bytes, result == CUDA_SUCCESS); \
		hp_uncancellable_end();                                                      \
		return result;                                                               \
	}
REGISTER(cuMemHostRegister)
REGISTER(cuMemHostRegister_v2)
#undef REGISTER

/*
 * True if the program has registered memory of the block.  hotpin never pins such a block, so the
 * driver's call, which waits for kernels, runs without pin_query_begin().
 */
static bool is_user_registered(const void *address)
{
	const struct block *block = range_find(address);

	return block != NULL && atomic_load(&block->pin) == BLOCK_USER_REGISTERED;
}

/* Unregistering a block that only hotpin registered must fail, as it would without hotpin. */
HP_EXPORT CUresult cuMemHostUnregister(void *address)
{
	SHIM_ENTER(REAL_ROW_cuMemHostUnregister);

	CUresult result = is_user_registered(address)
				  ? REAL(cuMemHostUnregister)(address)
				  : ANSWER(address, REAL(cuMemHostUnregister)(mask_host(address)));
	if (result == CUDA_SUCCESS && state_active) {
		if (hp_keeps(unregistered_noticed))
			pin_user_registration_ended(address);
		visibility_pinned(-1);
	}
	return result;
}

HP_EXPORT CUresult cuMemFreeHost(void *address)
{
	SHIM_ENTER(REAL_ROW_cuMemFreeHost);

	CUresult result = ANSWER(address, REAL(cuMemFreeHost)(mask_host(address)));
	if (result == CUDA_SUCCESS && address != NULL)
		visibility_pinned(-1);
	return result;
}
