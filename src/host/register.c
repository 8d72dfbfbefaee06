/*
 * register.c - cuMemHostRegister and cuMemHostUnregister on our own account.
 *
 * Both would break a stream capture that is under way, in this thread too: real/relaxed.h.
 */
#include "host/register.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/protections.h"
#include "real/relaxed.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

/*
 * The first copy of touched memory, H200, ms, registered whole first and in eight pieces: 64 MiB
 * 2.2 and 1.5 (5.6 without us), 256 MiB 8.7 and 5.7 (27).
 */
#define PIECE_LEAST ((size_t)8 << 20)
#define PIECES      8
#define PIECE_ALIGN HP_HUGE_PAGE_BYTES /* no 2 MiB page in two registrations */

/*
 * The process that registers.  A child by clone() runs no handler of fork(), and what it asked of
 * the driver would be done to its parent's memory.
 */
static _Atomic pid_t home;

bool register_possible(uintptr_t *ret_context)
{
	CUcontext context = NULL;
	pid_t self = getpid(), nobody = 0;

	if (!atomic_compare_exchange_strong(&home, &nobody, self) && nobody != self)
		return false;
	if (!REAL_HAS(cuMemHostRegister_v2) || !REAL_HAS(cuMemHostUnregister) ||
	    !REAL_HAS(cuCtxGetCurrent))
		return false;
	if (REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || context == NULL)
		return false;
	*ret_context = (uintptr_t)context;
	return true;
}

bool register_enter(uintptr_t context)
{
	return REAL_HAS(cuCtxSetCurrent) &&
	       REAL(cuCtxSetCurrent)((CUcontext)context) == CUDA_SUCCESS;
}

void register_leave(void)
{
	REAL(cuCtxSetCurrent)(NULL);
}

size_t register_piece(size_t room)
{
	size_t count = room / PIECE_LEAST < PIECES ? room / PIECE_LEAST : PIECES;

	return count < 2 ? room : (room / count + PIECE_ALIGN - 1) & -PIECE_ALIGN;
}

CUresult register_begin(uintptr_t base, size_t bytes)
{
	int saved = errno;
	struct relaxed relaxed = relaxed_begin();
	CUresult result =
		REAL(cuMemHostRegister_v2)((void *)base, bytes, CU_MEMHOSTREGISTER_PORTABLE);

	relaxed_end(&relaxed);
	errno = saved;
	return result;
}

/* Makes `owner` current where nothing is.  True: the caller must take it off again. */
static bool borrow(uintptr_t owner)
{
	CUcontext current = NULL;

	return owner != 0 && REAL_HAS(cuCtxSetCurrent) &&
	       REAL(cuCtxGetCurrent)(&current) == CUDA_SUCCESS && current == NULL &&
	       REAL(cuCtxSetCurrent)((CUcontext)owner) == CUDA_SUCCESS;
}

/* A registration ends with its context, too, and with the driver. */
static bool is_gone(CUresult result)
{
	return result == CUDA_SUCCESS || result == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED ||
	       result == CUDA_ERROR_CONTEXT_IS_DESTROYED || result == CUDA_ERROR_DEINITIALIZED;
}

int register_end_some(const struct block *block, size_t done, uintptr_t owner)
{
	if (getpid() != atomic_load(&home) && hp_keeps(clone_asks_nothing))
		return -EBUSY;

	int saved = errno;
	struct relaxed relaxed = relaxed_begin();
	bool borrowed = borrow(owner), gone = true;

	for (size_t at = 0; at < done; at += block->piece) {
		void *piece = (void *)(block->base + at);
		CUresult result = REAL(cuMemHostUnregister)(piece);

		/* What is left registered the program cannot register: it is worth another try. */
		if (!is_gone(result))
			result = REAL(cuMemHostUnregister)(piece);
		if (result != CUDA_SUCCESS)
			hp_debug("unpinning %p: CUDA error %d", piece, (int)result);
		gone = is_gone(result) && gone;
	}
	if (borrowed)
		REAL(cuCtxSetCurrent)(NULL);
	relaxed_end(&relaxed);
	errno = saved;
	return gone ? 0 : -EBUSY;
}

int register_end(const struct block *block, uintptr_t owner)
{
	return register_end_some(block, block->room, owner);
}
