/*
 * Which copy pins its block.
 */
#ifndef HP_PIN_PINNING_H
#define HP_PIN_PINNING_H

#include "heap/block.h"
#include "pin/use.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Enters the block for a copy of `bytes` between the block and the device, as pin_enter(), in the
 * thread that copies, with its context current.  Counts the bytes of the copy, and pins the block
 * before if that pays.  Calls the driver, which does not wait for the device; holds no lock.
 */
enum pin_use pin_before_copy(struct block *block, bool to_device, size_t bytes, const void *frame);

/* The functions from here on are for src/pin only. */

/* True if copies of the block have lost as much time as pinning it costs. */
bool pin_is_worth_it(const struct block *block);

/*
 * Pins a block whose word this thread has alone, and whose `room` is reserved, and gives the word
 * back; with room 0 it only does the latter.  `inside`: as for use_release().
 */
enum pin_use pin_alone(struct block *block, size_t room, uintptr_t context, bool inside);

#endif
