/*
 * use.c - a counter of copies, and a gate that blocks copies.
 *
 * A pin must not end during a copy that accesses the block directly.  So each copy is counted: no
 * block in use is unpinned while a copy runs, and a copy that begins during an unpinning waits.
 */
#include "pin/use.h"
#include "base/cancel.h"
#include "base/users.h"

/* Running copies; closed while a block in use is unpinned. */
static struct hp_users users;

void pin_use_begin(void)
{
	hp_uncancellable_begin();
	hp_users_enter(&users);
}

void pin_use_end(void)
{
	hp_users_leave(&users);
	hp_uncancellable_end();
}

bool pin_is_only_user(void)
{
	return hp_users_inside(&users) == 1;
}

bool use_close(void)
{
	return hp_users_try_close(&users);
}

void use_open(void)
{
	hp_users_open(&users);
}

bool use_is_over(void)
{
	return hp_users_inside(&users) == 0;
}

void use_after_fork_child(void)
{
	hp_users_reset(&users);
}
