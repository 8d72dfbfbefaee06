/*
 * Registrations that the program makes in blocks of the heap.
 */
#ifndef HP_PIN_USER_REGISTRATION_H
#define HP_PIN_USER_REGISTRATION_H

#include "heap/block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The program is about to register [address, address + bytes).  Unpins the blocks there, which
 * waits for users and running kernels (pin/unpin.h), and leaves them to the program.  Also waits
 * while another thread unpins such a block, or ends its context: the driver would refuse the
 * registration.
 */
void pin_before_user_registration(const void *address, size_t bytes);

/* The program's call has returned: `registered`, or it failed and the blocks are ours again. */
void pin_after_user_registration(const void *address, size_t bytes, bool registered);

/* The program has unregistered its registration at `address`. */
void pin_user_registration_ended(const void *address);

/*
 * Called before and after the driver ends the context `owner`.  If it is `gone`, so are the
 * registrations that were made in it before.
 */
void user_registrations_ending(uintptr_t owner);
void user_registrations_ended(uintptr_t owner, bool gone);

#endif
