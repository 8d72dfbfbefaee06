/*
 * unpin.c - unpinning in the program's thread.  Unpinning waits for running kernels, as the
 * program's own unregistering would.
 */
#include "engine/unpin.h"
#include "base/users.h"
#include "engine/state.h"
#include "heap/reclaim.h"
#include "pin/eviction.h"
#include "pin/pin.h"
#include "pin/user_registration.h"
#include "stage/bounce.h"
#include "stage/memory.h"

static void unpin(const void *address, size_t bytes, bool in_copy)
{
	if (!state_active || !pin_covers_any(address, bytes))
		return;
	pin_before_user_registration(address, bytes, in_copy);
	pin_after_user_registration(address, bytes, false);
}

void unpin_range(const void *address, size_t bytes)
{
	unpin(address, bytes, false);
}

void unpin_range_in_copy(const void *address, size_t bytes)
{
	unpin(address, bytes, true);
}

bool unpin_hold(CUdeviceptr address)
{
	if (!state_active)
		return false;
	hp_uncancellable_begin();
	pin_before_user_registration((const void *)address, 1, false);
	return true;
}

void unpin_release(CUdeviceptr address)
{
	pin_after_user_registration((const void *)address, 1, false);
	hp_uncancellable_end();
}

bool unpin_for_program(CUresult result)
{
	if (result != CUDA_ERROR_OUT_OF_MEMORY || !state_active)
		return false;
	size_t bytes = pin_evict_all() + memory_give_back();
	bounce_give_back();
	return heap_trim(0) || bytes != 0;
}
