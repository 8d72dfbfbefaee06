/*
 * The tables of host code.
 */
#ifndef HP_TOOLS_REPORT_SAMPLES_H
#define HP_TOOLS_REPORT_SAMPLES_H

#include "profile.h"

/* Prints where host code spends its time, by line of Python and by function: 8 rows, or `all`. */
void report_samples(struct profile *profile, bool all);

#endif
