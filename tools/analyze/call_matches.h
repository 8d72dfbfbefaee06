/*
 * Matches the copies, kernels and memsets on the device with the calls that started them.
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
 * not known.  Rows must be sorted by track, then by start.  The list is in the profile's memory.
 */
size_t *call_matches(struct profile *profile);

#endif
