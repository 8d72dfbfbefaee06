/*
 * The tables of a report by place: copy sites, host buffers, host code between calls.
 *
 * Each function prints nothing if nothing is known; all rows if `all`, otherwise those that took
 * most time.
 */
#ifndef HP_TOOLS_REPORT_PLACES_H
#define HP_TOOLS_REPORT_PLACES_H

#include "profile.h"

void report_gaps(const struct profile *profile, bool all);
void report_sites(const struct profile *profile, bool all);
void report_buffers(const struct profile *profile, bool all);
void report_repeats(struct profile *profile, bool all);

/* Says below a table that it leaves out rows: "and 3 more kernels (--all)". */
void report_rest(size_t count, size_t shown, const char *what);

/* Explains which memory the table calls unknown. */
void report_of_unknown(void);

#endif
