/*
 * Decides which figures of a report can be believed, and which warnings it shows.
 */
#ifndef HP_TRACE_JUDGE_H
#define HP_TRACE_JUDGE_H

#include "trace/report.h"

/* Fills in what stands last in the struct. */
void judge_report(struct report *report);

#endif
