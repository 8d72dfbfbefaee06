/*
 * memory.c - the program's queries about its memory, and its own registrations.
 *
 * To the program a pinned block is pageable.  hotpin passes a query about a pinned block to the
 * driver with an address of pageable memory instead, so the answer and the error codes are the
 * driver's own.  The thread is inside a block that is not pinned until the driver has answered,
 * because another thread may be about to pin it.
 */
#include "base/protections.h"
#include "base/thread.h"
#include "engine/state.h"
#include "engine/visibility.h"
#include "heap/map.h"
#include "pin/use.h"
#include "pin/user_registration.h"
#include "shim/driver/run.h"

/* Never registered, because it is hotpin's own data; large enough for any alignment. */
static char pageable[64] __attribute__((aligned(64)));

/*
 * Enters the block of `address`.  Returns the address that the driver is asked about: another,
 * pageable one if the block is pinned, or may be pinned or unpinned just now.
 */
static void *mask(const void *address, const void *frame)
{
	struct block *block = state_active && heap_owns(address) ? range_find(address) : NULL;

	if (block == NULL || !hp_keeps(query_as_pageable))
		return (void *)address;
	pin_give_back(frame);
	if (pin_enter_pageable(block, frame) == PIN_TAKEN)
		return pageable;
	if (!hp_keeps(query_blocks_pinning))
		pin_leave(frame);
	return (void *)address;
}

/* Evaluates `call`, the driver's answer about `asked`. */
#define ANSWER(address, call)                                                      \
	({                                                                         \
		const void *frame = __builtin_frame_address(0);                    \
		__typeof__(address) asked =                                        \
			(__typeof__(address))mask((const void *)(address), frame); \
		CUresult answer = call;                                            \
		pin_leave(frame);                                                  \
		answer;                                                            \
	})

/* Questions; `arguments` contain `asked`. */
#define ASK(name, parameters, arguments)                      \
	HP_EXPORT CUresult name parameters                    \
	{                                                     \
		SHIM_ENTER(REAL_ROW_##name);                  \
		return ANSWER(address, REAL(name) arguments); \
	}
ASK(cuPointerGetAttribute, (void *data, CUpointer_attribute attribute, CUdeviceptr address),
    (data, attribute, asked))
ASK(cuMemHostGetFlags, (unsigned *flags, void *address), (flags, asked))
ASK(cuMemHostGetDevicePointer_v2, (CUdeviceptr * ret, void *address, unsigned flags),
    (ret, asked, flags))
ASK(cuMemGetAddressRange_v2, (CUdeviceptr * base, size_t *bytes, CUdeviceptr address),
    (base, bytes, asked))
ASK(cuMemRangeGetAttribute,
    (void *data, size_t data_bytes, CUmem_range_attribute attribute, CUdeviceptr address,
     size_t bytes),
    (data, data_bytes, attribute, asked, bytes))
ASK(cuMemRangeGetAttributes,
    (void **data, size_t *data_bytes, CUmem_range_attribute *attributes, size_t count,
     CUdeviceptr address, size_t bytes),
    (data, data_bytes, attributes, count, asked, bytes))
#undef ASK

HP_EXPORT CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes,
					  void **data, CUdeviceptr address)
{
	SHIM_ENTER(REAL_ROW_cuPointerGetAttributes);

	CUdeviceptr named = address;
	CUresult result =
		ANSWER(address, (named = asked,
				 REAL(cuPointerGetAttributes)(count, attributes, data, asked)));
	if (named == address || result != CUDA_SUCCESS || !hp_keeps(query_returns_address))
		return result;
	/* Of pageable memory the driver knows only the address (driver 580). */
	for (unsigned i = 0; i < count; i++)
		if (attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER &&
		    *(CUdeviceptr *)data[i] == named)
			*(CUdeviceptr *)data[i] = address;
	return result;
}

