/*
 * Which call started which copy on the device?  Pure: rows of a timeline in, pairs out.
 *
 * CUPTI gives records numbers in common with calls only where it records all calls, too, which
 * costs more than it tells.  So pairs are found by direction, size, order and time, and what could
 * be two calls' is nobody's.
 */
#ifndef HP_TOOLS_FLOWS_H
#define HP_TOOLS_FLOWS_H

#include "profile.h"

/*
 * For each row of `events` the row of the call that started it, SIZE_MAX: none or not known; as a
 * list that free() frees, NULL: no memory.  Rows may stand in any order.
 */
size_t *flows_find(const struct profile *profile);

#endif
