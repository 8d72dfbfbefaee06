/*
 * The lists of a profile in the order in which every report shows them: most time first, then by
 * name or place.  A profile does not sort them, and other lists refer to sites and buffers by
 * index.
 *
 * Each function returns pointers to all items of the list, in memory of the profile.
 */
#ifndef HP_TOOLS_PROFILE_SORTED_LISTS_H
#define HP_TOOLS_PROFILE_SORTED_LISTS_H

#include "profile/profile.h"

const struct profile_kernel **sorted_kernels(const struct profile *profile);
const struct profile_call **sorted_calls(const struct profile *profile);
const struct profile_gap **sorted_gaps(const struct profile *profile);
const struct profile_launch **sorted_launches(const struct profile *profile);
const struct profile_site **sorted_sites(const struct profile *profile);
const struct profile_buffer **sorted_buffers(const struct profile *profile);
const struct profile_buffer **sorted_pinned(const struct profile *profile); /* time to pin */

/* For qsort(): below 0 if a comes before b.  NULL comes before any text. */
int sorted_numbers(int64_t a, int64_t b);
int sorted_texts(const char *a, const char *b);

/*
 * The same for call stacks.  Inlined functions do not count: their names may be known in one
 * profile only.  Returns 0 if all others are profile_same_frame().
 */
int sorted_frames(const struct profile *profile, const struct profile_frames *a,
		  const struct profile_frames *b);

#endif
