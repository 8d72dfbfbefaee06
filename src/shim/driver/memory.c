/*
 * memory.c - what the program asks about its memory, and what it registers itself.
 *
 * To the program a promoted block is pageable.  Every question about one is put to the driver
 * with the address of pageable memory instead, so the answer, error codes included, is the
 * driver's own whatever its version.  One that is not promoted stays so until the driver has
 * answered: a thread of ours may be just about to pin it.
 */
#include "base/cancel.h"
#include "base/protections.h"
#include "engine/state.h"
#include "engine/unpin.h"
#include "engine/visibility.h"
#include "heap/range.h"
#include "pin/pin.h"
#include "pin/user_registration.h"
#include "shim/driver/enter.h"

/* Never registered by anybody: inside our own data, big enough for any alignment. */
static char pageable[64] __attribute__((aligned(64)));

static bool is_promoted(const void *address)
{
	return state_active() && pin_covers_any(address, 1);
}

/* What the driver is asked about in place of `address`. */
static CUdeviceptr mask(CUdeviceptr address)
{
	return hp_keeps(asked_as_pageable) && is_promoted((const void *)address)
		       ? (CUdeviceptr)pageable
		       : address;
}

static void *mask_host(void *address)
{
	return hp_keeps(asked_of_the_host) && is_promoted(address) ? pageable : address;
}

/* What the driver answers to `call`, which looks whether `address` is promoted, and names it. */
#define ANSWER_IF(ours, call)                         \
	({                                            \
		bool asks = state_active() && (ours); \
                                                      \
		if (asks)                             \
			pin_ask_begin();              \
		CUresult answer = call;               \
		if (asks)                             \
			pin_ask_end();                \
		answer;                               \
	})
#define ANSWER(address, call) ANSWER_IF(heap_owns((const void *)(address)), call)

HP_EXPORT CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute,
					 CUdeviceptr address)
{
	SHIM_ENTER(REAL_ROW_cuPointerGetAttribute);
	return ANSWER(address, REAL(cuPointerGetAttribute)(data, attribute, mask(address)));
}

HP_EXPORT CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes,
					  void **data, CUdeviceptr address)
{
	SHIM_ENTER(REAL_ROW_cuPointerGetAttributes);

	CUdeviceptr asked;
	CUresult result =
		ANSWER(address, (asked = mask(address),
				 REAL(cuPointerGetAttributes)(count, attributes, data, asked)));
	if (asked == address || result != CUDA_SUCCESS || !hp_keeps(answered_with_its_address))
		return result;
	/* Of pageable memory the driver says nothing but its address, and no device (580). */
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

HP_EXPORT CUresult cuMemHostGetFlags(unsigned *flags, void *address)
{
	SHIM_ENTER(REAL_ROW_cuMemHostGetFlags);
	return ANSWER(address, REAL(cuMemHostGetFlags)(flags, mask_host(address)));
}

HP_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *ret, void *address, unsigned flags)
{
	SHIM_ENTER(REAL_ROW_cuMemHostGetDevicePointer_v2);
	return ANSWER(address, REAL(cuMemHostGetDevicePointer_v2)(ret, mask_host(address), flags));
}

HP_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
	SHIM_ENTER(REAL_ROW_cuMemGetAddressRange_v2);
	return ANSWER(address, REAL(cuMemGetAddressRange_v2)(base, bytes, mask(address)));
}

HP_EXPORT CUresult cuMemRangeGetAttribute(void *data, size_t data_bytes,
					  CUmem_range_attribute attribute, CUdeviceptr address,
					  size_t bytes)
{
	SHIM_ENTER(REAL_ROW_cuMemRangeGetAttribute);
	return ANSWER(address, REAL(cuMemRangeGetAttribute)(data, data_bytes, attribute,
							    mask(address), bytes));
}

