/*
 * Matches the copies, kernels and memsets on the device with the calls that started them.  Pure:
 * takes the timeline of a profile, returns rows of it.
 *
 * CUPTI names the calls of copies since CUDA 12.4; the timeline has them.  It does not have those
 * of kernels and memsets, nor of copies in older versions, so their order decides.  Work that could
 * belong to two calls is left unmatched.
 */
#ifndef HP_TOOLS_ANALYZE_CALL_MATCHES_H
#define HP_TOOLS_ANALYZE_CALL_MATCHES_H

#include "profile/profile.h"

/*
 * Returns, for each row of the timeline, the row of the call that started it; SIZE_MAX: none, or
 * not known.  Rows may be in any order.  The caller frees the list.  NULL: no memory.
 */
size_t *call_matches(const struct profile *profile);

#endif
