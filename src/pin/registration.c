/*
 * registration.c - cuMemHostRegister and cuMemHostUnregister for our own purposes.
 *
 * Both would break a stream capture in progress, also in this thread: real/relaxed.h prevents
 * that.
 */
#include "pin/registration.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/protections.h"
#include "real/relaxed.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

/*
 * A first copy of 64 MiB of touched memory takes 2.2 ms registered whole, 1.5 in eight segments
 * and 5.6 pageable (H200).
 */
#define SEGMENT_LEAST ((size_t)8 << 20)
#define SEGMENTS      8
#define SEGMENT_ALIGN HP_HUGE_PAGE_BYTES /* no 2 MiB page in two registrations */

/*
 * The process that registers.  A child of clone() runs no fork() handler, and its driver calls
 * would act on the memory of its parent.
 */
static _Atomic pid_t home;

bool registration_possible(uintptr_t *ret_context)
{
	CUcontext context = NULL;
	pid_t self = getpid(), nobody = 0;

	if (!atomic_compare_exchange_strong(&home, &nobody, self) && nobody != self)
		return false;
	if (REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || context == NULL)
		return false;
	*ret_context = (uintptr_t)context;
	return true;
}

bool registration_enter(uintptr_t context)
{
	return REAL(cuCtxSetCurrent)((CUcontext)context) == CUDA_SUCCESS;
}

void registration_leave(void)
{
	REAL(cuCtxSetCurrent)(NULL);
}

size_t registration_segment(size_t room)
{
	size_t count = room / SEGMENT_LEAST < SEGMENTS ? room / SEGMENT_LEAST : SEGMENTS;

	return count < 2 ? room : (room / count + SEGMENT_ALIGN - 1) & -SEGMENT_ALIGN;
}

CUresult registration_begin(uintptr_t base, size_t bytes)
{
	int saved = errno;
	struct relaxed relaxed = relaxed_begin();
	CUresult result =
		REAL(cuMemHostRegister_v2)((void *)base, bytes, CU_MEMHOSTREGISTER_PORTABLE);

	relaxed_end(&relaxed);
	errno = saved;
	return result;
}

/* Makes `owner` current if no context is.  True: the caller must take it off again. */
static bool borrow(uintptr_t owner)
{
	CUcontext current = NULL;

	return owner != 0 && REAL(cuCtxGetCurrent)(&current) == CUDA_SUCCESS && current == NULL &&
	       REAL(cuCtxSetCurrent)((CUcontext)owner) == CUDA_SUCCESS;
}

/* A registration also ends with its context and with the driver. */
static bool is_gone(CUresult result)
{
	return result == CUDA_SUCCESS || result == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED ||
	       result == CUDA_ERROR_CONTEXT_IS_DESTROYED || result == CUDA_ERROR_DEINITIALIZED;
}

int registration_end_some(const struct block *block, size_t done, uintptr_t owner)
{
	if (getpid() != atomic_load(&home) && hp_keeps(clone_calls_no_driver))
		return -EBUSY;

	int saved = errno;
	struct relaxed relaxed = relaxed_begin();
	bool borrowed = borrow(owner), gone = true;

	for (size_t at = 0; at < done; at += block->segment) {
		void *segment = (void *)(block->base + at);
		CUresult result = REAL(cuMemHostUnregister)(segment);

		/*
		 * The program could not register pages that stay registered, so this is retried
		 * once.
		 */
		if (!is_gone(result))
			result = REAL(cuMemHostUnregister)(segment);
		if (result != CUDA_SUCCESS)
			hp_debug("unpinning %p: CUDA error %d", segment, (int)result);
		gone = is_gone(result) && gone;
	}
	if (borrowed)
		REAL(cuCtxSetCurrent)(NULL);
	relaxed_end(&relaxed);
	errno = saved;
	return gone ? 0 : -EBUSY;
}

int registration_end(const struct block *block, uintptr_t owner)
{
	return registration_end_some(block, block->room, owner);
}
