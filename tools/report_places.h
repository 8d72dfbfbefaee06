/*
 * The tables of a report by place: copy sites, host buffers, host code between calls.
 *
 * Each function prints nothing if nothing is known; all rows if `all`, otherwise those that took
 * most time.
 */
#ifndef HP_TOOLS_REPORT_PLACES_H
#define HP_TOOLS_REPORT_PLACES_H

#include "profile.h"

void report_gaps(struct profile *profile, bool all);
void report_sites(struct profile *profile, bool all);
void report_buffers(struct profile *profile, bool all);
void report_repeats(struct profile *profile, bool all);

/* Explains which memory the table calls unknown. */
void report_of_unknown(void);

#endif
