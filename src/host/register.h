/*
 * The two calls into the driver that pin and unpin.
 *
 * Inside host/ only.  No lock may be held; errno is kept.
 */
#ifndef HP_HOST_REGISTER_H
#define HP_HOST_REGISTER_H

#include "host/block.h"
#include "real/real.h"

/* Can memory be registered at all: has the driver the functions, is a context current? */
bool register_possible(uintptr_t *ret_context);

/* Makes `context` current in this thread, which has none, or takes it off again. */
bool register_enter(uintptr_t context);
void register_leave(void);

/* Registers for all contexts.  Never waits for the device. */
CUresult register_begin(uintptr_t base, size_t bytes);

/*
 * How large the registrations of a block of `room` bytes are that is copied while it is being
 * registered: its room itself where that does not pay.
 */
size_t register_piece(size_t room);

/*
 * Ends all registrations of the block, or those of its first `done` bytes; waits for running
 * kernels.  In a thread without a current context `owner`, the one that was current then, is made
 * current meanwhile.  Returns 0, or -EBUSY where the driver would not, or this is another process,
 * and the memory must be taken for registered still.
 */
int register_end(const struct block *block, uintptr_t owner);
int register_end_some(const struct block *block, size_t done, uintptr_t owner);

#endif
