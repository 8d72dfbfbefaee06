/*
 * The addresses of a sample as places in files, up to the last that can be a caller.
 *
 * The kernel follows frame pointers.  In code without them the register holds anything, so a word
 * that it found is a caller only if a call instruction stands before it.  Even then a caller may be
 * missing: that of a function without a frame.  Callers are likely, never proven.
 */
#ifndef HP_TRACE_CHAINS_H
#define HP_TRACE_CHAINS_H

#include "trace/modules.h"

#include <stdbool.h>

#define CHAINS_CODE_BYTES 8

/* True if a call may end with the last of these bytes of code.  Pure, for this CPU. */
bool chains_ends_with_call(const uint8_t code[CHAINS_CODE_BYTES]);

/*
 * Writes the places of `chain`, a leaf and its likely callers, of which `depth` are given.  Returns
 * how many of them are believed, 1 at least.  One thread; takes the loader's lock.
 */
size_t chains_resolve(const uint64_t *chain, size_t depth, struct module_place *ret);

/*
 * From now on files are looked for again where none was known.  The same thread.  `reads`: code may
 * be read; without it the callers of a chain end at the first whose code was not read before.
 */
void chains_turn(bool reads);

#endif
