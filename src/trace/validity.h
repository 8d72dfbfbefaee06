/*
 * Decides which figures of a report can be believed, and which warnings it shows.
 */
#ifndef HP_TRACE_VALIDITY_H
#define HP_TRACE_VALIDITY_H

#include "trace/report.h"

/* Fills in what stands last in the struct. */
void validity_check(struct report *report);

/* Adds that the figures are those of a window. */
void validity_say_window(struct report *report);

#endif
