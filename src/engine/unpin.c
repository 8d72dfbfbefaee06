/*
 * unpin.c - unpinning in the program's thread.  Unpinning waits for running kernels, as the
 * program's own unregistering would.
 */
#include "engine/unpin.h"
#include "base/users.h"
#include "engine/state.h"
#include "pin/pin.h"
#include "pin/user_registration.h"

void unpin_range(const void *address, size_t bytes)
{
	if (!state_active || !pin_covers_any(address, bytes))
		return;
	pin_before_user_registration(address, bytes);
	pin_after_user_registration(address, bytes, false);
}

bool unpin_hold(CUdeviceptr address)
{
	if (!state_active)
		return false;
	hp_uncancellable_begin();
	pin_before_user_registration((const void *)address, 1);
	return true;
}

void unpin_release(CUdeviceptr address)
{
	pin_after_user_registration((const void *)address, 1, false);
	hp_uncancellable_end();
}
