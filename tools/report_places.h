/*
 * What a report says by place: copy sites, host buffers, host code between calls.
 *
 * Each prints nothing where nothing is known; `all` rows, or those that took most.
 */
#ifndef HP_TOOLS_REPORT_PLACES_H
#define HP_TOOLS_REPORT_PLACES_H

#include "profile.h"

void report_gaps(struct profile *profile, bool all);
void report_sites(struct profile *profile, bool all);
void report_buffers(struct profile *profile, bool all);
void report_repeats(struct profile *profile, bool all);

/* Says what memory is that the table calls unknown. */
void report_of_unknown(void);

#endif
