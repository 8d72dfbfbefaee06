/*
 * Decides which figures of a report can be believed, and which warnings it shows.
 */
#ifndef HP_TRACE_VALIDITY_H
#define HP_TRACE_VALIDITY_H

#include "trace/report.h"

/* Fills in what stands last in the struct. */
void validity_check(struct report *report);

#endif
