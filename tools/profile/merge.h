/*
 * Merges records by the rules of their fields in base/profile.def.
 *
 * The sum must not hide what one part lacks, so a figure that one of them does not know is unknown
 * in the sum.
 */
#ifndef HP_TOOLS_PROFILE_MERGE_H
#define HP_TOOLS_PROFILE_MERGE_H

#include "profile/profile.h"

/*
 * Merges `count` records, one or more, into *ret.  Fields without a rule stay as they are there; an
 * index becomes UNKNOWN if the parts differ.  Lists are in the memory of `owner`.
 */
void merge_records(const struct profile *owner, enum profile_record_id id, const void *const *parts,
		   size_t count, void *ret);

/* Returns 0 if the entries are equal, and else which comes first, as for qsort_r(). */
typedef int (*merge_compare)(const void *a, const void *b, void *arg);

/* Writes for each entry of a list, of `size` bytes each, the index of the first equal one. */
void merge_find_first(const struct profile *owner, const void *list, size_t count, size_t size,
		      merge_compare compare, void *arg, size_t *ret);

/*
 * Merges in place those entries that have the same `first`, the index of the first of them.
 * Returns the number of entries that remain, in the order of the first ones.  Then `first` has the
 * new index of each.
 */
size_t merge_equal(const struct profile *owner, enum profile_record_id id, void *list, size_t count,
		   size_t *first);

/*
 * The same for entries with equal keys, equal indices and, by the modules of `owner`, equal call
 * stacks.  Writes the new index of each.
 */
size_t merge_list(const struct profile *owner, enum profile_record_id id, void *list, size_t count,
		  size_t *ret);

#endif