HP_EXPORT CUresult cuMemRangeGetAttributes(void **data, size_t *data_bytes,
					   CUmem_range_attribute *attributes, size_t count,
					   CUdeviceptr address, size_t bytes)
{
	SHIM_ENTER(REAL_ROW_cuMemRangeGetAttributes);
	return ANSWER(address, REAL(cuMemRangeGetAttributes)(data, data_bytes, attributes, count,
							     mask(address), bytes));
}

/*
 * Advice and prefetching act on the pages themselves, so no other address will do: what we
 * pinned there is given up first.  They may begin outside our heap and reach into it.
 */
#define UNPINNED(address, bytes, call) \
	ANSWER_IF(true, (unpin_range((const void *)(address), bytes), call))

HP_EXPORT CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice,
			       CUdevice device)
{
	SHIM_ENTER(REAL_ROW_cuMemAdvise);
	return UNPINNED(address, bytes, REAL(cuMemAdvise)(address, bytes, advice, device));
}

#if CUDA_VERSION >= 12020
HP_EXPORT CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice,
				  CUmemLocation location)
{
	SHIM_ENTER(REAL_ROW_cuMemAdvise_v2);
	return UNPINNED(address, bytes, REAL(cuMemAdvise_v2)(address, bytes, advice, location));
}
#endif

HP_EXPORT CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device,
				      CUstream stream)
{
	SHIM_ENTER_ON(REAL_ROW_cuMemPrefetchAsync, stream);
	return UNPINNED(address, bytes, REAL(cuMemPrefetchAsync)(address, bytes, device, stream));
}

HP_EXPORT CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr address, size_t bytes, CUdevice device,
					   CUstream stream)
{
	SHIM_ENTER_ON(REAL_ROW_cuMemPrefetchAsync_ptsz, stream);
	return UNPINNED(address, bytes,
			REAL(cuMemPrefetchAsync_ptsz)(address, bytes, device, stream));
}

#if CUDA_VERSION >= 12020
HP_EXPORT CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location,
					 unsigned flags, CUstream stream)
{
	SHIM_ENTER_ON(REAL_ROW_cuMemPrefetchAsync_v2, stream);
	return UNPINNED(address, bytes,
			REAL(cuMemPrefetchAsync_v2)(address, bytes, location, flags, stream));
}

HP_EXPORT CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr address, size_t bytes,
					      CUmemLocation location, unsigned flags,
					      CUstream stream)
{
	SHIM_ENTER_ON(REAL_ROW_cuMemPrefetchAsync_v2_ptsz, stream);
	return UNPINNED(address, bytes,
			REAL(cuMemPrefetchAsync_v2_ptsz)(address, bytes, location, flags, stream));
}
#endif

/* The program's own registration wins: ours would make it fail (712). */
#define REGISTER(name)                                                                       \
	HP_EXPORT CUresult name(void *address, size_t bytes, unsigned flags)                 \
	{                                                                                    \
		SHIM_ENTER(REAL_ROW_##name);                                                 \
		if (!state_active())                                                         \
			return REAL(name)(address, bytes, flags);                            \
		hp_uncancellable_begin();                                                    \
		if (hp_keeps(registered_unpinned))                                           \
			pin_before_user_registration(address, bytes);                        \
		visibility_pinned(1);                                                        \
		CUresult result = REAL(name)(address, bytes, flags);                         \
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

/* What the program has registered we do not pin, and to unregister it waits for kernels. */
static bool is_its_own(const void *address)
{
	const struct block *block = range_find(address);

	return block != NULL && atomic_load(&block->pin) == BLOCK_USER_REGISTERED;
}

/* It never registered what we did, so its unregistering fails as it would without us. */
HP_EXPORT CUresult cuMemHostUnregister(void *address)
{
	SHIM_ENTER(REAL_ROW_cuMemHostUnregister);

	CUresult result = is_its_own(address)
				  ? REAL(cuMemHostUnregister)(address)
				  : ANSWER(address, REAL(cuMemHostUnregister)(mask_host(address)));
	if (result == CUDA_SUCCESS && state_active()) {
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