HP_EXPORT CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
					 CUdeviceptr address)
{
	SHIM_ENTER(REAL_ROW_cuPointerSetAttribute);
	if (attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		visibility_raise(REAL_SEEN_SYNC_MEMOPS);
	return ANSWER(address, REAL(cuPointerSetAttribute)(value, attribute, asked));
}

/*
 * Advice, prefetching and attaching act on the pages themselves, so no other address can be named:
 * the block is unpinned first.  The range may start outside the heap and reach into it.
 */
static void unpin_each(const CUdeviceptr *addresses, const size_t *sizes, size_t count)
{
	for (size_t i = 0; addresses != NULL && sizes != NULL && i < count; i++)
		unpin_range((const void *)addresses[i], sizes[i]);
}

#define RANGE  unpin_range((const void *)address, bytes)
#define RANGES unpin_each(addresses, sizes, count)
#define BOTH(name, ...)                        \
	SHIM_UNPINS(name, stream, __VA_ARGS__) \
	SHIM_UNPINS(name##_ptsz, stream, __VA_ARGS__)
SHIM_UNPINS(cuMemAdvise, GATE_NO_STREAM, RANGE,
	    (CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device),
	    (address, bytes, advice, device))
SHIM_UNPINS(cuMemAdvise_v2, GATE_NO_STREAM, RANGE,
	    (CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location),
	    (address, bytes, advice, location))
BOTH(cuMemPrefetchAsync, RANGE,
     (CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream),
     (address, bytes, device, stream))
BOTH(cuMemPrefetchAsync_v2, RANGE,
     (CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags, CUstream stream),
     (address, bytes, location, flags, stream))
BOTH(cuMemDiscardBatchAsync, RANGES,
     (CUdeviceptr * addresses, size_t *sizes, size_t count, unsigned long long flags,
      CUstream stream),
     (addresses, sizes, count, flags, stream))
BOTH(cuMemPrefetchBatchAsync, RANGES,
     (CUdeviceptr * addresses, size_t *sizes, size_t count, CUmemLocation *locations,
      size_t *indices, size_t kinds, unsigned long long flags, CUstream stream),
     (addresses, sizes, count, locations, indices, kinds, flags, stream))
BOTH(cuMemDiscardAndPrefetchBatchAsync, RANGES,
     (CUdeviceptr * addresses, size_t *sizes, size_t count, CUmemLocation *locations,
      size_t *indices, size_t kinds, unsigned long long flags, CUstream stream),
     (addresses, sizes, count, locations, indices, kinds, flags, stream))
BOTH(cuStreamAttachMemAsync, (visibility_raise(REAL_SEEN_MANAGED), RANGE),
     (CUstream stream, CUdeviceptr address, size_t bytes, unsigned flags),
     (stream, address, bytes, flags))
#undef RANGE
#undef RANGES
#undef BOTH

/* The program's own registration would fail next to hotpin's (error 712), so hotpin's ends first.
 */
#define REGISTER(name)                                                                       \
	HP_EXPORT CUresult name(void *address, size_t bytes, unsigned flags)                 \
	{                                                                                    \
		SHIM_ENTER(REAL_ROW_##name);                                                 \
		if (!state_active)                                                           \
			return REAL(name)(address, bytes, flags);                            \
		pin_give_back(__builtin_frame_address(0));                                   \
		hp_uncancellable_begin();                                                    \
		if (hp_keeps(registered_unpinned))                                           \
			pin_before_user_registration(address, bytes);                        \
		visibility_pinned(1);                                                        \
		CUresult result = REAL(name)(address, bytes, flags);                         \
		if (unpin_for_program(result))                                               \
			result = REAL(name)(address, bytes, flags);                          \
		if (result != CUDA_SUCCESS)                                                  \
			visibility_pinned(-1);                                               \
		else                                                                         \
			shim_call_pinned(&shim_call, address, bytes, true);                  \
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
 * driver's call, which waits for kernels, runs without entering it.
 */
static bool is_user_registered(const void *address)
{
	const struct block *block = range_find(address);

	return block != NULL && (atomic_load(&block->word) & WORD_REGISTERED) != 0;
}

/* Unregistering a block that only hotpin registered must fail, as it would without hotpin. */
HP_EXPORT CUresult cuMemHostUnregister(void *address)
{
	SHIM_ENTER(REAL_ROW_cuMemHostUnregister);

	bool acts = state_active;
	if (acts)
		hp_uncancellable_begin();
	CUresult result = is_user_registered(address)
				  ? REAL(cuMemHostUnregister)(address)
				  : ANSWER(address, REAL(cuMemHostUnregister)(asked));
	if (result == CUDA_SUCCESS && acts) {
		if (hp_keeps(registered_known))
			pin_user_registration_ended(address);
		visibility_pinned(-1);
		shim_call_unpinned(&shim_call, address);
	}
	if (acts)
		hp_uncancellable_end();
	return result;
}

HP_EXPORT CUresult cuMemFreeHost(void *address)
{
	SHIM_ENTER(REAL_ROW_cuMemFreeHost);

	bool acts = state_active;
	if (acts)
		hp_uncancellable_begin();
	CUresult result = ANSWER(address, REAL(cuMemFreeHost)(asked));
	if (result == CUDA_SUCCESS && address != NULL) {
		visibility_pinned(-1);
		shim_call_unpinned(&shim_call, address);
	}
	if (acts)
		hp_uncancellable_end();
	return result;
}
