/* Unpins blocks for operations that pinned memory does not support, and for fork(). */
#ifndef HP_ENGINE_UNPIN_H
#define HP_ENGINE_UNPIN_H

#include "base/protections.h"
#include "heap/map.h"
#include "real/real.h"

#include <stdbool.h>
#include <stdint.h>

/* Unpins the blocks in [address, address + bytes), which may be pinned again at once. */
void unpin_range(const void *address, size_t bytes);

/*
 * Unpins all blocks, those in the queue to be pinned too, and gives staging memory back.  Waits for
 * users of the blocks, for a second at most, and for running kernels.  unpin_hold() is in force.
 */
void unpin_everything(void);

/*
 * Bracket a driver call with addresses that must be pageable: nothing is pinned meanwhile.  The
 * caller unpins their blocks in between.
 */
void unpin_hold(void);
void unpin_release(void);

/*
 * Called with the result of a call by which the program pins memory.  If there was no memory, gives
 * back all that hotpin holds: pinned blocks, staging memory and cached memory, which waits for
 * running kernels.  True: the call may be repeated.
 */
bool unpin_for_program(CUresult result);

/*
 * Called in the thread that is about to fork, with no lock held.  If much is pinned, asks the
 * housekeeper to unpin it while the device is idle: the forking thread itself may be inside the
 * driver.  Waits for at most 50 ms and a fraction of the time saved.  Keeps errno.
 *
 * The kernel shares the pages of a process with its child until one of them writes.  Since Linux
 * 5.9 it copies pinned pages at once; on older kernels nothing is pinned (shim/load/device.c).  The
 * cost is in doc/measurements.md#fork.
 */
void fork_unpin(void);

/* True if a thread waits in fork_unpin().  Called by the housekeeper.  One load. */
bool fork_waits(void);

/*
 * fork_answer() releases the threads whose request came before the fork_asked() that returned
 * `asked`: their blocks are unpinned, or cannot be.
 */
uint32_t fork_asked(void);
void fork_answer(uint32_t asked);

/* In the child of fork(): no thread waits. */
void fork_forget(void);

/* The slow path of unpin_refuse(). */
bool unpin_device_address(CUdeviceptr address);

/*
 * Called before the program passes `address` as device memory.  The driver refuses pageable memory
 * there, but would accept a pinned block, so the block is unpinned.  One compare for all other
 * addresses.  True: the block stays unpinned until unpin_release(), which must follow.
 */
static inline bool unpin_refuse(CUdeviceptr address)
{
	return __builtin_expect(heap_owns((const void *)address), 0) &&
	       hp_keeps(no_device_memory) && unpin_device_address(address);
}

#endif
