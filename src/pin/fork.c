/*
 * fork.c - the blocks of the child are plain memory.
 */
#include "pin/fork.h"
#include "base/lock.h"
#include "pin/background.h"
#include "pin/pin.h"
#include "pin/user_registration.h"

void pin_after_fork_child(void)
{
	pin_stop("this is the child of a fork");
	hp_lock(HP_LOCK_pin);
	background_after_fork_child();
	hp_users_reset(&pin_copies);
	pin_forget_all(user_registration_any());
	hp_unlock(HP_LOCK_pin);
}
