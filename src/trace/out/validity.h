/*
 * Decides which figures of a report are reliable, and which warnings it shows.
 */
#ifndef HP_TRACE_OUT_VALIDITY_H
#define HP_TRACE_OUT_VALIDITY_H

#include "trace/out/report.h"

/* Fills in the fields from `device` on, at the end of struct report. */
void validity_check(struct report *report);

#endif
