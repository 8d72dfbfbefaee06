/*
 * The tables of host code.
 */
#ifndef HP_TOOLS_REPORT_SAMPLES_H
#define HP_TOOLS_REPORT_SAMPLES_H

#include "profile.h"

/* Prints the time of host code by line of Python and by function: 8 rows, or all if `all`. */
void report_samples(struct profile *profile, bool all);

#endif
