/*
 * registration.c - cuMemHostRegister and cuMemHostUnregister for our own purposes.
 *
 * Both would break a stream capture in progress, also in this thread: real/relaxed.h prevents
 * that.
 */
#include "pin/registration.h"
#include "base/log.h"
#include "base/protections.h"
#include "pin/pin.h"
#include "real/relaxed.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

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

/*
 * Nothing is pinned any more if another party registers memory of the heap, or ends registrations,
 * and hotpin does not see its calls.
 */
static void look_for_others(CUresult result)
{
	if (result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED ||
	    result == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
		pin_stop("a block has been registered or unregistered by another party");
}

CUresult registration_begin(uintptr_t base, size_t bytes)
{
	int saved = errno;
	struct relaxed relaxed = relaxed_begin();
	CUresult result =
		REAL(cuMemHostRegister_v2)((void *)base, bytes, CU_MEMHOSTREGISTER_PORTABLE);

	relaxed_end(&relaxed);
	look_for_others(result);
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

int registration_end(const struct block *block, uintptr_t owner)
{
	if (getpid() != atomic_load(&home) && hp_keeps(clone_calls_no_driver))
		return -EBUSY;

	int saved = errno;
	struct relaxed relaxed = relaxed_begin();
	bool borrowed = borrow(owner);
	CUresult result = REAL(cuMemHostUnregister)((void *)block->base);

	/* The program could not register pages that stay registered, so this is retried once. */
	if (!is_gone(result))
		result = REAL(cuMemHostUnregister)((void *)block->base);
	if (result != CUDA_SUCCESS)
		hp_debug("unpinning %p: CUDA error %d", (void *)block->base, (int)result);
	if (borrowed)
		REAL(cuCtxSetCurrent)(NULL);
	relaxed_end(&relaxed);
	/* A thread that has left a registration by longjmp() cannot know whether it was made. */
	if (atomic_load(&block->word) & WORD_PINNED)
		look_for_others(result);
	errno = saved;
	return is_gone(result) ? 0 : -EBUSY;
}
