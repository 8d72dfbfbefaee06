/*
 * Matches the copies on the device with the calls that started them.  Pure: takes rows of a
 * timeline, returns pairs.
 *
 * CUPTI gives copies and calls a common correlation id only if it records all calls too, which
 * costs too much.  So pairs are found by direction, size, order and time.  A copy that could belong
 * to two calls is left unmatched.
 */
#ifndef HP_TOOLS_ANALYZE_CALL_MATCHES_H
#define HP_TOOLS_ANALYZE_CALL_MATCHES_H

#include "profile/profile.h"

/*
 * Returns, for each row of `events`, the row of the call that started it; SIZE_MAX: none, or not
 * known.  Rows may be in any order.  The caller frees the list.  NULL: no memory.
 */
size_t *flows_find(const struct profile *profile);

#endif
