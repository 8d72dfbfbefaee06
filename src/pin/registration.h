/*
 * The two driver calls that pin and unpin.
 *
 * Inside src/pin only.  No lock may be held; errno is kept.
 */
#ifndef HP_PIN_REGISTRATION_H
#define HP_PIN_REGISTRATION_H

#include "heap/block.h"
#include "real/real.h"

/*
 * True if this process may register memory, and a context is current, which is returned.  False in
 * a child of clone() or vfork().
 */
bool registration_possible(uintptr_t *ret_context);

/*
 * Registers [base, base + bytes) for all contexts.  Never waits for the device.  If the memory is
 * registered already, pinning ends (pin_stop()).
 */
CUresult registration_begin(uintptr_t base, size_t bytes);

/*
 * Ends the registration of the block.  Waits for running kernels.  In a thread without a current
 * context, `owner`, which was current at the registration, is made current meanwhile.  If the
 * memory is not registered any more, pinning ends.  Returns 0, or -EBUSY: the driver refuses, or
 * this is another process, and the memory must be treated as registered.
 */
int registration_end(const struct block *block, uintptr_t owner);

#endif
