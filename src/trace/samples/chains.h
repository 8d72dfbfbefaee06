/*
 * Resolves the addresses of a sample to places in files, up to the last that can be a caller.
 *
 * The kernel follows frame pointers.  In code without frame pointers the register holds any value.
 * So an address counts as a caller only if a call instruction stands before it.  Even then, the
 * caller of a function without a frame may be missing.  Callers are likely, never proven.
 */
#ifndef HP_TRACE_SAMPLES_CHAINS_H
#define HP_TRACE_SAMPLES_CHAINS_H

#include "trace/places/modules.h"

#include <stdbool.h>

#define CHAINS_CODE_BYTES 8

/* True if a call may end with the last of these bytes of code.  Pure, for this CPU. */
bool chains_ends_with_call(const uint8_t code[CHAINS_CODE_BYTES]);

/*
 * Writes the places of the `depth` addresses of `chain`: a leaf and its likely callers.  Returns
 * the number of addresses that are believed, 1 at least.  One thread; takes the loader's lock.
 */
size_t chains_resolve(const uint64_t *chain, size_t depth, struct module_place *ret);

/*
 * Begins a turn: looks for files again where none was known.  The same thread.  `reads`: code may
 * be read.  Without `reads`, the callers of a chain end at the first whose code was not read
 * before.
 */
void chains_turn(bool reads);

#endif
