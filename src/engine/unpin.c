/*
 * unpin.c - unpinning in the program's thread.  Unpinning waits for users of the block and for
 * running kernels, as the program's own unregistering would.
 */
#include "engine/unpin.h"
#include "base/cancel.h"
#include "engine/state.h"
#include "heap/reclaim.h"
#include "pin/pin.h"
#include "pin/pinning.h"
#include "pin/unpin.h"
#include "stage/memory.h"

void unpin_range(const void *address, size_t bytes)
{
	if (state_active && heap_touches(address, bytes))
		pin_unpin(address, bytes);
}

void unpin_everything(void)
{
	if (!state_active)
		return;
	pin_queue_forget(0);
	pin_unpin(NULL, SIZE_MAX);
	memory_give_back();
}

void unpin_hold(void)
{
	hp_uncancellable_begin();
	pin_hold();
}

void unpin_release(void)
{
	pin_release();
	hp_uncancellable_end();
}

bool unpin_device_address(CUdeviceptr address)
{
	if (!state_active)
		return false;
	unpin_hold();
	unpin_range((const void *)address, 1);
	return true;
}

bool unpin_for_program(CUresult result)
{
	if (result != CUDA_ERROR_OUT_OF_MEMORY || !state_active)
		return false;
	size_t bytes = pin_unpin_all() + memory_give_back();
	return heap_trim(0) || bytes != 0;
}
