/*
 * The lists of a profile in the order in which every report shows them: most time first, then by
 * name or place.  A profile does not sort them, and other lists refer to sites and buffers by
 * index.
 *
 * Each function returns pointers to all items of the list, in memory of the profile.
 */
#ifndef HP_TOOLS_PROFILE_ORDER_H
#define HP_TOOLS_PROFILE_ORDER_H

#include "profile/profile.h"

const struct profile_kernel **order_kernels(const struct profile *profile);
const struct profile_call **order_calls(const struct profile *profile);
const struct profile_gap **order_gaps(const struct profile *profile);
const struct profile_launch **order_launches(const struct profile *profile);
const struct profile_site **order_sites(const struct profile *profile);
const struct profile_buffer **order_buffers(const struct profile *profile);

/* For qsort(): below 0 if a comes before b.  NULL comes before any text. */
int order_texts(const char *a, const char *b);

#endif
