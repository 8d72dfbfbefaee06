/*
 * The tables of `hotpin report`.
 */
#ifndef HP_TOOLS_REPORT_H
#define HP_TOOLS_REPORT_H

#include "profile.h"

/* Prints all of a profile that is a list, cut to the rows that matter unless `all`. */
void report_tables(struct profile *profile, bool all);

/* Of a profile with a timeline: what one copy, kernel or call took, and where. */
void report_timeline(struct profile *profile, bool all);

#endif
