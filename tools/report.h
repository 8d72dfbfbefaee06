/*
 * The tables of `hotpin report`.
 */
#ifndef HP_TOOLS_REPORT_H
#define HP_TOOLS_REPORT_H

#include "profile.h"

/* Prints the lists of a profile: all rows if `all`, otherwise the most expensive ones. */
void report_tables(struct profile *profile, bool all);

/*
 * For a profile with a timeline: prints the times of single copies, kernels and calls, and their
 * places.
 */
void report_timeline(struct profile *profile, bool all);

#endif
