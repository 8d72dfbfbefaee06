/* The blocks of a context that ends. */
#ifndef HP_PIN_CONTEXT_END_H
#define HP_PIN_CONTEXT_END_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The program is about to destroy, reset or release the context `owner`, which may end its
 * registrations.  Until pin_context_ended(), no copy enters its pinned blocks, and nothing is
 * pinned.  Waits for the copies inside these blocks, without a limit.  Calls no driver function.
 */
void pin_context_ending(uintptr_t owner);

/*
 * The program's call has returned.  The registrations are `gone`, or the call failed and the
 * registrations still exist.
 */
void pin_context_ended(uintptr_t owner, bool gone);

#endif
